"""For which rows a value is needed: on any other row an error must not be raised."""

from dataclasses import dataclass
from typing import Protocol

import polars as pl


class ColumnStore(Protocol):
    """Puts a value into a column: query.expr.common_subexpressions.CommonSubexpressions."""

    def add_column(self, value: pl.Expr) -> pl.Expr: ...


@dataclass(slots=True, eq=False)
class NeededRows:
    """The rows for which a value is needed: those of `outer` for which `holds`."""

    holds: pl.Expr
    outer: "NeededRows | None"
    subexpressions: ColumnStore | None
    _condition: pl.Expr | None = None

    def condition(self) -> pl.Expr:
        """The condition. With `subexpressions` it is a column, added on the first call."""
        if self._condition is None:
            condition = self.holds if self.outer is None else self.outer.condition() & self.holds
            self._condition = condition if self.subexpressions is None else self.subexpressions.add_column(condition)
        return self._condition
