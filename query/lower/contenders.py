"""Fewer rows to sort: of each group only those that can be among its first in an order.

The first rows of every group are a common question (`DISTINCT ON`, `row_number() ... <= 3`), and sorting everything to
answer it is several times slower than finding each group's threshold first. What is kept may be more than is asked for
(all rows that tie, NaN, NULLs that sort first), never less, so the sorting afterwards decides as it would have.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.bind.traverse import conjuncts
from query.bound import (
    Call,
    Column,
    Constant,
    Filter,
    Project,
    Relation,
    Scalar,
    Scan,
    Shared,
    SortKey,
    Window,
)
from query.lower.filters import is_plain
from query.types import FLOATS, INTEGERS, PgType

_ORDERED: Final = (*INTEGERS, *FLOATS, "numeric", "text", "date", "timestamp", "timestamptz")
_GROUPED: Final = (*_ORDERED, "bool")
_RANKS: Final = ("row_number", "rank")
_MOST: Final = 100


def can_contend(groups: Sequence[PgType], key: PgType) -> bool:
    """True for types whose thresholds Polars finds as PostgreSQL orders them."""
    return key.name in _ORDERED and all(kind.name in _GROUPED for kind in groups)


def contenders(
    frame: pl.LazyFrame, groups: Sequence[str], value: pl.Expr, key: SortKey, count: int, is_stored: bool
) -> pl.LazyFrame:
    """The rows that may be among the first `count` of their group by `value`, and some others.

    Stored rows are read twice, which costs less than keeping all of them until the thresholds are known.
    """
    plain = value.fill_nan(None) if key.value.type.name in FLOATS else value
    edge, present = _edge(plain, key, count), plain.count()
    if not groups:
        return frame.filter(_reaches(value, plain, edge, present, key, count))
    if not is_stored:
        return frame.filter(_reaches(value, plain, edge.over(groups), present.over(groups), key, count))
    names = frame.collect_schema().names()
    thresholds = frame.group_by(groups).agg(edge.alias("t_edge"), present.alias("t_present"))
    joined = frame.join(thresholds, on=groups, nulls_equal=True)
    wanted = _reaches(value, plain, pl.col("t_edge"), pl.col("t_present"), key, count)
    return joined.filter(wanted).select(names)


def _edge(value: pl.Expr, key: SortKey, count: int) -> pl.Expr:
    """The last value that is surely among the first `count`."""
    if count == 1:
        return value.max() if key.descending else value.min()
    best = value.top_k(count) if key.descending else value.bottom_k(count)
    return best.min() if key.descending else best.max()


def _reaches(value: pl.Expr, plain: pl.Expr, edge: pl.Expr, present: pl.Expr, key: SortKey, count: int) -> pl.Expr:
    """True for a value that is at or before the edge, and for NaN and NULLs that may be."""
    kept = plain >= edge if key.descending else plain <= edge
    nulls = pl.lit(True) if key.nulls_first else present < count
    kept = kept.fill_null(False) | (value.is_null() & nulls)
    return kept | value.is_nan().fill_null(False) if key.value.type.name in FLOATS else kept


def is_stored(relation: Relation) -> bool:
    """True for rows that are merely read, so that reading them again gives the same ones for little."""
    match relation:
        case Scan():
            return True
        case Project():
            return all(isinstance(value, Column | Constant) for value in relation.values) and is_stored(relation.input)
        case Filter():
            return is_plain(relation.predicate) and is_stored(relation.input)
        case Shared():
            return is_stored(relation.input)
        case _:
            return False


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
