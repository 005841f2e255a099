"""How an aggregate is computed: columns before grouping, aggregates over them, and the result after."""

from dataclasses import dataclass

import polars as pl

from query.expr.checked_arithmetic import scaled_quotient
from query.lower.grouping_keys import once
from query.lower.scalars import expression
from query.plan.tree import AggregateCall, Field, Scalar


@dataclass(frozen=True, slots=True)
class Plan:
    """How one call is computed: columns before grouping, aggregates by name, and the result after grouping.

    `sql` are the aggregates as text over those columns, when SQLContext has them.
    """

    columns: tuple[pl.Expr, ...]
    aggregates: tuple[pl.Expr, ...]
    result: pl.Expr
    sql: tuple[str, ...] = ()


def masked(value: Scalar, call: AggregateCall) -> pl.Expr:
    """The argument where FILTER holds, else null; aggregates that skip nulls need no more."""
    if call.where is None:
        return expression(value)
    holds = expression(call.where).fill_null(False)
    return pl.when(holds).then(expression(value, where=holds))


def argument(made: Field, call: AggregateCall, index: int = 0) -> tuple[pl.Expr, pl.Expr]:
    """The column an argument is computed as before grouping, and its values in the aggregate."""
    name = f"{made.id}a{index}"
    value = pl.col(name)
    return masked(call.args[index], call).alias(name), once(value, call.args[index].type) if call.distinct else value


def quotient(total: pl.Expr, count: pl.Expr, scale: int) -> pl.Expr:
    """total / count with `scale` more digits, rounded half away from zero; null for a count of 0."""
    return scaled_quotient(total, pl.when(count > 0).then(count.cast(pl.Int128)), scale)
