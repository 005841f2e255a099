"""The inputs of an aggregate's builder: the call and the expressions of its values."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from query.expr.checked_arithmetic import LARGEST
from query.expr.equality import once
from query.expr.quotient_digits import quotient_as_shown
from query.expr.row_errors import fail_where
from query.expr.sort_keys import sort_key
from query.pg.types import NUMERIC, NUMERIC_DIGITS, PgType
from query.plan.tree import AggregateCall, Field, Scalar

Compute = Callable[[Scalar, pl.Expr | None], pl.Expr]


@dataclass(frozen=True, slots=True)
class AggregateInputs:
    """The inputs of an aggregate's builder: the call, its output field, and the expressions of its values.

    `compute` gives the expression of a scalar, which raises errors only where its second argument holds.
    """

    call: AggregateCall
    output: Field
    compute: Compute

    @property
    def type(self) -> PgType:
        """The type of the first argument."""
        return self.call.args[0].type

    def name(self, suffix: str) -> str:
        """A column that no other call has: the call's own identifier and the suffix."""
        return f"{self.output.id}{suffix}"

    def value(self, scalar: Scalar) -> pl.Expr:
        """A value before grouping, whatever FILTER says."""
        return self.compute(scalar, None)

    def holds(self) -> pl.Expr | None:
        """True where FILTER is true; None for a call without one."""
        return None if self.call.where is None else self.value(self.call.where).fill_null(False)

    def sort_value(self, scalar: Scalar) -> pl.Expr:
        """The sort key of a value."""
        return sort_key(self.value(scalar), scalar.type)

    def mask(self, scalar: Scalar) -> pl.Expr:
        """The value where FILTER holds, else null; aggregates that skip nulls need no more."""
        holds = self.holds()
        return self.value(scalar) if holds is None else pl.when(holds).then(self.compute(scalar, holds))

    def column(self, index: int = 0) -> pl.Expr:
        """The argument as a named column, which is computed before grouping."""
        return self.mask(self.call.args[index]).alias(self.name(f"a{index}"))

    def values(self, index: int = 0) -> pl.Expr:
        """The values of that column in the aggregate, each once for DISTINCT."""
        value = pl.col(self.name(f"a{index}"))
        return once(value, self.call.args[index].type) if self.call.distinct else value


def mean(
    total: pl.Expr, count: pl.Expr, summed: PgType, scale: int, size: pl.Expr | None = None, position: int | None = None
) -> pl.Expr:
    """total / count held with `scale` digits, rounded to those that PostgreSQL shows; null for a count of 0. `size` is
    about the total where that may have wrapped around. Fails on a row whose mean has more digits than a number has."""
    divisor = pl.when(count > 0).then(count.cast(pl.Int128))
    size = (total.cast(pl.Float64) if size is None else size).abs()
    beyond = (size / count.cast(pl.Float64) >= 10.0 ** (NUMERIC_DIGITS - scale + summed.scale)) | (size >= LARGEST)
    average = quotient_as_shown(total, divisor, (summed, NUMERIC), scale)
    return fail_where(average, (count > 0) & beyond, "numeric_range", position)
