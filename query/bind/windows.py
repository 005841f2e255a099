"""Window function calls: OVER and named windows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from errors import WeirError
from query import fault
from query.bind.aggregates import aggregate_call, filtered_call, sort_keys, untyped_argument
from query.bind.block import Block, WindowDefinition
from query.bind.frames import bind_frame, frame_of_call, has_offset
from query.bind.type_resolution import coerce, common, read_numeric_literals, unknown_to_text
from query.functions.registry import AGGREGATES, SYNTAX, WINDOW_FUNCTIONS, WindowFunction, syntax, type_named
from query.plan.special_numbers import finite
from query.plan.tree import Scalar, WindowCall
from query.syntax.construct_names import node_name
from query.syntax.identifiers import fold
from query.syntax.positions import BRACKETED, definition_of, position_of

_ELEMENT: Final = "anyelement"


@syntax(
    exp.Window,
    form="function(a) OVER (window | name)",
    summary="A window function, or an aggregate over a window. Offsets of frames are the same for all rows.",
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
    frame = None if window.frame is None else frame_of_call(window.frame, call.function, block, position_of(node))
    return block.window(replace(call, partition=window.partition, order=window.order, frame=frame))


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
    frame = bind_frame(spec, order, block, definition_of(node))
    if has_offset(frame) and frame.mode == "range":
        order = tuple(replace(key, value=finite(key.value)) if key.value.type.special else key for key in order)
    return WindowDefinition(partition, order, frame)
