"""Intervals as structs of months, days and microseconds."""

import polars as pl

from query.intervals import DAY


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


def sum_of_intervals(left: pl.Expr, right: pl.Expr, sign: int = 1) -> pl.Expr:
    """Field by field: left + right, or left - right."""
    return interval(*(a + b * sign for a, b in zip(interval_parts(left), interval_parts(right), strict=True)))


def scaled_interval(value: pl.Expr, factor: pl.Expr) -> pl.Expr:
    """Each field times the factor; fractions of months go to days, of days to microseconds."""
    months, days, us = (part.cast(pl.Float64) * factor for part in interval_parts(value))
    whole_months = _toward_zero(months)
    month_days = ((months - whole_months) * 30).round(6)
    whole_days = _toward_zero(days)
    extra = month_days + (days - whole_days)
    extra_days = _toward_zero(extra)
    rest = ((extra - extra_days) * DAY).round(0)
    return interval(
        whole_months.cast(pl.Int64), (whole_days + extra_days).cast(pl.Int64), (us + rest).round(0).cast(pl.Int64)
    )


def _toward_zero(value: pl.Expr) -> pl.Expr:
    return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())
