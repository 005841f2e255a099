"""Window frames: each is a half-open range of row numbers, two columns over the sorted rows."""

import math
from typing import Final

import polars as pl

from query import fault
from query.expr.window_columns import END, FIRST, LAST, NEW_PARTITION, NEW_PEERS, PEER, PEER_END, ROW, START
from query.lower.scalars import expression
from query.lower.window_specs import Spec
from query.pg.types import FLOATS, INTEGERS, TIMESTAMP, TIMESTAMPS, PgType
from query.plan.tree import Bound, Call, Constant, Frame, SortKey


def with_frame_bounds(frame: pl.LazyFrame, bounds: Frame, spec: Spec) -> pl.LazyFrame:
    """Rows [w_start, w_end) of each row's frame, never empty backwards."""
    start = _edge(bounds.mode, bounds.start, spec, is_start=True)
    end = _edge(bounds.mode, bounds.end, spec, is_start=False)
    frame = frame.with_columns(start.cast(pl.Int64).alias(START), end.cast(pl.Int64).alias(END))
    return frame.with_columns(pl.max_horizontal(START, END).alias(END))


def _edge(mode: str, bound: Bound, spec: Spec, is_start: bool) -> pl.Expr:
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
    return _value_edge(bound, spec, sign, is_start)


def _offset(bound: Bound) -> int:
    value = getattr(bound.offset, "value", None)
    if not isinstance(value, int):
        raise fault.unsupported("this frame offset")
    return min(value, _FAR)


_FAR: Final = 2**48
"""More rows than there are; a frame that ends so far away ends with its partition, and no sum overflows."""


def _group_edge(groups: int, is_start: bool) -> pl.Expr:
    """Peer groups are numbered; the frame's edge is the first row of the n-th one away."""
    number = pl.col(NEW_PEERS).cast(pl.Int64).cum_sum()
    target = number + groups + (0 if is_start else 1)
    position = number.search_sorted(target, side="left").cast(pl.Int64)
    return pl.max_horizontal(pl.min_horizontal(position, pl.col(LAST)), pl.col(FIRST))


def _value_edge(bound: Bound, spec: Spec, sign: int, is_start: bool) -> pl.Expr:
    """RANGE with an offset: where the first row at or beyond value ± offset stands in the sorted partition."""
    key = spec.order[0]
    pg_type = key.value.type
    moved = _shift_value(key, bound, -sign if key.descending else sign)
    whole_type = TIMESTAMP if pg_type.name == "date" else pg_type
    physical, target = pl.col("w_o0"), moved
    if pg_type.name not in _RANKED:
        physical, target = _whole(physical, pg_type), _whole(target, whole_type)
    if pg_type.name in _RANKED:
        physical, target = _ranks(pl.col("w_o0"), moved)
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
    return pl.when(physical.is_null()).then(peer).otherwise(index)


_RANKED: Final = ("numeric", "float4", "float8")
"""Types whose values are too wide to be put behind the number of their partition: their ranks are."""


def _ranks(value: pl.Expr, target: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The ranks of values and targets among both, NaN the greatest."""
    both = value.append(target).rank("dense").cast(pl.Int128)
    return both.slice(0, pl.len()), both.slice(pl.len(), pl.len())


def _float_offset(offset: Constant) -> float:
    """The offset of a frame over floats as a float."""
    if not isinstance(offset.value, int | float):
        raise fault.unsupported("this frame offset")
    return offset.value / 10**offset.type.scale if offset.type.name == "numeric" else float(offset.value)


def _shift_float(value: pl.Expr, offset: float) -> pl.Expr:
    """The value plus the offset. What would be no number, an infinity less another, reaches every value beyond it
    (in_range_float8_float8)."""
    if not math.isinf(offset):
        return value + offset
    opposite = value == -offset
    return pl.when(opposite).then(pl.lit(offset)).otherwise(value + offset)


def _shift_value(key: SortKey, bound: Bound, sign: int) -> pl.Expr:
    """The ordering value plus or minus the frame's offset."""
    pg_type, offset = key.value.type, bound.offset
    if offset is None or not isinstance(offset, Constant):
        raise fault.unsupported("this frame offset")
    if pg_type.name in INTEGERS and isinstance(offset.value, int) and offset.type.name in INTEGERS:
        return pl.col("w_o0").cast(pl.Int128) + sign * offset.value
    if pg_type.name == "numeric" and isinstance(offset.value, int) and pg_type.scale >= offset.type.scale:
        factor: int = 10 ** (pg_type.scale - offset.type.scale)
        return pl.col("w_o0") + sign * offset.value * factor
    if pg_type.name in FLOATS:
        return _shift_float(pl.col("w_o0"), _float_offset(offset) * sign)
    if pg_type.name in ("date", *TIMESTAMPS) and offset.type.name == "interval":
        name = f"{'+' if sign > 0 else '-'}({pg_type.name}, interval)"
        return expression(Call(TIMESTAMP if pg_type.name == "date" else pg_type, name, (key.value, offset)))
    raise fault.unsupported(f"RANGE with an offset over {pg_type.sql_name}", None, "order by an integer or timestamp")


def _whole(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    value = value.cast(TIMESTAMP.polars) if pg_type.name == "date" else value
    return value.to_physical().cast(pl.Int128)
