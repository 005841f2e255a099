"""Fewer rows to sort: of each group only those that can be among its first in an order.

The first rows of every group are a common question (`DISTINCT ON`, `row_number() ... <= 3`), and sorting everything to
answer it is several times slower than finding each group's threshold first. What is kept may be more than is asked for
(all rows that tie, NaN, NULLs that sort first), never less, so the sorting afterwards decides as it would have.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.bind.traverse import conjuncts
from query.bound import Call, Column, Constant, Scalar, SortKey, Window
from query.types import FLOATS, INTEGERS, PgType

_ORDERED: Final = (*INTEGERS, *FLOATS, "numeric", "text", "date", "timestamp", "timestamptz")
_GROUPED: Final = (*_ORDERED, "bool")
_RANKS: Final = ("row_number", "rank")
_MOST: Final = 100


def can_contend(groups: Sequence[PgType], key: PgType) -> bool:
    """True for types whose thresholds Polars finds as PostgreSQL orders them."""
    return key.name in _ORDERED and all(kind.name in _GROUPED for kind in groups)


def contenders(groups: Sequence[pl.Expr], value: pl.Expr, key: SortKey, count: int) -> pl.Expr:
    """True for every row that may be among the first `count` of its group by `value`, and for some others."""
    is_float = key.value.type.name in FLOATS
    plain = value.fill_nan(None) if is_float else value
    if count == 1:
        edge, present = plain.max() if key.descending else plain.min(), plain.count()
    else:
        best = plain.top_k(count) if key.descending else plain.bottom_k(count)
        edge, present = best.min() if key.descending else best.max(), plain.count()
    if groups:
        edge, present = edge.over(groups), present.over(groups)
    kept = plain >= edge if key.descending else plain <= edge
    nulls = pl.lit(True) if key.nulls_first else present < count
    kept = kept.fill_null(False) | (value.is_null() & nulls)
    return kept | value.is_nan().fill_null(False) if is_float else kept


def rows_wanted(predicate: Scalar, column: str) -> int | None:
    """The number n for which the predicate cannot hold where the column, counted from 1, is beyond n."""
    for part in conjuncts(predicate):
        match part:
            case Call(function=name, args=(Column(id=found), Constant(value=int(count)))) if found == column:
                most = {"<=(any, any)": count, "=(any, any)": count, "<(any, any)": count - 1}.get(name)
                if most is not None and 1 <= most <= _MOST:
                    return most
    return None


def ranks_only(relation: Window) -> bool:
    """True when every call numbers rows in one order, so that a row's number depends on the rows before it alone."""
    first = relation.calls[0]
    return bool(first.order) and all(
        call.function in _RANKS and (call.partition, call.order) == (first.partition, first.order)
        for call in relation.calls
    )
