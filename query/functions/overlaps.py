"""OVERLAPS of two periods."""

import polars as pl

from query.expr.call_context import CallContext
from query.functions.registry import define

_KINDS = ("timestamp", "timestamptz", "time", "date")


@define(
    "; ".join(f"periods overlap({kind}, {kind}, {kind}, {kind}) -> bool" for kind in _KINDS),
    "`(a, b) OVERLAPS (c, d)`: whether the periods have a moment in common, ends not among them.",
    family="Date and time",
    strict=False,
)
def overlaps(context: CallContext, first: pl.Expr, second: pl.Expr, third: pl.Expr, fourth: pl.Expr) -> pl.Expr:
    """A period with one end is that moment, and what depends on the other end is NULL (overlaps_timestamp)."""
    left, right = _ordered(first, second), _ordered(third, fourth)
    both = left[1].is_not_null() & right[1].is_not_null()
    result = (
        pl.when(left[0] > right[0]).then(_follows(left, right)).when(left[0] < right[0]).then(_follows(right, left))
    )
    same = pl.when(both).then(True)
    return pl.when(left[0].is_not_null() & right[0].is_not_null()).then(result.otherwise(same))


def _ordered(one: pl.Expr, other: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The start, which is whatever end there is, and the end."""
    both = one.is_not_null() & other.is_not_null()
    start = pl.when(both).then(pl.min_horizontal(one, other)).otherwise(pl.coalesce(one, other))
    return start, pl.when(both).then(pl.max_horizontal(one, other))


def _follows(later: tuple[pl.Expr, pl.Expr], earlier: tuple[pl.Expr, pl.Expr]) -> pl.Expr:
    """Whether the later period begins before the earlier one ends."""
    begins = later[0] < earlier[1]
    return pl.when(earlier[1].is_not_null() & (begins | later[1].is_not_null())).then(begins)
