"""How an aggregate is computed: columns before grouping, aggregates over them, and the result after."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Plan:
    """How one call is computed: columns before grouping, aggregates by name, and the result after grouping.

    `sql` are the aggregates as text over those columns, when SQLContext has them.
    """

    columns: tuple[pl.Expr, ...]
    aggregates: tuple[pl.Expr, ...]
    result: pl.Expr
    sql: tuple[str, ...] = ()
