"""Top-N filters: a query that needs only the first rows of every group need not sort the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from query.pg.types import FLOATS, INTEGERS, PgType
from query.plan.traverse import conjuncts
from query.plan.tree import (
    Call,
    Column,
    Constant,
    CteRef,
    Distinct,
    Filter,
    Project,
    Relation,
    Scalar,
    Sort,
    TopRows,
    Window,
)

_ORDERED: Final = (*INTEGERS, *FLOATS, "numeric", "text", "date", "timestamp", "timestamptz")
_GROUPED: Final = (*_ORDERED, "bool")
_RANKS: Final = ("row_number", "rank")
_MOST: Final = 100


def first_of_numbered(relation: Relation) -> Relation:
    """`WHERE number <= n` over a window function that numbers rows: the window may drop rows beyond n."""
    if not isinstance(relation, Filter):
        return relation
    for field in relation.input.fields:
        most = _row_limit(relation.predicate, field.id) if field.type.name == "int8" else None
        reduced = None if most is None else _with_first(relation.input, field.id, most)
        if reduced is not None:
            return replace(relation, input=reduced)
    return relation


def _with_first(relation: Relation, column: str, most: int) -> Relation | None:
    """A relation that drops rows whose number, the column, is greater than `most`; it need not drop all of them."""
    index = [field.id for field in relation.fields].index(column)
    match relation:
        case CteRef():
            reduced = _with_first(relation.input, relation.input.fields[index].id, most)
        case Project() if all(isinstance(value, Column) for value in relation.values):
            reduced = _with_first(relation.input, getattr(relation.values[index], "id", ""), most)
        case Window() if index >= len(relation.input.fields) and _ranks_only(relation):
            return replace(relation, first=most)
        case _:
            return None
    return None if reduced is None else replace(relation, input=reduced)


def first_of_distinct(relation: Relation) -> Relation:
    """DISTINCT ON over sorted rows: sort only rows that can be the first of their group."""
    if not isinstance(relation, Distinct) or relation.keys is None or not isinstance(relation.input, Sort):
        return relation
    groups, source = relation.keys, relation.input
    keys = source.keys[len(groups) :]
    if not keys or not _has_thresholds([group.type for group in groups], keys[0].value.type):
        return relation
    if {key.value for key in source.keys[: len(groups)]} != set(groups):
        return relation
    top_rows = TopRows(source.input.fields, source.input, groups, keys[0], 1)
    return replace(relation, input=replace(source, input=top_rows))


def _has_thresholds(groups: Sequence[PgType], key: PgType) -> bool:
    """True for types whose thresholds Polars finds as PostgreSQL orders them."""
    return key.name in _ORDERED and all(pg_type.name in _GROUPED for pg_type in groups)


def _row_limit(predicate: Scalar, column: str) -> int | None:
    """The number n for which the predicate cannot hold where the column, counted from 1, is beyond n."""
    for part in conjuncts(predicate):
        match part:
            case Call(function=name, args=(Column(id=column_id), Constant(value=int(count)))) if column_id == column:
                most = {"<=(any, any)": count, "=(any, any)": count, "<(any, any)": count - 1}.get(name)
                if most is not None and 1 <= most <= _MOST:
                    return most
    return None


def _ranks_only(relation: Window) -> bool:
    """True when every call numbers rows in one order, so that a row's number depends on the rows before it alone."""
    first = relation.calls[0]
    if not first.order or not _has_thresholds([value.type for value in first.partition], first.order[0].value.type):
        return False
    return all(
        call.function in _RANKS and (call.partition, call.order) == (first.partition, first.order)
        for call in relation.calls
    )
