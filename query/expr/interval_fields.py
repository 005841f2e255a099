"""Intervals as structs of months, days and microseconds."""

import polars as pl


def interval_length(value: pl.Expr) -> pl.Expr:
    """Microseconds of an interval, as PostgreSQL compares them."""
    months = value.struct.field("months").cast(pl.Int128)
    days = months * 30 + value.struct.field("days").cast(pl.Int128)
    return days * pl.lit(86_400_000_000, dtype=pl.Int128) + value.struct.field("us").cast(pl.Int128)


def interval(months: pl.Expr, days: pl.Expr, us: pl.Expr) -> pl.Expr:
    """An interval of computed parts; null if the first part is null."""
    fields = pl.struct(
        months.cast(pl.Int32).alias("months"), days.cast(pl.Int32).alias("days"), us.cast(pl.Int64).alias("us")
    )
    return pl.when(us.is_not_null() & months.is_not_null() & days.is_not_null()).then(fields)


def interval_parts(value: pl.Expr) -> list[pl.Expr]:
    """Months, days and microseconds."""
    return [value.struct.field(part).cast(pl.Int64) for part in ("months", "days", "us")]
