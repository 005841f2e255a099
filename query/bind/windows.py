"""Window function calls: OVER, named windows, frames."""

from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.allowlist import position_of
from query.bind.aggregates import aggregate_call, filtered_call, sort_keys, untyped_argument
from query.bind.block import Block
from query.bind.resolve import coerce, common, settled, untyped
from query.bound import Bound, Constant, Frame, Scalar, SortKey, WindowCall
from query.functions.registry import AGGREGATES, WINDOW_FUNCTIONS
from query.parse import fold
from query.types import FLOAT8, INT4, INT8, INTERVAL_TYPE, NUMBERS, PgType

_RANKS: Final = ("row_number", "rank", "dense_rank")
_SHARES: Final = ("percent_rank", "cume_dist")
_ARITY: Final = {"lag": (1, 3), "lead": (1, 3), "first_value": (1, 1), "last_value": (1, 1), "nth_value": (2, 2)}


def bind_window(node: exp.Expr, block: Block) -> Scalar:
    """`function(...) [FILTER ...] OVER window`: the column that holds its value."""
    if not block.windows_allowed:
        message = f"window functions are not allowed in {block.clause}"
        raise fault.invalid(fault.WINDOWING_ERROR, message, position_of(node))
    with block.binding("a window function", aggregates=block.aggregates_allowed):
        call = _call(node.this, block)
        partition, order, frame = _definition(node, block)
    if frame is not None and frame.mode == "range" and len(order) == 1:
        frame = _typed(frame, order[0].value.type)
    made = replace(call, partition=partition, order=order, frame=frame)
    _check_frame(made, position_of(node))
    return block.window(made)


def _typed(frame: Frame, kind: PgType) -> Frame:
    """The frame with its untyped offsets in the type that the ordering value moves by."""
    target = INTERVAL_TYPE if kind.category == "D" else kind

    def typed(bound: Bound) -> Bound:
        offset = bound.offset
        untyped_offset = offset is not None and offset.type.name == "unknown"
        return replace(bound, offset=coerce(offset, target)) if untyped_offset and offset is not None else bound

    return replace(frame, start=typed(frame.start), end=typed(frame.end))


def _call(node: exp.Expr, block: Block) -> WindowCall:
    function = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(function, exp.Anonymous):
        raise fault.unsupported(f"{type(function).__name__} with OVER", position_of(node))
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
    if name in _RANKS or name in _SHARES:
        if values:
            raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name} takes no argument", position)
        return _made(INT8 if name in _RANKS else FLOAT8, name, (), position)
    if name == "ntile":
        if len(values) != 1:
            raise fault.invalid(fault.UNDEFINED_FUNCTION, "function ntile takes one argument", position)
        return _made(INT4, name, (coerce(values[0], INT4, position),), position)
    low, high = _ARITY[name]
    if not low <= len(values) <= high:
        raise fault.invalid(
            fault.UNDEFINED_FUNCTION, f"function {name} does not take {len(values)} arguments", position
        )
    if values[0].type.name == "unknown" and len(values) < 3:
        raise untyped_argument(name, position)
    if len(values) > 1:
        values[1] = coerce(values[1], INT4, position)
    kind = values[0].type
    if len(values) > 2:
        values[0], values[2] = settled([values[0], values[2]])
        kind = common([values[0].type, values[2].type], name, position)
        values[0], values[2] = coerce(values[0], kind), coerce(values[2], kind)
    return _made(kind, name, tuple(values), position)


def _made(kind: PgType, name: str, args: tuple[Scalar, ...], position: int | None) -> WindowCall:
    return WindowCall(kind, name, args, (), (), None, None, position)


Definition = tuple[tuple[Scalar, ...], tuple[SortKey, ...], Frame | None]
"""PARTITION BY, ORDER BY and the frame of a window."""


def _definition(node: exp.Expr, block: Block) -> Definition:
    base: exp.Expr | None = None
    alias = node.args.get("alias")
    if alias is not None:
        base = block.window_names.get(fold(alias))
        if base is None:
            raise fault.invalid(fault.UNDEFINED_OBJECT, f'window "{fold(alias)}" does not exist', position_of(node))
    return _merged(node, base, block)


def _merged(node: exp.Expr, base: exp.Expr | None, block: Block) -> Definition:
    partition: tuple[Scalar, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    if base is not None:
        partition, order, frame = _definition(base, block)
    if node.args.get("partition_by"):
        if base is not None:
            raise fault.invalid(
                fault.WINDOWING_ERROR, "cannot override PARTITION BY clause of a window", position_of(node)
            )
        partition = tuple(untyped(block.bind(part)) for part in node.args["partition_by"])
    if node.args.get("order") is not None:
        if order:
            raise fault.invalid(fault.WINDOWING_ERROR, "cannot override ORDER BY clause of a window", position_of(node))
        order = sort_keys(node.args["order"], block)
    if node.args.get("spec") is not None:
        frame = _frame(node.args["spec"], block)
    return partition, order, frame


def _frame(spec: exp.Expr, block: Block) -> Frame:
    mode = str(spec.args["kind"]).lower()
    exclude = spec.args.get("exclude")
    excluded = "" if exclude is None else str(getattr(exclude, "name", exclude)).lower()
    start = _bound(spec.args["start"], spec.args.get("start_side"), block)
    end_node = spec.args.get("end")
    end = _bound(end_node, spec.args.get("end_side"), block) if end_node is not None else Bound("current")
    if start.kind == "unbounded_following" or end.kind == "unbounded_preceding":
        raise fault.invalid(fault.WINDOWING_ERROR, "frame cannot start or end there", position_of(spec))
    rank = ["unbounded_preceding", "preceding", "current", "following", "unbounded_following"].index
    if rank(start.kind) > rank(end.kind):
        message = f"frame starting from {start.kind.replace('_', ' ')} cannot end with {end.kind.replace('_', ' ')}"
        raise fault.invalid(fault.WINDOWING_ERROR, message, position_of(spec))
    return Frame(mode, start, end, "" if excluded == "no others" else excluded)


def _bound(value: object, side: object, block: Block) -> Bound:
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return Bound("current")
        return Bound(f"unbounded_{str(side).lower()}")
    if not isinstance(value, exp.Expr):
        raise fault.unsupported("this window frame")
    offset = block.bind(value)
    if not isinstance(offset, Constant):
        raise fault.unsupported("a frame offset that is not a constant", position_of(value))
    return Bound(str(side).lower(), offset)


def _check_frame(call: WindowCall, position: int | None) -> None:
    frame = call.frame
    if frame is None:
        return
    if frame.mode == "groups" and not call.order:
        raise fault.invalid(fault.WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause", position)
    offsets = [bound.offset for bound in (frame.start, frame.end) if bound.offset is not None]
    if frame.mode == "range" and offsets and len(call.order) != 1:
        message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        raise fault.invalid(fault.WINDOWING_ERROR, message, position)
    for offset in offsets:
        _check_offset(frame, call, offset, position)


def _check_offset(frame: Frame, call: WindowCall, offset: Scalar, position: int | None) -> None:
    if not isinstance(offset, Constant) or offset.value is None:
        raise fault.invalid("22013", "frame offset must not be null", position)
    value = offset.value
    if frame.mode != "range" and offset.type.name not in ("int2", "int4", "int8"):
        raise fault.invalid(fault.DATATYPE_MISMATCH, f"argument of {frame.mode.upper()} must be type bigint", position)
    negative = value < 0 if isinstance(value, int | float) else isinstance(value, tuple) and min(value) < 0
    if negative:
        raise fault.invalid("22013", "frame offset must not be negative", position)
    if frame.mode == "range":
        kind = call.order[0].value.type
        fits = offset.type.name in NUMBERS if kind.name in NUMBERS else offset.type == INTERVAL_TYPE
        if not fits and offset.type.name != "unknown":
            message = (
                f"RANGE with offset is not supported for column type {kind.sql_name} and offset {offset.type.sql_name}"
            )
            raise fault.invalid("0A000", message, position)
