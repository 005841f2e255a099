"""The series functions: rows from a start to an end, as one array per input row."""

from datetime import timedelta

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import rescale
from query.expr.row_errors import declare_row_error, row_fault
from query.functions.registry import define
from query.limits import MAX_SERIES_ROWS
from query.pg.timestamps import EPOCH, months_later, to_datetime
from query.pg.types import PgType, array_of, numeric, widest

declare_row_error("step_zero", fault.INVALID_PARAMETER, "step size cannot equal zero")
declare_row_error("series_size", fault.PROGRAM_LIMIT, "generate_series would make too many rows")
declare_row_error(
    "series_limit", fault.FEATURE_NOT_SUPPORTED, "generate_series up to the limits of bigint is not supported"
)

_FAMILY = "Arrays"


def _series_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


@define(
    "generate_series(int4, int4) -> int4[]; generate_series(int8, int8) -> int8[]",
    "Rows from start to end.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series(context: CallContext, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    return generate_series_step(context, start, end, pl.lit(1, dtype=pl.Int64))


@define(
    "generate_series(int4, int4, int4) -> int4[]; generate_series(int8, int8, int8) -> int8[]",
    "Rows from start to end by steps.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series_step(context: CallContext, start: pl.Expr, end: pl.Expr, step: pl.Expr) -> pl.Expr:
    first, last, by = (value.cast(pl.Int64) for value in (start, end, step))
    by = context.fail_where(by, (by == 0) & first.is_not_null() & last.is_not_null(), "step_zero")
    count = _count(context, first, last, by)
    beyond = first.cast(pl.Int128) + by.cast(pl.Int128) * count
    end = context.fail_where(beyond, ~beyond.is_between(-(2**63), 2**63 - 1), "series_limit").cast(pl.Int64)
    result = pl.when(count.is_not_null()).then(pl.int_ranges(first, end, by))
    return result.cast(context.result.polars)


def _decimal_kind(types: tuple[PgType, ...]) -> PgType:
    """The first row has the digits of the start, those after it at least those of the step."""
    steps = types[2].scale if len(types) > 2 else 0
    exact = all(pg_type.exact for pg_type in types) and steps <= types[0].scale
    return array_of(numeric(max(types[0].scale, steps), exact))


@define(
    "generate_series(numeric, numeric) -> numeric[]; generate_series(numeric, numeric, numeric) -> numeric[]",
    "Rows from start to end by steps.",
    family=_FAMILY,
    result=_decimal_kind,
)
def generate_numerics(context: CallContext, start: pl.Expr, end: pl.Expr, *steps: pl.Expr) -> pl.Expr:
    scale = max(pg_type.scale for pg_type in context.types)
    values = [start, end, *(steps or [pl.lit(1, dtype=pl.Int128)])]
    scales = [*(pg_type.scale for pg_type in context.types), 0]
    first, last, by = (rescale(context, value, own, scale) for value, own in zip(values, scales[:3], strict=True))
    rows = generate_series_step(context, *(_narrow(context, value) for value in (first, last, by)))
    shown = context.result.element.scale if context.result.element is not None else scale
    return rows.list.eval(pl.element().cast(pl.Int128) // 10 ** (scale - shown))


def _narrow(context: CallContext, value: pl.Expr) -> pl.Expr:
    fits = value.is_between(-(2**63), 2**63 - 1)
    return context.fail_where(pl.when(fits).then(value), ~fits, "series_limit").cast(pl.Int64)


def _count(context: CallContext, first: pl.Expr, last: pl.Expr, by: pl.Expr) -> pl.Expr:
    distance = last.cast(pl.Int128) - first.cast(pl.Int128)
    steps = pl.when((distance >= 0) == (by > 0)).then(distance.abs() // by.abs() + 1).otherwise(0)
    steps = pl.when(distance == 0).then(1).otherwise(steps)
    too_many = steps > MAX_SERIES_ROWS
    count = pl.when(too_many).then(0).otherwise(steps)
    count = pl.when(distance.is_not_null() & by.is_not_null()).then(count)
    return context.fail_where(count, too_many, "series_size").cast(pl.Int64)


def _constant_count(context: CallContext, by: int) -> int | None:
    """The steps between constants, which the plan would otherwise work out in some forty operations."""
    first, last = context.constant(0), context.constant(1)
    if not isinstance(first, int) or not isinstance(last, int) or context.types[0].unit != context.types[1].unit:
        return None
    steps = max((last - first) // by + 1, 0)
    return steps if steps <= MAX_SERIES_ROWS else None


def _moment_series(context: CallContext, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    months, days, us = step if isinstance(step, tuple) else (0, 0, 0)
    pg_type = context.types[0]
    if months:
        return _calendar_series(context, start, end, (months, days, us))
    width = days * 86_400_000_000 + us
    if width == 0:
        raise fault.invalid(fault.INVALID_PARAMETER, "step size cannot equal zero", context.position)
    scale = 1000 if pg_type.unit == "ns" else 1
    first, last = start.to_physical().cast(pl.Int64), end.cast(pg_type.polars).to_physical().cast(pl.Int64)
    by = pl.lit(width * scale, dtype=pl.Int64)
    constant_count = _constant_count(context, width * scale)
    count = _count(context, first, last, by) if constant_count is None else pl.lit(constant_count, dtype=pl.Int64)
    return pl.int_ranges(first, first + by * count, width * scale).cast(context.result.polars)


def _calendar_series(context: CallContext, start: pl.Expr, end: pl.Expr, step: tuple[int, int, int]) -> pl.Expr:
    """Steps with months, one after the other as PostgreSQL adds them: the 31st stays cut once it was."""
    months, days, us = step

    def walk(first: int, last: int) -> list[int]:
        current, moments, rising = first, [], (months, days, us) > (0, 0, 0)
        while current <= last if rising else current >= last:
            moments.append(current)
            if len(moments) > MAX_SERIES_ROWS:
                raise row_fault(fault.PROGRAM_LIMIT, "generate_series would make too many rows", context.position)
            current = _later(current, months) + days * 86_400_000_000 + us
        return moments

    if context.types[0].unit == "ns" or context.types[1].unit == "ns":
        raise fault.unsupported("generate_series by months over nanoseconds", context.position)
    return context.rowwise(walk, start.to_physical(), end.to_physical())


def _later(us: int, months: int) -> int:
    return (months_later(to_datetime(us), months) - EPOCH) // timedelta(microseconds=1)


def _moment_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(widest(types[0], types[1]))


@define(
    "generate_series(timestamp, timestamp, interval!) -> timestamp[]; "
    "generate_series(timestamptz, timestamptz, interval!) -> timestamptz[]",
    "Times from start to end by steps.",
    family=_FAMILY,
    result=_moment_kind,
)
def generate_times(context: CallContext, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    return _moment_series(context, start, end, step)
