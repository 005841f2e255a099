"""Random numbers and the clock: functions whose value differs between calls."""

import random
import time
import uuid
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define

declare_row_error("random_bounds", fault.INVALID_PARAMETER, "lower bound must be less than or equal to upper bound")

_FAMILY = "Mathematics"
_ALL: Final = 100
_BUCKETS: Final = 1_000_000
"""Rows are put into so many; a sample has the first of them."""
_BITS: Final = 53
"""A float8 has so many; a random number is a multiple of the last."""


def _for_each_row(series: pl.Series) -> pl.Series:
    return pl.Series(series.name, [random.getrandbits(_BITS) / 2**_BITS for _ in range(len(series))], dtype=pl.Float64)


@define(
    "random() -> float8", "A random number, from 0 and below 1, another for each row.", family=_FAMILY, volatile=True
)
def random_number(context: CallContext) -> pl.Expr:
    return pl.int_range(pl.len(), dtype=pl.Int64).map_batches(_for_each_row, return_dtype=pl.Float64)


@define("sampled(float8!) -> bool; sampled(float8!, int8!) -> bool", "TABLESAMPLE.", family=_FAMILY, volatile=True)
def sampled(context: CallContext, percentage: object, seed: object = None) -> pl.Expr:
    """True for about so many of 100 rows; for the same ones again with the same seed."""
    if not isinstance(percentage, int | float) or not 0 <= percentage <= _ALL:
        message = "sample percentage must be between 0 and 100"
        raise fault.invalid("2202H", message, context.position)
    chosen = random.getrandbits(_BITS) if not isinstance(seed, int) else seed % 2**_BITS
    place = pl.int_range(pl.len(), dtype=pl.Int64).hash(chosen) % _BUCKETS
    return place < round(percentage / _ALL * _BUCKETS)


@define(
    "random(int4, int4) -> int4; random(int8, int8) -> int8",
    "A random integer of a range, another for each row.",
    family=_FAMILY,
    volatile=True,
)
def random_between(context: CallContext, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    low = context.fail_where(low, low > high, "random_bounds")
    rows = pl.int_range(pl.len(), dtype=pl.Int64)

    def over(series: pl.Series) -> pl.Series:
        rows = series.struct.unnest().iter_rows()
        values = [None if None in row else random.randint(row[0], row[1]) for row in rows]
        return pl.Series(series.name, values, dtype=context.result.polars)

    parts = pl.struct(low.alias("low"), high.alias("high"), rows.alias("row"))
    return parts.map_batches(over, return_dtype=context.result.polars)


@define(
    "clock_timestamp() -> timestamptz", "The time now, while rows are computed.", family="Date and time", volatile=True
)
def clock_timestamp(context: CallContext) -> pl.Expr:
    def over(series: pl.Series) -> pl.Series:
        return pl.Series(series.name, [time.time_ns() // 1000] * len(series), dtype=pl.Int64).cast(
            context.result.polars
        )

    return pl.int_range(pl.len(), dtype=pl.Int64).map_batches(over, return_dtype=context.result.polars)


@define(
    "gen_random_uuid() -> uuid; uuidv4() -> uuid",
    "A random UUID, another for each row.",
    family="Text",
    volatile=True,
)
def random_uuid(context: CallContext) -> pl.Expr:
    def over(series: pl.Series) -> pl.Series:
        return pl.Series(series.name, [str(uuid.uuid4()) for _ in range(len(series))], dtype=pl.String)

    return pl.int_range(pl.len(), dtype=pl.Int64).map_batches(over, return_dtype=pl.String)
