"""Rows that count as equal: DISTINCT, GROUP BY and the set operations, whose values are matched by a key.

Most values are their own key. Intervals and JSON documents are not: '1 mon' and '30 days' are equal, and so are 1 and
1.0 in JSON, so rows with them make one group, which shows the first of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from query.expr.equality import is_matched_by_key, match_key
from query.plan.tree import Column, Field, SetOperation


@dataclass(frozen=True, slots=True)
class Groups:
    """Columns to group `frame` by, and for those that are keys the value that stands for the group, by name."""

    frame: pl.LazyFrame
    names: tuple[str, ...]
    firsts: tuple[pl.Expr, ...]


def groups_of(frame: pl.LazyFrame, columns: Sequence[Field | Column]) -> Groups:
    """The frame with the keys of these columns."""
    keyed = [column for column in columns if is_matched_by_key(column.type)]
    if not keyed:
        return Groups(frame, tuple(column.id for column in columns), ())
    names = tuple(f"g{column.id}" if column in keyed else column.id for column in columns)
    helpers = [match_key(pl.col(column.id), column.type).alias(f"g{column.id}") for column in keyed]
    return Groups(frame.with_columns(helpers), names, tuple(pl.col(column.id).first() for column in keyed))


def distinct(frame: pl.LazyFrame, fields: Sequence[Field]) -> pl.LazyFrame:
    """The rows of a frame with these columns, each once."""
    groups = groups_of(frame, fields)
    if not groups.firsts:
        return frame.unique()
    unique = groups.frame.unique(groups.names, keep="first", maintain_order=True)
    return unique.select([field.id for field in fields])


def first_rows(frame: pl.LazyFrame, keys: Sequence[Column], fields: Sequence[Field]) -> pl.LazyFrame:
    """The first row of each key."""
    groups = groups_of(frame, keys)
    unique = groups.frame.unique(groups.names, keep="first", maintain_order=True)
    return unique.select([field.id for field in fields]) if groups.firsts else unique


def matched_sets(relation: SetOperation, sides: list[pl.LazyFrame]) -> pl.LazyFrame:
    """INTERSECT and EXCEPT [ALL] by counting: n copies on the left, m on the right."""
    tagged = [side.with_columns(pl.lit(side_number).alias("side")) for side_number, side in enumerate(sides)]
    groups = groups_of(pl.concat(tagged), relation.fields)
    counted = groups.frame.group_by(groups.names).agg(
        *groups.firsts,
        (pl.col("side") == 0).sum().cast(pl.Int64).alias("n"),
        (pl.col("side") == 1).sum().cast(pl.Int64).alias("m"),
    )
    if relation.operator == "intersect":
        copies = pl.min_horizontal("n", "m") if relation.all else ((pl.col("n") > 0) & (pl.col("m") > 0)).cast(pl.Int64)
    else:
        difference = (pl.col("n") - pl.col("m")).clip(0, None)
        copies = difference if relation.all else ((pl.col("n") > 0) & (pl.col("m") == 0)).cast(pl.Int64)
    pairs = counted.with_columns(copies.alias("n")).filter(pl.col("n") > 0)
    if relation.all:
        pairs = pairs.with_columns(pl.int_ranges(0, pl.col("n")).alias("n")).explode("n")
    return pairs.select([field.id for field in relation.fields])
