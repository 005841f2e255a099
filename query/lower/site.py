"""What a function's builder gets to know about the place of its call, and how it can fail there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from query.bind.literals import BadLiteral, UnsupportedLiteral
from query.fault import INVALID_TEXT
from query.jsontext import BadJson
from query.lower.guards import row_fault, trap
from query.lower.stage import Guard
from query.types import PgType


@dataclass(frozen=True, slots=True)
class CallSite:
    """Implements functions.registry.Site. `guard` holds on rows whose value is needed; None when all are."""

    types: tuple[PgType, ...]
    result: PgType
    position: int | None = None
    guard: Guard | None = None

    def trap(self, value: pl.Expr, bad: pl.Expr, fault: str) -> pl.Expr:
        """`value`, with an error if `bad` holds on a needed row."""
        return trap(value, bad if self.guard is None else bad & self.guard.rows(), fault, self.position)

    def needed(self, value: pl.Expr) -> pl.Expr:
        """`value`, null where it is not needed."""
        return value if self.guard is None else pl.when(self.guard.rows()).then(value)

    def rowwise(self, function: Callable[..., object], *args: pl.Expr) -> pl.Expr:
        """`function` over each row; null if an argument is. Equal arguments of a batch are computed once."""
        dtype, position = self.result.polars, self.position

        def over(series: pl.Series) -> pl.Series:
            if series.null_count() == len(series):
                return pl.Series(series.name, [None], dtype=dtype).new_from_index(0, len(series))
            rows = series.to_list() if len(args) == 1 else series.struct.fields and _tuples(series)
            return pl.Series(series.name, _applied(function, rows, position), dtype=dtype, strict=False)

        source = args[0] if len(args) == 1 else pl.struct(arg.alias(f"a{i}") for i, arg in enumerate(args))
        return self.needed(source).map_batches(over, return_dtype=dtype, is_elementwise=True)


def _tuples(series: pl.Series) -> list[tuple[object, ...] | None]:
    return list(series.struct.unnest().iter_rows())


def _applied(function: Callable[..., object], rows: Iterable[object], position: int | None) -> list[object]:
    known: dict[object, object] = {}
    results: list[object] = []
    for row in rows:
        values = row if isinstance(row, tuple) else (row,)
        if any(value is None for value in values):
            results.append(None)
            continue
        try:
            if row not in known:
                known[row] = function(*values)
            results.append(known[row])
        except TypeError:
            results.append(function(*values))
        except BadJson as error:
            raise row_fault(INVALID_TEXT, "invalid input syntax for type json", position) from error
        except BadLiteral as error:
            raise row_fault(error.sqlstate, error.message, position) from error
        except UnsupportedLiteral as error:
            raise row_fault("0A000", f"{error} is not supported", position) from error
    return results
