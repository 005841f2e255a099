"""Comparison operators and the n-ary GREATEST and LEAST, on values that are already of one type."""

import operator
from collections.abc import Callable
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.expr.sort_keys import sort_key
from query.functions.registry import define
from query.pg.types import is_keyed

_FAMILY = "Comparison"


_OPERATIONS: Final[dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(context: CallContext, symbol: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """`left symbol right`, never with a constant on the left: against a column that is the same on all rows of a batch
    Polars 2.1 would give one row for the batch (`pl.lit(2) < pl.col("a")`, select)."""
    if _is_constant(context, left) and not _is_constant(context, right):
        left, right, symbol = right, left, _FLIPPED.get(symbol, symbol)
    return _OPERATIONS[symbol](*_keys(context, left, right))


def _is_constant(context: CallContext, value: pl.Expr) -> bool:
    """True for a literal; one of a type that compares by a key is an expression."""
    return value.meta.is_literal() or (is_keyed(context.types[0]) and not value.meta.root_names())


def _keys(context: CallContext, *values: pl.Expr) -> list[pl.Expr]:
    """The keys that the values compare by."""
    return [sort_key(value, context.types[0]) for value in values]


def _comparison(symbol: str, summary: str) -> None:
    @define(f"{symbol}(any, any) -> bool", summary, family=_FAMILY)
    def build(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
        return compare(context, symbol, left, right)


_comparison("=", "Equal.")
_comparison("<>", "Not equal; `!=` is the same.")
_comparison("<", "Less than.")
_comparison("<=", "Less than or equal.")
_comparison(">", "Greater than.")
_comparison(">=", "Greater than or equal.")


@define("is not distinct from(any, any) -> bool", "Equal, NULL counting as a value.", family=_FAMILY, strict=False)
def not_distinct(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    a, b = _keys(context, right, left) if _is_constant(context, left) else _keys(context, left, right)
    either = a.is_null() | b.is_null()
    return pl.when(either).then(a.is_null() & b.is_null()).otherwise(a == b)


@define("greatest(any...) -> anyelement", "The greatest argument that is not NULL.", family=_FAMILY, strict=False)
def greatest(context: CallContext, *values: pl.Expr) -> pl.Expr:
    return _extreme(context, values, largest=True)


@define("least(any...) -> anyelement", "The smallest argument that is not NULL.", family=_FAMILY, strict=False)
def least(context: CallContext, *values: pl.Expr) -> pl.Expr:
    return _extreme(context, values, largest=False)


def _extreme(context: CallContext, values: tuple[pl.Expr, ...], largest: bool) -> pl.Expr:
    """Polars' own horizontal extremes know neither intervals nor that NaN is the greatest."""
    result = values[0]
    for value in values[1:]:
        better = compare(context, ">" if largest else "<", value, result)
        take = better.fill_null(False) | result.is_null()
        result = pl.when(take).then(value).otherwise(result)
    return result
