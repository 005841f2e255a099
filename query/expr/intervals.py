"""Intervals as structs of months, days and microseconds."""

import math

import polars as pl

from query.expr.call_context import CallContext
from query.expr.row_errors import FAULTS, row_fault
from query.pg.intervals import DAY, DAYS_PER_MONTH, scaled


def interval_length(value: pl.Expr) -> pl.Expr:
    """Microseconds of an interval, as PostgreSQL compares them."""
    months = value.struct.field("months").cast(pl.Int128)
    days = months * 30 + value.struct.field("days").cast(pl.Int128)
    return days * pl.lit(86_400_000_000, dtype=pl.Int128) + value.struct.field("us").cast(pl.Int128)


def interval(months: pl.Expr, days: pl.Expr, us: pl.Expr) -> pl.Expr:
    """An interval of computed parts; null if the first part is null."""
    made = pl.struct(
        months.cast(pl.Int32).alias("months"), days.cast(pl.Int32).alias("days"), us.cast(pl.Int64).alias("us")
    )
    return pl.when(us.is_not_null() & months.is_not_null() & days.is_not_null()).then(made)


def interval_parts(value: pl.Expr) -> list[pl.Expr]:
    """Months, days and microseconds."""
    return [value.struct.field(part).cast(pl.Int64) for part in ("months", "days", "us")]


def checked_interval(context: CallContext, months: pl.Expr, days: pl.Expr, us: pl.Expr) -> pl.Expr:
    """An interval of 128-bit parts, or `interval out of range`."""
    beyond = _outside(months, 2**31) | _outside(days, 2**31) | _outside(us, 2**63)
    return interval(
        context.trap(months, beyond, "interval_range"), *(pl.when(~beyond).then(part) for part in (days, us))
    )


def _outside(part: pl.Expr, limit: int) -> pl.Expr:
    return (part < pl.lit(-limit, dtype=pl.Int128)) | (part >= pl.lit(limit, dtype=pl.Int128))


def sum_of_intervals(context: CallContext, left: pl.Expr, right: pl.Expr, sign: int = 1) -> pl.Expr:
    """Field by field: left + right, or left - right."""
    first, second = ([part.cast(pl.Int128) for part in interval_parts(value)] for value in (left, right))
    return checked_interval(context, *(a + b * sign for a, b in zip(first, second, strict=True)))


def scaled_interval(context: CallContext, value: pl.Expr, number: pl.Expr, divides: bool = False) -> pl.Expr:
    """An interval times a number, or divided by one."""

    def over(months: int, days: int, us: int, by: float) -> dict[str, int]:
        try:
            parts = scaled((months, days, us), (lambda part: part / by) if divides else (lambda part: part * by))
        except OverflowError as error:
            endless = not divides and by in (math.inf, -math.inf) and (months * DAYS_PER_MONTH + days) * DAY + us
            name = "infinite_interval" if endless else "interval_range"
            raise row_fault(*FAULTS[name], context.position) from error
        return dict(zip(("months", "days", "us"), parts, strict=True))

    return context.rowwise(over, *interval_parts(value), number)
