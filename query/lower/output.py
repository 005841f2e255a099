"""The last step: the answer's columns by name, in the form in which results leave the engine.

numeric leaves as Decimal, interval, addresses and rows as PostgreSQL's text, everything else as the engine holds it.
"""

import decimal
from collections.abc import Sequence

import polars as pl

from query.expr.call_context import CallContext
from query.expr.text_output import interval_text, output_text
from query.pg.types import NUMERIC_DIGITS, TEXT, PgType
from query.plan.tree import Output


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


def answer(frame: pl.LazyFrame, outputs: Sequence[Output], names: Sequence[str]) -> pl.LazyFrame:
    """The frame with its output columns under their names."""
    return frame.select(
        outgoing(pl.col(output.field.id), output.field.type).alias(name)
        for output, name in zip(outputs, names, strict=True)
    )


def outgoing(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A column as it leaves the engine."""
    if pg_type.element is not None and pg_type.element.name in ("numeric", "interval", "inet", "cidr", "record"):
        return value.list.eval(outgoing(pl.element(), pg_type.element))
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
