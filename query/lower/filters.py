"""Filters: what a scan may evaluate on its statistics, and what has to see rows only."""

from typing import Final

import polars as pl

from query.expr.common_subexpressions import CommonSubexpressions
from query.lower.scalars import expression
from query.plan.plain_predicates import conjunction, is_plain
from query.plan.traverse import conjuncts
from query.plan.tree import Scalar

_HOLDS: Final = "holds"


def filter_rows(frame: pl.LazyFrame, predicate: Scalar) -> pl.LazyFrame:
    """The rows for which the predicate is true.

    A scan tries its predicate on minimum and maximum values, which need not be rows (long texts are cut). A function
    that fails on such a value would fail the query, so only plain comparisons are left for the scan to see; anything
    else is a column first, which Polars does not move.
    """
    parts = conjuncts(predicate)
    pushed = [part for part in parts if is_plain(part)]
    if pushed:
        frame = frame.filter(expression(conjunction(pushed)))
    if len(pushed) == len(parts):
        return frame
    subexpressions = CommonSubexpressions()
    holds = expression(predicate, subexpressions).alias(_HOLDS)
    return subexpressions.drop_from(
        subexpressions.add_to(frame).with_columns(holds).filter(pl.col(_HOLDS)).drop(_HOLDS)
    )
