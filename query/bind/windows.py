"""Window function calls: OVER, named windows, frames."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from errors import WeirError
from query import fault
from query.bind.aggregates import aggregate_call, filtered_call, sort_keys, untyped_argument
from query.bind.block import Block, WindowDefinition
from query.bind.limit import count_of
from query.bind.type_resolution import coerce, common, read_numeric_literals, unknown_to_text
from query.functions.registry import AGGREGATES, SYNTAX, WINDOW_FUNCTIONS, WindowFunction, syntax, type_named
from query.pg.types import INTERVAL_TYPE, NUMBERS, PgType
from query.plan.traverse import columns
from query.plan.tree import Bound, Constant, Frame, Scalar, SortKey, WindowCall
from query.syntax.construct_names import node_name
from query.syntax.identifiers import fold
from query.syntax.positions import BRACKETED, definition_of, position_of

_ELEMENT: Final = "anyelement"


@syntax(
    exp.Window, form="function(a) OVER (window | name)", summary="A window function, or an aggregate over a window."
)
def bind_window(node: exp.Expr, block: Block) -> Scalar:
    """`function(...) [FILTER ...] OVER window`: the column that holds its value."""
    if block.inside_aggregate:
        message = "aggregate function calls cannot contain window function calls"
        raise fault.invalid(fault.GROUPING_ERROR, message, position_of(node))
    if not block.windows_allowed:
        message = f"window functions are not allowed in {block.clause}"
        raise fault.invalid(fault.WINDOWING_ERROR, message, position_of(node))
    with block.binding("a window function", aggregates=block.aggregates_allowed):
        call = _call(node.this, block)
    with block.binding("window definitions", aggregates=block.aggregates_allowed):
        window = _definition(node, block)
    return block.window(replace(call, partition=window.partition, order=window.order, frame=window.frame))


def _resolve_offsets(frame: Frame, pg_type: PgType) -> Frame:
    """The frame with its untyped offsets in the type that the ordering value moves by."""
    target = INTERVAL_TYPE if pg_type.category == "D" else pg_type

    def typed(bound: Bound) -> Bound:
        offset = bound.offset
        untyped_offset = offset is not None and offset.type.name == "unknown"
        return replace(bound, offset=coerce(offset, target)) if untyped_offset and offset is not None else bound

    return replace(frame, start=typed(frame.start), end=typed(frame.end))


def _call(node: exp.Expr, block: Block) -> WindowCall:
    function = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(function, exp.Anonymous):
        raise fault.unsupported(f"{node_name(function)} with OVER", position_of(node))
    name = str(function.this).lower()
    if name in AGGREGATES:
        return _aggregate(node, block)
    if name not in WINDOW_FUNCTIONS:
        message = f"OVER specified, but {name} is not a window function nor an aggregate function"
        raise fault.invalid("42809", message, position_of(node))
    if isinstance(node, exp.Filter):
        raise fault.invalid("0A000", "FILTER is not implemented for non-aggregate window functions", position_of(node))
    return _ranking(name, [block.bind(argument) for argument in function.expressions], position_of(node))


def _aggregate(node: exp.Expr, block: Block) -> WindowCall:
    """An aggregate over a window. Its arguments may contain plain aggregates of the block."""
    block.windowing = True
    try:
        call = filtered_call(node, block) if isinstance(node, exp.Filter) else aggregate_call(node, block)
    finally:
        block.windowing = False
    if call.distinct or call.order or call.direct:
        raise fault.invalid("0A000", "DISTINCT and ORDER BY are not implemented for window functions", call.position)
    return WindowCall(call.type, call.function, call.args, (), (), None, call.where, call.position)


def _ranking(name: str, values: list[Scalar], position: int | None) -> WindowCall:
    """The form for so many arguments, each converted to its parameter's type."""
    form = next((form for form in WINDOW_FUNCTIONS[name] if len(form.parameters) == len(values)), None)
    if form is None:
        raise _no_such(name, len(values), position)
    values = _same_element(form, values, position)
    args = tuple(
        value if word == _ELEMENT else coerce(value, type_named(word), position)
        for word, value in zip(form.parameters, values, strict=True)
    )
    pg_type = args[form.parameters.index(_ELEMENT)].type if form.result == _ELEMENT else type_named(form.result)
    return WindowCall(pg_type, name, args, (), (), None, None, position)


def _same_element(form: WindowFunction, values: list[Scalar], position: int | None) -> list[Scalar]:
    """The arguments with those for `anyelement` in their common type."""
    positions = [index for index, word in enumerate(form.parameters) if word == _ELEMENT]
    alike = [values[index] for index in positions]
    if len(alike) == 1 and alike[0].type.name == "unknown":
        raise untyped_argument(form.name, position)
    if len(alike) > 1:
        alike = read_numeric_literals(alike)
        pg_type = common([value.type for value in alike], form.name, position)
        alike = [coerce(value, pg_type) for value in alike]
    typed = dict(zip(positions, alike, strict=True))
    return [typed.get(index, value) for index, value in enumerate(values)]


def _no_such(name: str, count: int, position: int | None) -> WeirError:
    if f"{name} within group" in SYNTAX:
        return fault.invalid("42809", f"WITHIN GROUP is required for ordered-set aggregate {name}", position)
    arguments = "argument" if count == 1 else "arguments"
    return fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name} does not take {count} {arguments}", position)


def bind_named(windows: Sequence[exp.Expr], block: Block) -> None:
    """The WINDOW clause: each definition may build on those before it."""
    for window in windows:
        name = fold(window.this)
        if name in block.window_names:
            raise fault.invalid(fault.WINDOWING_ERROR, f'window "{name}" is already defined', definition_of(window))
        with block.binding("window definitions", aggregates=True):
            block.window_names[name] = _definition(window, block)


def _definition(node: exp.Expr, block: Block) -> WindowDefinition:
    if node.args.get("alias") is None:
        return _extend_window(node, WindowDefinition(), block)
    name, position = fold(node.args["alias"]), definition_of(node)
    base = block.window_names.get(name)
    if base is None:
        raise fault.invalid(fault.UNDEFINED_OBJECT, f'window "{name}" does not exist', position)
    if not node.meta.get(BRACKETED):
        return base
    if node.args.get("partition_by"):
        message = f'cannot override PARTITION BY clause of window "{name}"'
    elif node.args.get("order") is not None and base.order:
        message = f'cannot override ORDER BY clause of window "{name}"'
    elif base.frame is not None:
        message = f'cannot copy window "{name}" because it has a frame clause'
    else:
        return _extend_window(node, base, block)
    raise fault.invalid(fault.WINDOWING_ERROR, message, position)


def _extend_window(node: exp.Expr, base: WindowDefinition, block: Block) -> WindowDefinition:
    """The window with what the node adds to `base`; its offsets in the type that the ordering value moves by."""
    parts, order_node, spec = (node.args.get(name) for name in ("partition_by", "order", "spec"))
    partition = tuple(unknown_to_text(block.bind(part)) for part in parts) if parts else base.partition
    order = sort_keys(order_node, block) if order_node is not None else base.order
    if spec is None:
        return WindowDefinition(partition, order)
    frame = _frame(spec, block)
    if frame.mode == "range" and len(order) == 1:
        frame = _resolve_offsets(frame, order[0].value.type)
    _check_frame(frame, order, spec, definition_of(node))
    return WindowDefinition(partition, order, frame)


def _frame(spec: exp.Expr, block: Block) -> Frame:
    mode = str(spec.args["kind"]).lower()
    exclude = spec.args.get("exclude")
    excluded = "" if exclude is None else str(getattr(exclude, "name", exclude)).lower()
    end_node = spec.args.get("end")
    start = _bind_bound(spec.args["start"], spec.args.get("start_side"), mode, block)
    end = Bound("current") if end_node is None else _bind_bound(end_node, spec.args.get("end_side"), mode, block)
    bound_names = [bound.kind.replace("current", "current_row").replace("_", " ").upper() for bound in (start, end)]
    message = ""
    if start.kind == "unbounded_following":
        message = "frame start cannot be UNBOUNDED FOLLOWING"
    elif end.kind == "unbounded_preceding":
        message = "frame end cannot be UNBOUNDED PRECEDING"
    elif _ORDER.index(start.kind) > _ORDER.index(end.kind):
        message = f"frame starting from {bound_names[0]} cannot end with {bound_names[1]}"
    if message:
        raise fault.invalid(fault.WINDOWING_ERROR, message, position_of(spec))
    return Frame(mode, start, end, "" if excluded == "no others" else excluded)


_ORDER: Final = ("unbounded_preceding", "preceding", "current", "following", "unbounded_following")


def _bind_bound(value: object, side: object, mode: str, block: Block) -> Bound:
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return Bound("current")
        return Bound(f"unbounded_{str(side).lower()}")
    if not isinstance(value, exp.Expr):
        raise fault.unsupported("this window frame")
    offset = block.bind(value)
    if any(column.id in block.scope.item.identifiers() for column in columns(offset)):
        message = f"argument of {mode.upper()} must not contain variables"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(value))
    if mode != "range":
        offset = block.environment.fold(count_of(offset, f"argument of {mode.upper()}", position_of(value)))
    if not isinstance(offset, Constant):
        raise fault.unsupported("a frame offset that is not a constant", position_of(value))
    return Bound(str(side).lower(), offset)


def _check_frame(frame: Frame, order: tuple[SortKey, ...], spec: exp.Expr, position: int | None) -> None:
    if frame.mode == "groups" and not order:
        raise fault.invalid(fault.WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause", position)
    for name, bound in (("start", frame.start), ("end", frame.end)):
        if bound.offset is None:
            continue
        if frame.mode == "range" and len(order) != 1:
            message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            raise fault.invalid(fault.WINDOWING_ERROR, message, position)
        if frame.mode == "range":
            _check_range(bound.offset.type, order[0].value.type, position_of(spec.args[name]))
        _check_offset(bound.offset, f"{name}ing")


def _check_range(offset: PgType, pg_type: PgType, position: int | None) -> None:
    fits = offset.name in NUMBERS if pg_type.name in NUMBERS else offset == INTERVAL_TYPE
    if not fits and offset.name != "unknown":
        message = (
            f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type {pg_type.sql_name} "
            f"and offset type {offset.sql_name}"
        )
        raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position)


def _check_offset(offset: Scalar, bound_name: str) -> None:
    value = offset.value if isinstance(offset, Constant) else None
    if value is None:
        raise fault.invalid("22004", f"frame {bound_name} offset must not be null")
    if value < 0 if isinstance(value, int | float) else isinstance(value, tuple) and min(value) < 0:
        raise fault.invalid("22013", f"frame {bound_name} offset must not be negative")
