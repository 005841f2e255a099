"""What an aggregate's builder is given: the call and the values that it is over."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from query.expr.checked_arithmetic import scaled_quotient
from query.expr.equality import once
from query.expr.sort_keys import sort_key
from query.pg.types import PgType
from query.plan.tree import AggregateCall, Field, Scalar

Compute = Callable[[Scalar, pl.Expr | None], pl.Expr]


@dataclass(frozen=True, slots=True)
class AggregateInputs:
    """What an aggregate's builder gets: the call, the field it fills, and the values that the call is over.

    `compute` makes the expression of a scalar, whose errors count only where its second argument holds.
    """

    call: AggregateCall
    made: Field
    compute: Compute

    @property
    def type(self) -> PgType:
        """The type of the first argument."""
        return self.call.args[0].type

    def name(self, suffix: str) -> str:
        """A column that no other call has: the call's own identifier and the suffix."""
        return f"{self.made.id}{suffix}"

    def value(self, scalar: Scalar) -> pl.Expr:
        """A value before grouping, whatever FILTER says."""
        return self.compute(scalar, None)

    def holds(self) -> pl.Expr | None:
        """Where FILTER is true; None for a call without one."""
        return None if self.call.where is None else self.value(self.call.where).fill_null(False)

    def sort_value(self, scalar: Scalar) -> pl.Expr:
        """What a value sorts by."""
        return sort_key(self.value(scalar), scalar.type)

    def masked(self, scalar: Scalar) -> pl.Expr:
        """The value where FILTER holds, else null; aggregates that skip nulls need no more."""
        holds = self.holds()
        return self.value(scalar) if holds is None else pl.when(holds).then(self.compute(scalar, holds))

    def column(self, index: int = 0) -> pl.Expr:
        """The column that an argument is computed as before grouping."""
        return self.masked(self.call.args[index]).alias(self.name(f"a{index}"))

    def values(self, index: int = 0) -> pl.Expr:
        """The values of that column in the aggregate, each once for DISTINCT."""
        value = pl.col(self.name(f"a{index}"))
        return once(value, self.call.args[index].type) if self.call.distinct else value


def quotient(total: pl.Expr, count: pl.Expr, scale: int) -> pl.Expr:
    """total / count with `scale` more digits, rounded half away from zero; null for a count of 0."""
    return scaled_quotient(total, pl.when(count > 0).then(count.cast(pl.Int128)), scale)
