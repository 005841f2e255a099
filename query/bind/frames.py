"""Window frames: their bounds, and offsets that are constants or come from a subquery."""

from dataclasses import replace
from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.limit import count_of
from query.bind.lookups import PendingLookup
from query.bind.type_resolution import coerce
from query.functions.registry import AGGREGATES, WINDOW_FUNCTIONS
from query.pg.types import INTERVAL_TYPE, NUMBERS, PgType
from query.plan.traverse import columns, free_columns
from query.plan.tree import Bound, Call, Column, Constant, Frame, Project, Scalar, SortKey, Values, is_endless
from query.syntax.positions import position_of

_ORDER: Final = ("unbounded_preceding", "preceding", "current", "following", "unbounded_following")
_FRAMELESS: Final = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Functions whose frame PostgreSQL replaces by one without offsets, whatever those are (window_*_support)."""


def bind_frame(spec: exp.Expr, order: tuple[SortKey, ...], block: Block, position: int | None) -> Frame:
    """The frame of a window that is ordered by `order`. What its offsets are is no matter until a function uses it."""
    frame = _frame(spec, block)
    if frame.mode == "range" and len(order) == 1:
        frame = _resolve_offsets(frame, order[0].value.type)
    _check_frame(frame, order, spec, position)
    return frame


def has_offset(frame: Frame) -> bool:
    return frame.start.offset is not None or frame.end.offset is not None


def frame_of_call(frame: Frame, function: str, block: Block, position: int | None) -> Frame | None:
    """The frame as this function uses it: its offsets are checked, and those of subqueries looked up."""
    if function in _FRAMELESS:
        return None
    framed = function in AGGREGATES or WINDOW_FUNCTIONS[function][0].framed
    for name, bound in (("starting", frame.start), ("ending", frame.end)):
        if isinstance(bound.offset, Constant):
            _check_constant(bound.offset, name, by_row=framed and frame.mode == "range")
        elif bound.offset is not None and not framed:
            raise fault.unsupported(f"{function} over a frame whose offset is not a constant", position)
        elif bound.offset is not None:
            _look_up(bound.offset, block)
    return frame


def _look_up(offset: Scalar, block: Block) -> None:
    pending = next(pending for column, pending in block.frame_offsets.values() if column == offset)
    if not any(pending is known for known in block.lookups):
        block.look_up(pending)


def _frame(spec: exp.Expr, block: Block) -> Frame:
    mode = str(spec.args["kind"]).lower()
    exclude = spec.args.get("exclude")
    excluded = "" if exclude is None else str(getattr(exclude, "name", exclude)).lower()
    end_node = spec.args.get("end")
    start = _bind_bound(spec.args["start"], spec.args.get("start_side"), mode, "starting", block)
    end = Bound("current")
    if end_node is not None:
        end = _bind_bound(end_node, spec.args.get("end_side"), mode, "ending", block)
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
    return Frame(mode, start, end, "" if excluded == "no others" else excluded, block.environment.zone)


def _bind_bound(value: object, side: object, mode: str, name: str, block: Block) -> Bound:
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return Bound("current")
        return Bound(f"unbounded_{str(side).lower()}")
    if not isinstance(value, exp.Expr):
        raise fault.unsupported("this window frame")
    with block.binding(f"window {mode.upper()}"):
        return Bound(str(side).lower(), _bind_offset(value, mode, name, block))


def _bind_offset(node: exp.Expr, mode: str, name: str, block: Block) -> Scalar:
    """The offset: a constant, or the column of a lookup that computes it once. Raises 42P10 where rows differ in it."""
    known = block.frame_offsets.get((node, mode, name))
    if known is not None:
        return known[0]
    position = position_of(node)
    offset, lookups = block.bind_apart(node)
    references = (*columns(offset), *(column for pending in lookups for column in pending.references()))
    if any(column.id in block.scope.item.identifiers() for column in references):
        message = f"argument of {mode.upper()} must not contain variables"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position)
    if mode != "range":
        offset = count_of(offset, f"argument of {mode.upper()}", position)
    offset = block.environment.fold(offset)
    if isinstance(offset, Constant):
        return offset
    return _computed(offset, lookups, (node, mode, name), block)


def _computed(offset: Scalar, lookups: list[PendingLookup], key: tuple[exp.Expr, str, str], block: Block) -> Column:
    """The column of an offset that is computed in a relation of its own, of one row: also where the window has none."""
    node, mode, name = key
    position = position_of(node)
    check = f"{name} offset of RANGE(any)" if mode == "range" else f"{name} offset of ROWS(int8)"
    source = block.attach(Values((), ((),)), lookups)
    checked = Call(offset.type, check, (offset,), position)
    field = block.environment.field(offset.type)
    relation = Project((field,), source, (checked,))
    if free_columns(relation):
        raise fault.unsupported("a frame offset that depends on an outer query", position)
    block.frame_offsets[key] = (field.ref(), PendingLookup(relation))
    return field.ref()


def _resolve_offsets(frame: Frame, pg_type: PgType) -> Frame:
    """The frame with its untyped offsets in the type that the ordering value moves by."""
    target = INTERVAL_TYPE if pg_type.category == "D" else pg_type

    def typed(bound: Bound) -> Bound:
        offset = bound.offset
        untyped_offset = offset is not None and offset.type.name == "unknown"
        return replace(bound, offset=coerce(offset, target)) if untyped_offset and offset is not None else bound

    return replace(frame, start=typed(frame.start), end=typed(frame.end))


def _check_frame(frame: Frame, order: tuple[SortKey, ...], spec: exp.Expr, position: int | None) -> None:
    if frame.mode == "groups" and not order:
        raise fault.invalid(fault.WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause", position)
    for name, bound in (("start", frame.start), ("end", frame.end)):
        if bound.offset is None or frame.mode != "range":
            continue
        if len(order) != 1:
            message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            raise fault.invalid(fault.WINDOWING_ERROR, message, position)
        _check_range(bound.offset.type, order[0].value.type, position_of(spec.args[name]))


def _check_range(offset: PgType, pg_type: PgType, position: int | None) -> None:
    fits = offset.name in NUMBERS if pg_type.name in NUMBERS else offset == INTERVAL_TYPE
    if not fits and offset.name != "unknown":
        message = (
            f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type {pg_type.sql_name} "
            f"and offset type {offset.sql_name}"
        )
        raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position)


def _check_constant(offset: Constant, name: str, by_row: bool) -> None:
    """Raises 22004 and 22013. `by_row`: a negative offset fails on rows that have a value to move, not before."""
    value = offset.value
    if is_endless(offset):
        raise fault.unsupported("an infinite frame offset")
    if value is None:
        raise fault.invalid("22004", f"frame {name} offset must not be null")
    if by_row:
        return
    if value < 0 if isinstance(value, int | float) else isinstance(value, tuple) and min(value) < 0:
        raise fault.invalid("22013", f"frame {name} offset must not be negative")
