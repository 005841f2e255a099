"""Random numbers and the clock: functions whose value differs between calls."""

import random
import struct
import time
import uuid
from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from query import fault
from query.expr import random_numbers
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import rescale
from query.expr.row_errors import declare_row_error
from query.functions.registry import argument_names, define
from query.pg.types import widest

declare_row_error("random_bounds", fault.INVALID_PARAMETER, "lower bound must be less than or equal to upper bound")

_FAMILY = "Mathematics"
_ALL: Final = 100
_BUCKETS: Final = 1_000_000
"""Rows are put into so many; a sample has the first of them."""
_INTEGER_BITS: Final = 64


@define(
    "random() -> float8", "A random number, from 0 and below 1, another for each row.", family=_FAMILY, volatile=True
)
def random_number(context: CallContext) -> pl.Expr:
    numbers = random_numbers.current().call()

    def over(rows: pl.Series) -> pl.Series:
        return pl.Series(rows.name, numbers.doubles(len(rows)))

    return pl.int_range(pl.len(), dtype=pl.Int64).map_batches(over, return_dtype=pl.Float64)


@define(
    "setseed(float8!) -> void",
    "Lets random numbers from here on follow PostgreSQL's own sequence.",
    family=_FAMILY,
    volatile=True,
)
def seeded(context: CallContext, seed: object) -> pl.Expr:
    """Lets all random numbers of the statement, and of the session after it, follow from the seed."""
    if not isinstance(seed, int | float) or not -1 <= seed <= 1:
        message = f"setseed parameter {seed:g} is out of allowed range [-1,1]".replace("nan", "NaN")
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    random_numbers.current().start = random_numbers.state_of(seed)
    return pl.lit("")


@define(
    "rows sampled(float8!) -> bool; rows sampled(float8!, float8!) -> bool",
    "TABLESAMPLE.",
    family=_FAMILY,
    volatile=True,
)
def sampled(context: CallContext, percentage: object, seed: object = None) -> pl.Expr:
    """True for about so many of 100 rows; for the same ones again with the same seed."""
    if not isinstance(percentage, int | float) or not 0 <= percentage <= _ALL:
        message = "sample percentage must be between 0 and 100"
        raise fault.invalid("2202H", message, context.position)
    chosen = _bits(seed) if isinstance(seed, int | float) else random.getrandbits(64)
    place = pl.int_range(pl.len(), dtype=pl.Int64).hash(chosen) % _BUCKETS
    return place < round(percentage / _ALL * _BUCKETS)


def _bits(seed: float) -> int:
    """A seed of 64 bits; of a fraction, infinity or NaN the bits of the float."""
    return int(seed) % 2**64 if float(seed).is_integer() else int.from_bytes(struct.pack("<d", seed), "little")


@define(
    "random(int4, int4) -> int4; random(int8, int8) -> int8; random(numeric, numeric) -> numeric",
    "A random number of a range, another for each row.",
    family=_FAMILY,
    volatile=True,
    result=lambda types: widest(*types),
)
def random_between(context: CallContext, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    if context.result.name == "numeric":
        low, high = (
            rescale(context, bound, pg_type.scale, context.result.scale)
            for bound, pg_type in zip((low, high), context.types, strict=True)
        )
    low = context.fail_where(low, low > high, "random_bounds")
    numbers = random_numbers.current().call()

    def over(bounds: pl.Series) -> pl.Series:
        rows, integers = bounds.struct.unnest().iter_rows(), numbers.integers()
        values = [None if low is None or high is None else _between(low, high, integers) for low, high, _ in rows]
        return pl.Series(bounds.name, values, dtype=context.result.polars)

    rows = pl.int_range(pl.len(), dtype=pl.Int64)
    parts = pl.struct(low.alias("low"), high.alias("high"), rows.alias("row"))
    return parts.map_batches(over, return_dtype=context.result.polars)


def _between(low: int, high: int, integers: Iterator[int]) -> int:
    """The first of the numbers' leading bits that lies within (pg_prng_uint64_range); none is drawn for one value."""
    bits = (high - low).bit_length()
    if bits == 0:
        return low
    shift = _INTEGER_BITS - bits
    if shift < 0:
        pairs = zip(integers, integers, strict=False)
        integers, shift = (first << _INTEGER_BITS | second for first, second in pairs), shift + _INTEGER_BITS
    return low + next(number for number in (each >> shift for each in integers) if number <= high - low)


@define(
    "random_normal(float8, float8) -> float8",
    "A random number of the normal distribution with this mean (0) and standard deviation (1).",
    family=_FAMILY,
    volatile=True,
)
def random_normal(context: CallContext, mean: pl.Expr, deviation: pl.Expr) -> pl.Expr:
    numbers = random_numbers.current().call(width=2)

    def over(rows: pl.Series) -> pl.Series:
        first, second = (1 - numbers.doubles(2 * len(rows))).reshape(-1, 2).T
        return pl.Series(rows.name, np.sqrt(-2 * np.log(first)) * np.sin(2 * np.pi * second))

    normal = pl.int_range(pl.len(), dtype=pl.Int64).map_batches(over, return_dtype=pl.Float64)
    return deviation * normal + mean


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


argument_names("random", "min, max")
argument_names("random_normal", "mean, stddev", defaults=(0, 1))
