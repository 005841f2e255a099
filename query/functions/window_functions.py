"""Window functions: ranks, neighbours, and rows at a place of the frame."""

from typing import Final

import polars as pl

from query.expr.row_errors import declare_row_error, fail_where
from query.expr.window_columns import END, FIRST, LAST, NEW_PEERS, PEER, PEER_END, ROW, START, argument
from query.functions.registry import window
from query.plan.tree import WindowCall

declare_row_error("ntile_zero", "22014", "argument of ntile must be greater than zero")
declare_row_error("nth_zero", "22016", "argument of nth_value must be greater than zero")


@window("row_number() -> int8", "Number of the row within its partition, from 1.")
def _row_number(call: WindowCall) -> pl.Expr:
    return pl.col(ROW) - pl.col(FIRST) + 1


@window("rank() -> int8", "Rank with gaps.")
def _rank(call: WindowCall) -> pl.Expr:
    return pl.col(PEER) - pl.col(FIRST) + 1


@window("dense_rank() -> int8", "Rank without gaps.")
def _dense_rank(call: WindowCall) -> pl.Expr:
    groups = pl.col(NEW_PEERS).cast(pl.Int64).cum_sum()
    return groups - groups.gather(pl.col(FIRST)) + 1


@window("percent_rank() -> float8", "Relative rank: (rank - 1) / (rows - 1).")
def _percent_rank(call: WindowCall) -> pl.Expr:
    rows = pl.col(LAST) - pl.col(FIRST)
    share = (pl.col(PEER) - pl.col(FIRST)) / (rows - 1)
    return pl.when(rows > 1).then(share).otherwise(0.0)


@window("cume_dist() -> float8", "Share of rows at or before the current one.")
def _cume_dist(call: WindowCall) -> pl.Expr:
    return (pl.col(PEER_END) - pl.col(FIRST)) / (pl.col(LAST) - pl.col(FIRST))


@window("ntile(int4) -> int4", "Bucket number from 1 to n.")
def _ntile(call: WindowCall) -> pl.Expr:
    """The first `rows % n` buckets have one row more."""
    buckets = argument(0).cast(pl.Int64)
    buckets = fail_where(buckets, buckets <= 0, "ntile_zero", call.position)
    rows, number = pl.col(LAST) - pl.col(FIRST), pl.col(ROW) - pl.col(FIRST)
    size, larger = rows // buckets, rows % buckets
    in_larger = number < larger * (size + 1)
    bucket = (
        pl.when(in_larger)
        .then(number // (size + 1))
        .otherwise(larger + (number - larger * (size + 1)) // pl.max_horizontal(size, pl.lit(1, dtype=pl.Int64)))
    )
    return (bucket + 1).cast(pl.Int32)


_NEIGHBOUR: Final = (
    "{0}(anyelement) -> anyelement;{0}(anyelement, int4) -> anyelement;{0}(anyelement, int4, anyelement) -> anyelement"
)


@window(_NEIGHBOUR.format("lag"), "Value of an earlier row of the partition.")
def _lag(call: WindowCall) -> pl.Expr:
    return _neighbour(call, pl.col(ROW) - _offset(call))


@window(_NEIGHBOUR.format("lead"), "Value of a later row of the partition.")
def _lead(call: WindowCall) -> pl.Expr:
    return _neighbour(call, pl.col(ROW) + _offset(call))


def _offset(call: WindowCall) -> pl.Expr:
    return argument(1).cast(pl.Int64) if len(call.args) > 1 else pl.lit(1, dtype=pl.Int64)


def _neighbour(call: WindowCall, position: pl.Expr) -> pl.Expr:
    """The value at a place of the partition; outside of it the call's default."""
    default = argument(2) if len(call.args) > 2 else pl.lit(None, dtype=call.type.polars)
    inside = (position >= pl.col(FIRST)) & (position < pl.col(LAST))
    neighbour = argument(0).gather(pl.when(inside).then(position))
    return pl.when(inside).then(neighbour).when(position.is_not_null()).then(default)


@window("first_value(anyelement) -> anyelement", "Value of the first row of the frame.", framed=True)
def _first_value(call: WindowCall) -> pl.Expr:
    return _within_frame(pl.col(START))


@window("last_value(anyelement) -> anyelement", "Value of the last row of the frame.", framed=True)
def _last_value(call: WindowCall) -> pl.Expr:
    return _within_frame(pl.col(END) - 1)


@window("nth_value(anyelement, int4) -> anyelement", "Value of the n-th row of the frame.", framed=True)
def _nth_value(call: WindowCall) -> pl.Expr:
    number = argument(1).cast(pl.Int64)
    number = fail_where(number, number <= 0, "nth_zero", call.position)
    return _within_frame(pl.col(START) + number - 1)


def _within_frame(position: pl.Expr) -> pl.Expr:
    inside = (position >= pl.col(START)) & (position < pl.col(END))
    return argument(0).gather(pl.when(inside).then(position))
