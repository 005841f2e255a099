"""Window frames: each is a half-open range of row numbers, two columns over the sorted rows."""

import math
from typing import Final

import polars as pl

from query import fault
from query.expr.interval_fields import interval_length
from query.expr.row_errors import declare_row_error, fail_where
from query.expr.window_columns import END, FIRST, LAST, NEW_PARTITION, NEW_PEERS, PEER, PEER_END, ROW, START
from query.lower.scalars import expression
from query.lower.window_specs import Spec
from query.pg.types import FLOATS, INTEGERS, TEXT, TIMESTAMP, TIMESTAMPS, PgType
from query.plan.tree import Bound, Call, Constant, Frame, Scalar, SortKey

declare_row_error("frame_size", "22013", "invalid preceding or following size in window function")


def with_frame_bounds(frame: pl.LazyFrame, bounds: Frame, spec: Spec) -> pl.LazyFrame:
    """Rows [w_start, w_end) of each row's frame, never empty backwards."""
    start = _edge(bounds.mode, bounds.start, spec, True, bounds.zone)
    end = _edge(bounds.mode, bounds.end, spec, False, bounds.zone)
    frame = frame.with_columns(start.cast(pl.Int64).alias(START), end.cast(pl.Int64).alias(END))
    return frame.with_columns(pl.max_horizontal(START, END).alias(END))


def _edge(mode: str, bound: Bound, spec: Spec, is_start: bool, zone: str) -> pl.Expr:
    first, last = pl.col(FIRST), pl.col(LAST)
    if bound.kind == "unbounded_preceding":
        return first
    if bound.kind == "unbounded_following":
        return last
    if bound.kind == "current":
        if mode == "rows":
            return pl.col(ROW) if is_start else pl.col(ROW) + 1
        return pl.col(PEER) if is_start else pl.col(PEER_END)
    sign = -1 if bound.kind == "preceding" else 1
    if mode == "rows":
        position = pl.col(ROW) + sign * _offset(bound) + (0 if is_start else 1)
        return pl.max_horizontal(pl.min_horizontal(position, last), first)
    if mode == "groups":
        return _group_edge(sign * _offset(bound), is_start)
    return _value_edge(bound, spec, sign, is_start, zone)


def _offset(bound: Bound) -> pl.Expr:
    """The number of rows or groups, which the binder has checked."""
    return _amount(bound).cast(pl.Int64).clip(upper_bound=_FAR)


def _amount(bound: Bound) -> pl.Expr:
    if bound.offset is None:
        raise fault.unsupported("this frame offset")
    return expression(bound.offset)


_FAR: Final = 2**48
"""More rows than there are; a frame that ends so far away ends with its partition, and no sum overflows."""


def _group_edge(groups: pl.Expr, is_start: bool) -> pl.Expr:
    """Peer groups are numbered; the frame's edge is the first row of the n-th one away."""
    number = pl.col(NEW_PEERS).cast(pl.Int64).cum_sum()
    target = number + groups + (0 if is_start else 1)
    position = number.search_sorted(target, side="left").cast(pl.Int64)
    return pl.max_horizontal(pl.min_horizontal(position, pl.col(LAST)), pl.col(FIRST))


def _value_edge(bound: Bound, spec: Spec, sign: int, is_start: bool, zone: str) -> pl.Expr:
    """RANGE with an offset: where the first row at or beyond value ± offset stands in the sorted partition.

    Edges never go back from row to row (update_frameheadpos), though a later time and a month may be earlier than an
    earlier time and a month: 30 January 01:00 and 29 January 23:00.
    """
    key = spec.order[0]
    pg_type = key.value.type
    moved = _shift_value(key, bound, -sign if key.descending else sign, is_start, zone)
    whole_type = TIMESTAMP if pg_type.name == "date" else pg_type
    physical, target = pl.col("w_o0"), moved
    if pg_type.name not in _RANKED:
        physical, target = _whole(physical, pg_type), _whole(target, whole_type)
    if pg_type.name in _RANKED:
        physical = physical.cast(pl.Float64) if pg_type.name in FLOATS else physical
        physical, target = _ranks(physical, moved)
    if key.descending:
        zero = pl.lit(0, dtype=pl.Int128)
        physical, target = zero - physical, zero - target
    run = pl.col(NEW_PARTITION).cast(pl.Int128).cum_sum() * pl.lit(4, dtype=pl.Int128)
    step = pl.lit(1 << 70, dtype=pl.Int128)
    null_rank = pl.lit(0 if key.nulls_first else 2, dtype=pl.Int128)
    position = pl.when(physical.is_null()).then((run + null_rank) * step).otherwise((run + 1) * step + physical)
    sought = (run + 1) * step + target
    index = position.search_sorted(sought.fill_null(0), side="left" if is_start else "right").cast(pl.Int64)
    index = pl.max_horizontal(pl.min_horizontal(index, pl.col(LAST)), pl.col(FIRST))
    peer = pl.col(PEER) if is_start else pl.col(PEER_END)
    return pl.when(physical.is_null()).then(peer).otherwise(index).cum_max()


_RANKED: Final = ("numeric", "float4", "float8")
"""Types whose values are too wide to be put behind the number of their partition: their ranks are."""


def _ranks(value: pl.Expr, target: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The ranks of values and targets among both, NaN the greatest."""
    both = value.append(target).rank("dense").cast(pl.Int128)
    return both.slice(0, pl.len()), both.slice(pl.len(), pl.len())


def _shift_float(value: pl.Expr, offset: pl.Expr, farthest: float) -> pl.Expr:
    """The value plus the offset. What would be no number, an infinity less another, leaves out no value but NaN
    (in_range_float8_float8): it is as far as a value can be."""
    opposite = offset.is_infinite() & (value == -offset)
    return pl.when(opposite).then(pl.lit(farthest)).otherwise(value + offset)


def _shift_value(key: SortKey, bound: Bound, sign: int, is_start: bool, zone: str) -> pl.Expr:
    """The ordering value plus or minus the frame's offset. Raises 22013 for a negative offset."""
    pg_type, offset = key.value.type, bound.offset
    if offset is None:
        raise fault.unsupported("this frame offset")
    value, amount, offset_type = pl.col("w_o0"), _amount(bound), offset.type
    if pg_type.name in INTEGERS and offset_type.name in INTEGERS:
        moved = value.cast(pl.Int128) + sign * amount.cast(pl.Int128)
    elif (
        pg_type.name == "numeric" and offset_type.name in (*INTEGERS, "numeric") and pg_type.scale >= offset_type.scale
    ):
        factor = pl.lit(10 ** (pg_type.scale - offset_type.scale), dtype=pl.Int128)
        moved = value + sign * amount.cast(pl.Int128) * factor
    elif pg_type.name in FLOATS:
        farthest = -math.inf if is_start != key.descending else math.inf
        moved = _shift_float(value.cast(pl.Float64), sign * _as_float(amount, offset_type), farthest)
    elif pg_type.name in ("date", *TIMESTAMPS) and offset_type.name == "interval":
        moved = expression(_moved_time(key.value, offset, sign, zone))
    else:
        hint = "order by an integer or timestamp"
        raise fault.unsupported(f"RANGE with an offset over {pg_type.sql_name}", None, hint)
    return fail_where(moved, value.is_not_null() & _is_negative(amount, offset_type), "frame_size", None)


def _moved_time(value: Scalar, offset: Scalar, sign: int, zone: str) -> Call:
    """The time or date plus or minus an interval."""
    if zone and value.type.name == "timestamptz" and not _is_clock_time(offset):
        name = f"date_{'add' if sign > 0 else 'subtract'}(timestamptz, interval, text!)"
        return Call(value.type, name, (value, offset, Constant(TEXT, zone)))
    name = f"{'+' if sign > 0 else '-'}({value.type.name}, interval)"
    return Call(TIMESTAMP if value.type.name == "date" else value.type, name, (value, offset))


def _is_clock_time(span: Scalar) -> bool:
    """Whether the interval has no months and days: it is as long in every zone."""
    return isinstance(span, Constant) and isinstance(span.value, tuple) and span.value[:2] == (0, 0)


def _as_float(amount: pl.Expr, pg_type: PgType) -> pl.Expr:
    value = amount.cast(pl.Float64)
    return value / 10**pg_type.scale if pg_type.name == "numeric" else value


def _is_negative(amount: pl.Expr, pg_type: PgType) -> pl.Expr:
    if pg_type.name == "interval":
        return interval_length(amount) < 0
    return (amount < 0) | amount.is_nan() if pg_type.name in FLOATS else amount < 0


def _whole(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    value = value.cast(TIMESTAMP.polars) if pg_type.name == "date" else value
    return value.to_physical().cast(pl.Int128)
