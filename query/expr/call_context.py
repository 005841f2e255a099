"""What a function's builder knows of its call, and how it raises an error for a row."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import polars as pl

from query.expr.needed_rows import NeededRows
from query.expr.row_errors import fail_where, row_fault
from query.fault import INVALID_TEXT
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.json_text import BadJson, NoCharacter
from query.pg.types import PgType


@dataclass(frozen=True, slots=True)
class CallContext:
    """`needed_rows` holds on rows whose value is needed; None when all are."""

    types: tuple[PgType, ...]
    result: PgType
    position: int | None = None
    needed_rows: NeededRows | None = None
    constants: tuple[object | None, ...] = ()

    def swapped(self) -> "CallContext":
        """The same call with the arguments the other way round."""
        return replace(self, types=self.types[::-1], constants=self.constants[::-1])

    def constant(self, index: int) -> object | None:
        """An argument's value if it is a constant."""
        return self.constants[index] if index < len(self.constants) else None

    def fail_where(self, value: pl.Expr, bad: pl.Expr, fault: str) -> pl.Expr:
        """`value`, with an error if `bad` holds on a needed row."""
        return fail_where(
            value, bad if self.needed_rows is None else bad & self.needed_rows.condition(), fault, self.position
        )

    def nullify_unneeded(self, value: pl.Expr) -> pl.Expr:
        """`value`, null where it is not needed."""
        return value if self.needed_rows is None else pl.when(self.needed_rows.condition()).then(value)

    def rowwise(self, function: Callable[..., object], *args: pl.Expr) -> pl.Expr:
        """`function` over each row; null if an argument is. Equal arguments of a batch are computed once."""
        dtype, position = self.result.polars, self.position

        def over(series: pl.Series) -> pl.Series:
            if series.null_count() == len(series):
                return pl.Series(series.name, [None], dtype=dtype).new_from_index(0, len(series))
            if series.dtype == pl.String():
                return _over_texts(function, series, dtype, position)
            rows = series.to_list() if len(args) == 1 else series.struct.fields and _tuples(series)
            results = _apply(function, rows, position, _key_of(series.dtype))
            return pl.Series(series.name, results, dtype=dtype, strict=False)

        source = args[0] if len(args) == 1 else pl.struct(arg.alias(f"a{i}") for i, arg in enumerate(args))
        return self.nullify_unneeded(source).map_batches(over, return_dtype=dtype, is_elementwise=True)


def _over_texts(
    function: Callable[..., object], texts: pl.Series, dtype: pl.DataType, position: int | None
) -> pl.Series:
    """`function` over each distinct text, in the order in which they appear, so that the first bad one is named."""
    distinct = texts.unique(maintain_order=True)
    results = pl.Series(texts.name, _apply(function, distinct.to_list(), position), dtype=dtype, strict=False)
    if len(distinct) == len(texts):
        return results
    return results.gather(_positions(texts, distinct))


def _positions(texts: pl.Series, distinct: pl.Series) -> pl.Series:
    """For each text, where it stands among the distinct ones."""
    numbered = pl.DataFrame({"text": distinct}).with_row_index("index")
    distinct_texts = pl.DataFrame({"text": texts}).join(
        numbered, on="text", how="left", nulls_equal=True, maintain_order="left"
    )
    return distinct_texts.get_column("index")


def _tuples(series: pl.Series) -> list[tuple[object, ...] | None]:
    return list(series.struct.unnest().iter_rows())


def _key_of(dtype: pl.DataType) -> Callable[[object], object]:
    """The key under which a row's result is kept: the row itself, but 0.0, -0.0 and false must differ."""
    dtypes = [field.dtype for field in dtype.fields] if isinstance(dtype, pl.Struct) else [dtype]
    return repr if any(one.is_float() or one.is_nested() for one in dtypes) else lambda row: row


def _apply(
    function: Callable[..., object],
    rows: Iterable[object],
    position: int | None,
    key_of: Callable[[object], object] = lambda row: row,
) -> list[object]:
    computed: dict[object, object] = {}
    results: list[object] = []
    for row in rows:
        values = row if isinstance(row, tuple) else (row,)
        if any(value is None for value in values):
            results.append(None)
            continue
        try:
            key = key_of(row)
            if key not in computed:
                computed[key] = function(*values)
            results.append(computed[key])
        except NoCharacter as error:
            raise row_fault("22P05", "unsupported Unicode escape sequence", position) from error
        except BadJson as error:
            raise row_fault(INVALID_TEXT, "invalid input syntax for type json", position) from error
        except BadLiteral as error:
            raise row_fault(error.sqlstate, error.message, position) from error
        except UnsupportedLiteral as error:
            raise row_fault("0A000", f"{error} is not supported", position) from error
    return results
