"""For which rows a value is needed: an error on any other row is none."""

from dataclasses import dataclass
from typing import Protocol

import polars as pl


class Keeper(Protocol):
    """What puts a value into a column: query.expr.common_subexpressions.Stage."""

    def keep(self, value: pl.Expr) -> pl.Expr: ...


@dataclass(slots=True, eq=False)
class Guard:
    """The rows for which a value is needed: those of `outer` for which `holds`."""

    holds: pl.Expr
    outer: "Guard | None"
    stage: "Keeper | None"
    _rows: pl.Expr | None = None

    def rows(self) -> pl.Expr:
        """The condition. With a stage it is a column, made when it is asked for."""
        if self._rows is None:
            rows = self.holds if self.outer is None else self.outer.rows() & self.holds
            self._rows = rows if self.stage is None else self.stage.keep(rows)
        return self._rows
