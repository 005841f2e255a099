"""Joins: equal keys by a generated statement, every further condition checked on the joined rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from query import fault
from query.expr.equality import is_matched_by_key, match_key
from query.expr.row_errors import declare_row_error, fail_where
from query.lower.filters import filter_rows
from query.lower.scalars import with_values
from query.lower.statements import Statements
from query.plan.row_order import is_ordered
from query.plan.traverse import columns, conjuncts
from query.plan.tree import Aggregate, Call, Field, Join, LookupJoin, Project, Relation, Scalar

declare_row_error(
    "many_rows", fault.CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression"
)

_EQUAL = "=(any, any)"
_SAME = "is not distinct from(any, any)"
_SQL_KINDS = {"inner": "INNER", "left": "LEFT"}


@dataclass(slots=True)
class Condition:
    """A join condition taken apart: pairs of equal expressions (`null_safe` tells which match NULLs), and the rest."""

    left: list[Scalar] = field(default_factory=list)
    right: list[Scalar] = field(default_factory=list)
    null_safe: list[bool] = field(default_factory=list)
    rest: list[Scalar] = field(default_factory=list)


def _split_condition(relation: Join) -> Condition:
    condition = Condition()
    left = {field.id for field in relation.left.fields}
    right = {field.id for field in relation.right.fields}
    for part in conjuncts(relation.condition) if relation.condition is not None else []:
        if not isinstance(part, Call) or part.function not in (_EQUAL, _SAME):
            condition.rest.append(part)
            continue
        a, b = part.args
        sides = [{column.id for column in columns(value)} for value in (a, b)]
        if sides[0] and sides[1] and sides[0] <= right and sides[1] <= left:
            a, b, sides = b, a, [sides[1], sides[0]]
        if not (sides[0] and sides[1] and sides[0] <= left and sides[1] <= right):
            condition.rest.append(part)
            continue
        condition.left.append(a)
        condition.right.append(b)
        condition.null_safe.append(part.function == _SAME)
    return condition


def join(relation: Join, left: pl.LazyFrame, right: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """The joined rows, their columns those of the relation."""
    condition = _split_condition(relation)
    if relation.kind == "inner":
        joined = _equal(left, right, condition, "inner", statements)
        return _select_fields(_filter_all(joined, condition.rest), relation.fields)
    if not condition.rest and condition.left:
        return _select_fields(_equal(left, right, condition, relation.kind, statements), relation.fields)
    return _outer(relation, left, right, condition, statements)


def _select_fields(frame: pl.LazyFrame, fields: tuple[Field, ...]) -> pl.LazyFrame:
    return frame.select([field.id for field in fields]) if fields else frame


def _filter_all(frame: pl.LazyFrame, rest: list[Scalar]) -> pl.LazyFrame:
    for part in rest:
        frame = filter_rows(frame, part)
    return frame


def _equal(
    left: pl.LazyFrame, right: pl.LazyFrame, condition: Condition, join_type: str, statements: Statements
) -> pl.LazyFrame:
    """The join on equal keys alone; a cross join without any."""
    if not condition.left:
        return _cross(left, right, statements)
    names = [f"k{index}" for index in range(len(condition.left))]
    left = _add_keys(left, {f"l{name}": value for value, name in zip(condition.left, names, strict=True)})
    right = _add_keys(right, {f"r{name}": value for value, name in zip(condition.right, names, strict=True)})
    if any(condition.null_safe) or join_type not in _SQL_KINDS:
        return _null_safe(left, right, names, condition, join_type, statements)
    terms = " AND ".join(f'a."l{name}" = b."r{name}"' for name in names)
    a, b = statements.name(left), statements.name(right)
    return statements.run(f"SELECT * FROM {a} AS a {_SQL_KINDS[join_type]} JOIN {b} AS b ON {terms}")


def _null_safe(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    names: list[str],
    condition: Condition,
    join_type: str,
    statements: Statements,
) -> pl.LazyFrame:
    """Joins that SQLContext cannot express: NULL equal to NULL for some keys, semi, anti and full joins."""
    statements.note(f"{join_type} join")
    safe = any(condition.null_safe)
    for name, null_safe in zip(names, condition.null_safe, strict=True):
        if safe and not null_safe:
            right = right.filter(pl.col(f"r{name}").is_not_null())
    return left.join(
        right,
        left_on=[f"l{name}" for name in names],
        right_on=[f"r{name}" for name in names],
        how=join_type,  # type: ignore[arg-type]
        nulls_equal=safe,
        coalesce=False,
    )


def _add_keys(frame: pl.LazyFrame, values: Mapping[str, Scalar]) -> pl.LazyFrame:
    """The frame with what it is joined by."""
    frame = with_values(frame, values)
    return frame.with_columns(
        match_key(pl.col(name), value.type).alias(name)
        for name, value in values.items()
        if is_matched_by_key(value.type)
    )


def _cross(left: pl.LazyFrame, right: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    statements.note("cross join")
    names = left.collect_schema().names()
    if "" in names:
        right = right.drop("", strict=False)
    return left.join(right, how="cross")


def _outer(
    relation: Join, left: pl.LazyFrame, right: pl.LazyFrame, condition: Condition, statements: Statements
) -> pl.LazyFrame:
    """Left, full, semi and anti joins with conditions beyond equality: by the numbers of the rows that match.

    A side is read twice, to match its rows and to take them, and has to have the same order both times. Polars would
    compute it anew for each, and the order of a join or a group is another every time; so it is computed once.
    """
    left, right = left.with_row_index("ln").cache(), right.with_row_index("rn")
    if relation.kind == "full":
        right = right.cache()
    matches = _filter_all(_equal(left, right, condition, "inner", statements), condition.rest)
    if relation.kind in ("semi", "anti"):
        matched = matches.select("ln").unique()
        return _select_fields(left.join(matched, on="ln", how=relation.kind), relation.fields)  # type: ignore[arg-type]
    parts = [
        _select_fields(matches, relation.fields),
        _unmatched_rows(left, relation.left, matches, "ln", relation.fields),
    ]
    if relation.kind == "full":
        parts.append(_unmatched_rows(right, relation.right, matches, "rn", relation.fields))
    return pl.concat(parts)


def _unmatched_rows(
    frame: pl.LazyFrame, side: Relation, matches: pl.LazyFrame, number: str, fields: tuple[Field, ...]
) -> pl.LazyFrame:
    """Rows of one side without a match, the other side's columns null."""
    own = {field.id for field in side.fields}
    alone = frame.join(matches.select(number).unique(), on=number, how="anti")
    return alone.select(
        pl.col(field.id) if field.id in own else pl.lit(None, dtype=field.type.polars).alias(field.id)
        for field in fields
    )


def lookup(relation: LookupJoin, left: pl.LazyFrame, right: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """Each row of the left with the rows of the right that have its keys."""
    statements.note("subquery lookup")
    names = [f"k{index}" for index in range(len(relation.keys))]
    if relation.single:
        right = _single(right, relation)
    if not names and _is_one_row(relation):
        return _select_fields(_beside(left, right, relation.right.fields), relation.fields)
    if not names:
        return _select_fields(_constant_lookup(relation, left, right), relation.fields)
    left = _add_keys(left, {f"l{name}": value for (value, _), name in zip(relation.keys, names, strict=True)})
    right = _add_keys(right, {f"r{name}": inner for (_, inner), name in zip(relation.keys, names, strict=True)})
    joined = left.join(
        right,
        left_on=[f"l{name}" for name in names],
        right_on=[f"r{name}" for name in names],
        how="left" if relation.kind == "left" else "inner",
        nulls_equal=True,
        coalesce=False,
        maintain_order="left_right" if is_ordered(relation.right) else "left",
    )
    return _select_fields(joined, relation.fields)


def _is_one_row(relation: LookupJoin) -> bool:
    """True for a subquery that gives one row, or none and NULL in its place."""
    if relation.single:
        return relation.kind == "left"
    source = relation.right
    while isinstance(source, Project):
        source = source.input
    return isinstance(source, Aggregate) and not source.keys and bool(relation.right.fields)


def _beside(left: pl.LazyFrame, right: pl.LazyFrame, fields: tuple[Field, ...]) -> pl.LazyFrame:
    """The left with the only row of the right, or with nulls if it has none.

    A cross join with one row streams. A condition over both sides must not reach it: Polars would make a nested loop
    of the two, which is several times slower, so what it is about is a column made after the join.
    """
    row = right.select(pl.col(field.id).first().alias(f"x{field.id}") for field in fields)
    joined = left.join(row, how="cross")
    return joined.with_columns(pl.coalesce(f"x{field.id}", pl.lit(None)).alias(field.id) for field in fields)


def _constant_lookup(relation: LookupJoin, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
    """A subquery that depends on nothing: the same rows for everybody."""
    right = right.drop("", strict=False)
    if relation.kind == "left":
        constant_key = pl.lit(0, dtype=pl.Int8)
        return left.with_columns(constant_key.alias("j")).join(
            right.with_columns(constant_key.alias("rj")), left_on="j", right_on="rj", how="left", coalesce=False
        )
    return left.join(right, how="cross")


def _single(right: pl.LazyFrame, relation: LookupJoin) -> pl.LazyFrame:
    """At most one row per key, or the error PostgreSQL gives for more."""
    keys = [inner for _, inner in relation.keys]
    count = pl.len().over(match_key(pl.col(key.id), key.type) for key in keys) if keys else pl.len()
    marker = fail_where(pl.lit(True), count > 1, "many_rows", None)
    counted = right.with_columns(marker.alias("one")).filter(pl.col("one"))
    return counted.select([field.id for field in relation.right.fields])
