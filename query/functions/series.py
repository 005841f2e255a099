"""The series functions: rows from a start to an end, as one array per input row."""

import calendar
from datetime import timedelta

import polars as pl

from query import fault
from query.expr.row_errors import row_fault
from query.functions.registry import Site, define
from query.limits import MAX_SERIES_ROWS
from query.pg.timestamps import EPOCH, to_datetime
from query.pg.types import PgType, array_of, widest

_FAMILY = "Arrays"


def _series_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


@define(
    "generate_series(int4, int4) -> int4[]; generate_series(int8, int8) -> int8[]",
    "Rows from start to end.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series(site: Site, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    return generate_series_step(site, start, end, pl.lit(1, dtype=pl.Int64))


@define(
    "generate_series(int4, int4, int4) -> int4[]; generate_series(int8, int8, int8) -> int8[]",
    "Rows from start to end by steps.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series_step(site: Site, start: pl.Expr, end: pl.Expr, step: pl.Expr) -> pl.Expr:
    first, last, by = (value.cast(pl.Int64) for value in (start, end, step))
    by = site.trap(by, (by == 0) & first.is_not_null() & last.is_not_null(), "step_zero")
    count = _count(site, first, last, by)
    beyond = first.cast(pl.Int128) + by.cast(pl.Int128) * count
    end = site.trap(beyond, ~beyond.is_between(-(2**63), 2**63 - 1), "series_limit").cast(pl.Int64)
    result = pl.when(count.is_not_null()).then(pl.int_ranges(first, end, by))
    return result.cast(site.result.polars)


def _count(site: Site, first: pl.Expr, last: pl.Expr, by: pl.Expr) -> pl.Expr:
    distance = last.cast(pl.Int128) - first.cast(pl.Int128)
    steps = pl.when((distance >= 0) == (by > 0)).then(distance.abs() // by.abs() + 1).otherwise(0)
    steps = pl.when(distance == 0).then(1).otherwise(steps)
    too_many = steps > MAX_SERIES_ROWS
    count = pl.when(too_many).then(0).otherwise(steps)
    count = pl.when(distance.is_not_null() & by.is_not_null()).then(count)
    return site.trap(count, too_many, "series_size").cast(pl.Int64)


def _constant_count(site: Site, by: int) -> int | None:
    """The steps between constants, which the plan would otherwise work out in some forty operations."""
    first, last = site.constant(0), site.constant(1)
    if not isinstance(first, int) or not isinstance(last, int) or site.types[0].unit != site.types[1].unit:
        return None
    steps = max((last - first) // by + 1, 0)
    return steps if steps <= MAX_SERIES_ROWS else None


def _moment_series(site: Site, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    months, days, us = step if isinstance(step, tuple) else (0, 0, 0)
    kind = site.types[0]
    if months:
        return _calendar_series(site, start, end, (months, days, us))
    width = days * 86_400_000_000 + us
    if width == 0:
        raise fault.invalid(fault.INVALID_PARAMETER, "step size cannot equal zero", site.position)
    scale = 1000 if kind.unit == "ns" else 1
    first, last = start.to_physical().cast(pl.Int64), end.cast(kind.polars).to_physical().cast(pl.Int64)
    by = pl.lit(width * scale, dtype=pl.Int64)
    known = _constant_count(site, width * scale)
    count = _count(site, first, last, by) if known is None else pl.lit(known, dtype=pl.Int64)
    return pl.int_ranges(first, first + by * count, width * scale).cast(site.result.polars)


def _calendar_series(site: Site, start: pl.Expr, end: pl.Expr, step: tuple[int, int, int]) -> pl.Expr:
    """Steps with months, one after the other as PostgreSQL adds them: the 31st stays cut once it was."""
    months, days, us = step

    def walk(first: int, last: int) -> list[int]:
        current, found, rising = first, [], (months, days, us) > (0, 0, 0)
        while current <= last if rising else current >= last:
            found.append(current)
            if len(found) > MAX_SERIES_ROWS:
                raise row_fault(fault.PROGRAM_LIMIT, "generate_series would make too many rows", site.position)
            current = _later(current, months) + days * 86_400_000_000 + us
        return found

    if site.types[0].unit == "ns" or site.types[1].unit == "ns":
        raise fault.unsupported("generate_series by months over nanoseconds", site.position)
    return site.rowwise(walk, start.to_physical(), end.to_physical())


def _later(us: int, months: int) -> int:
    """A moment some months later, its day cut to the month's length."""
    moment = to_datetime(us)
    whole = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(whole, 12)
    last = calendar.monthrange(year, month + 1)[1]
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    return (moved - EPOCH) // timedelta(microseconds=1)


def _moment_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(widest(types[0], types[1]))


@define(
    "generate_series(timestamp, timestamp, interval!) -> timestamp[]; "
    "generate_series(timestamptz, timestamptz, interval!) -> timestamptz[]",
    "Times from start to end by steps.",
    family=_FAMILY,
    result=_moment_kind,
)
def generate_times(site: Site, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    return _moment_series(site, start, end, step)


@define(
    "generate_subscripts(anyarray, int4!) -> int4[]",
    "Indexes of an array.",
    family=_FAMILY,
    result=lambda types: array_of(PgType("int4")),
)
def generate_subscripts(site: Site, array: pl.Expr, dimension: object) -> pl.Expr:
    size = array.list.len().cast(pl.Int64)
    if dimension != 1:
        size = pl.when(size.is_not_null()).then(pl.lit(0, dtype=pl.Int64))
    return pl.when(size.is_not_null()).then(pl.int_ranges(1, size + 1)).cast(site.result.polars)
