"""Window functions over whole partitions: ranks, neighbours, and rows at a place of the frame."""

from collections.abc import Callable
from typing import Final

import polars as pl

from query.expr.row_errors import trap
from query.lower.window_rows import END, FIRST, LAST, PEER, PEER_END, ROW, START, argument
from query.plan.tree import WindowCall


def _row_number(call: WindowCall) -> pl.Expr:
    return pl.col(ROW) - pl.col(FIRST) + 1


def _rank(call: WindowCall) -> pl.Expr:
    return pl.col(PEER) - pl.col(FIRST) + 1


def _dense_rank(call: WindowCall) -> pl.Expr:
    groups = pl.col("w_peers").cast(pl.Int64).cum_sum()
    return groups - groups.gather(pl.col(FIRST)) + 1


def _percent_rank(call: WindowCall) -> pl.Expr:
    rows = pl.col(LAST) - pl.col(FIRST)
    share = (pl.col(PEER) - pl.col(FIRST)) / (rows - 1)
    return pl.when(rows > 1).then(share).otherwise(0.0)


def _cume_dist(call: WindowCall) -> pl.Expr:
    return (pl.col(PEER_END) - pl.col(FIRST)) / (pl.col(LAST) - pl.col(FIRST))


def _ntile(call: WindowCall) -> pl.Expr:
    """The first `rows % n` buckets have one row more."""
    buckets = argument(0).cast(pl.Int64)
    buckets = trap(buckets, buckets <= 0, "ntile_zero", call.position)
    rows, number = pl.col(LAST) - pl.col(FIRST), pl.col(ROW) - pl.col(FIRST)
    size, larger = rows // buckets, rows % buckets
    in_larger = number < larger * (size + 1)
    bucket = (
        pl.when(in_larger)
        .then(number // (size + 1))
        .otherwise(larger + (number - larger * (size + 1)) // pl.max_horizontal(size, pl.lit(1, dtype=pl.Int64)))
    )
    return (bucket + 1).cast(pl.Int32)


RANKINGS: Final[dict[str, Callable[[WindowCall], pl.Expr]]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
}


def neighbour(call: WindowCall) -> pl.Expr:
    value = argument(0)
    offset = argument(1).cast(pl.Int64) if len(call.args) > 1 else pl.lit(1, dtype=pl.Int64)
    default = argument(2) if len(call.args) > 2 else pl.lit(None, dtype=call.type.polars)
    place = pl.col(ROW) - offset if call.function == "lag" else pl.col(ROW) + offset
    inside = (place >= pl.col(FIRST)) & (place < pl.col(LAST))
    found = value.gather(pl.when(inside).then(place))
    return pl.when(inside).then(found).when(place.is_not_null()).then(default)


def placed(call: WindowCall) -> pl.Expr:
    value = argument(0)
    if call.function == "first_value":
        place = pl.col(START)
    elif call.function == "last_value":
        place = pl.col(END) - 1
    else:
        number = argument(1).cast(pl.Int64)
        number = trap(number, number <= 0, "nth_zero", call.position)
        place = pl.col(START) + number - 1
    inside = (place >= pl.col(START)) & (place < pl.col(END))
    return value.gather(pl.when(inside).then(place))
