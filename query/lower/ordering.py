"""What values sort and compare by."""

import polars as pl

from query.bound import Scalar
from query.lower.intervals import interval_length
from query.lower.scalars import expression
from query.lower.stage import Stage


def sort_value(value: Scalar, stage: Stage | None = None) -> pl.Expr:
    """What a value sorts by: itself, but an interval by its length with months of 30 days."""
    made = expression(value, stage)
    return interval_length(made) if value.type.name == "interval" else made
