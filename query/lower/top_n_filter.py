"""Fewer rows to sort: of each group only those that can be among its first in an order.

The first rows of every group are a common question (`DISTINCT ON`, `row_number() ... <= 3`), and sorting everything to
answer it is several times slower than finding each group's threshold first. What is kept may be more than is asked for
(all rows that tie, NaN, NULLs that sort first), never less, so the sorting afterwards decides as it would have.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.pg.types import FLOATS
from query.plan.plain_predicates import is_plain
from query.plan.traverse import inputs
from query.plan.tree import (
    Column,
    Constant,
    CteRef,
    Distinct,
    Filter,
    Limit,
    Project,
    Relation,
    Scan,
    Sort,
    SortKey,
    TopRows,
    Window,
)

_PARTS: Final = 4
"""Parts of a group per row wanted: the fewer, the more often the best rows share one, and the lower the threshold."""
_EDGE, _PRESENT = "t_edge", "t_present"


def top_n_filter(
    frame: pl.LazyFrame, groups: Sequence[str], value: pl.Expr, key: SortKey, count: int, is_stored: bool
) -> pl.LazyFrame:
    """The rows that may be among the first `count` of their group by `value`, and some others.

    Stored rows are read twice, which costs less than keeping all of them until the thresholds are known.
    """
    plain = value.fill_nan(None) if key.value.type.name in FLOATS else value
    if groups and is_stored:
        thresholds = _thresholds(frame, groups, plain, key, count)
        reaches = _reaches(value, plain, pl.col(_EDGE), pl.col(_PRESENT), key, count)
        return frame.join(thresholds, on=groups, nulls_equal=True).filter(reaches).drop(_EDGE, _PRESENT)
    edge, present = _edge(plain, key, count), plain.count()
    if groups:
        edge, present = edge.over(groups), present.over(groups)
    return frame.filter(_reaches(value, plain, edge, present, key, count))


def _thresholds(frame: pl.LazyFrame, groups: Sequence[str], plain: pl.Expr, key: SortKey, count: int) -> pl.LazyFrame:
    """Per group a value that its first `count` reach, null if any may, and how many values it has.

    The best of each of several parts of a group are values of as many rows, so the group's n-th best is at least the
    n-th best of them. Extremes are found while the rows stream by; the best n of all rows are not.
    """
    best = (plain.max() if key.descending else plain.min()).alias(_EDGE)
    present = plain.count().alias(_PRESENT)
    if count == 1:
        return frame.group_by(groups).agg(best, present)
    part = pl.col("t_row").hash() % (_PARTS * count)
    parts = frame.with_row_index("t_row").group_by(*groups, part.alias("t_part")).agg(best, present)
    edge = pl.when(pl.col(_EDGE).count() >= count).then(_edge(pl.col(_EDGE), key, count))
    return parts.group_by(groups).agg(edge.alias(_EDGE), pl.col(_PRESENT).sum())


def _edge(value: pl.Expr, key: SortKey, count: int) -> pl.Expr:
    """The last value that is surely among the first `count`."""
    if count == 1:
        return value.max() if key.descending else value.min()
    best = value.top_k(count) if key.descending else value.bottom_k(count)
    return best.min() if key.descending else best.max()


def _reaches(value: pl.Expr, plain: pl.Expr, edge: pl.Expr, present: pl.Expr, key: SortKey, count: int) -> pl.Expr:
    """True for a value that is at or before the edge, and for NaN and NULLs that may be."""
    reaches = (plain >= edge if key.descending else plain <= edge) | edge.is_null()
    nulls = pl.lit(True) if key.nulls_first else present < count
    reaches = reaches.fill_null(False) | (value.is_null() & nulls)
    return reaches | value.is_nan().fill_null(False) if key.value.type.name in FLOATS else reaches


def reads_twice(relation: Relation) -> bool:
    """True for a plan of which nothing but stored rows is read in two places, for thresholds and once they are known.

    Polars would keep all of them between the two (`comm_subplan_elim`), which takes far more than reading them again.
    """
    is_once = isinstance(relation, _ONCE) or (isinstance(relation, Limit) and not relation.ties)
    below = inputs(relation).values()
    if isinstance(relation, TopRows) or (isinstance(relation, Window) and relation.first is not None):
        return is_stored(relation.input)
    return is_once and len(below) == 1 and all(map(reads_twice, below))


_ONCE: Final = (Project, Filter, Sort, Distinct, CteRef)


def is_stored(relation: Relation) -> bool:
    """True for rows that are merely read, so that reading them again gives the same ones for little."""
    match relation:
        case Scan():
            return True
        case Project():
            return all(isinstance(value, Column | Constant) for value in relation.values) and is_stored(relation.input)
        case Filter():
            return is_plain(relation.predicate) and is_stored(relation.input)
        case CteRef():
            return is_stored(relation.input)
        case _:
            return False
