"""The last step: the answer's columns by name, in the form in which results leave the engine.

numeric leaves as Decimal, interval, addresses and rows as PostgreSQL's text, everything else as the engine holds it.
"""

import decimal
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error, fail_where
from query.expr.special_numbers import is_special, names, ordinary
from query.expr.text_output import interval_text, output_text
from query.pg.types import NUMERIC_DIGITS, TEXT, PgType, leaf
from query.plan.tree import Output

declare_row_error(
    "nan_decimal", fault.FEATURE_NOT_SUPPORTED, "NaN or infinity as numeric in columns of decimals is not supported"
)


def unique_names(names: Sequence[str]) -> list[str]:
    """Duplicate names get `_1`, `_2` (api.md section 5).

    >>> unique_names(["a", "a", "a_1"])
    ['a', 'a_2', 'a_1']
    """
    reserved, result = set(names), []
    used_names: set[str] = set()
    for name in names:
        unique, number = name, 0
        while unique in used_names or (number and unique in reserved):
            number += 1
            unique = f"{name}_{number}"
        used_names.add(unique)
        result.append(unique)
    return result


def answer(
    frame: pl.LazyFrame, outputs: Sequence[Output], column_names: Sequence[str], as_text: bool = False
) -> pl.LazyFrame:
    """The frame with its output columns under their names; `as_text` as for `outgoing`."""
    return frame.select(
        outgoing(pl.col(output.field.id), output.field.type, as_text).alias(name)
        for output, name in zip(outputs, column_names, strict=True)
    )


def outgoing(value: pl.Expr, pg_type: PgType, as_text: bool = False) -> pl.Expr:
    """A column as it leaves the engine. `as_text`: numerics that may be NaN as texts; otherwise NaN is an error."""
    if pg_type.element is not None and leaf(pg_type).name in ("numeric", "interval", "inet", "cidr", "record"):
        return value.list.eval(outgoing(pl.element(), pg_type.element, as_text))
    if pg_type.special and as_text:
        text = outgoing(ordinary(value), replace(pg_type, special=False)).cast(pl.String)
        return pl.coalesce(names(value), text if pg_type.exact else _without_zeros(text))
    if pg_type.special:
        value = ordinary(fail_where(value, is_special(value), "nan_decimal", None))
    if pg_type.name == "numeric":
        unit = decimal.Decimal(1).scaleb(-pg_type.scale)
        decimal_type = pl.Decimal(NUMERIC_DIGITS, pg_type.scale)
        whole = value.cast(pl.Decimal(NUMERIC_DIGITS, 0))
        return whole * pl.lit(unit, dtype=decimal_type) if pg_type.scale else whole
    if pg_type.name == "interval":
        return interval_text(CallContext((pg_type,), TEXT), value)
    if pg_type.name in ("inet", "cidr", "record"):
        return output_text(CallContext((pg_type,), TEXT), value, pg_type)
    return value


def _without_zeros(text: pl.Expr) -> pl.Expr:
    """A number with the digits after the point that it needs, as a float has them that becomes a numeric."""
    return pl.when(text.str.contains(".", literal=True)).then(text.str.replace(r"\.?0+$", "")).otherwise(text)
