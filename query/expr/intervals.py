"""Arithmetic of intervals, with errors for what is out of range."""

import math

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.interval_fields import interval, interval_parts
from query.expr.row_errors import declare_row_error, declared_error
from query.pg.intervals import DAY, DAYS_PER_MONTH, INFINITE, scale_interval

declare_row_error("infinite_interval", fault.FEATURE_NOT_SUPPORTED, "an infinite interval is not supported")


def checked_interval(context: CallContext, months: pl.Expr, days: pl.Expr, us: pl.Expr) -> pl.Expr:
    """An interval of 128-bit parts, or `interval out of range`, which PostgreSQL's infinite ones are as well."""
    beyond = _outside(months, 2**31) | _outside(days, 2**31) | _outside(us, 2**63)
    for endless in INFINITE:
        beyond |= pl.all_horizontal(
            part == pl.lit(limit, dtype=pl.Int128) for part, limit in zip((months, days, us), endless, strict=True)
        )
    return interval(
        context.fail_where(months, beyond, "interval_range"), *(pl.when(~beyond).then(part) for part in (days, us))
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
            parts = scale_interval(
                (months, days, us), (lambda part: part / by) if divides else (lambda part: part * by)
            )
        except OverflowError as error:
            endless = not divides and by in (math.inf, -math.inf) and (months * DAYS_PER_MONTH + days) * DAY + us
            name = "infinite_interval" if endless else "interval_range"
            raise declared_error(name, context.position) from error
        if parts in INFINITE:
            raise declared_error("interval_range", context.position)
        return dict(zip(("months", "days", "us"), parts, strict=True))

    return context.rowwise(over, *interval_parts(value), number)
