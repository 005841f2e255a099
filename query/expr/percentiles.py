"""Where percentiles lie among so many values in order.

Source: PostgreSQL's orderedsetaggs.c, percentile_disc_final and percentile_cont_final_common.
"""

import polars as pl

Fraction = float | pl.Expr


def discrete_place(count: pl.Expr, fraction: Fraction) -> pl.Expr:
    """The place, from 0, of the first value at or beyond a fraction."""
    return ((count * fraction).ceil().cast(pl.Int64) - 1).clip(0, None)


def continuous_places(count: pl.Expr, fraction: Fraction) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """The places, from 0, of the values about a fraction, and how far it lies from the first to the second."""
    position = (count - 1) * fraction
    low, high = position.floor(), position.ceil()
    return low.cast(pl.Int64).clip(0, None), high.cast(pl.Int64).clip(0, None), position - low


def interpolated(first: pl.Expr, second: pl.Expr, share: pl.Expr) -> pl.Expr:
    """lo + fraction * (hi - lo), as PostgreSQL computes it; the first value where the share is 0."""
    return pl.when(share == 0).then(first).otherwise(first + share * (second - first))
