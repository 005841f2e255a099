"""Which statements can be followed: one dataset, its rows filtered and projected one by one. Pure.

The bound plan decides, not the text, so whatever way of writing it PostgreSQL has counts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import polars as pl

from columns import POLARS_TYPES, ColumnType
from errors import InvalidSQL, UnsupportedSQL
from query import engine
from query.engine import Compiled, Table
from query.fault import SYNTAX_ERROR, invalid, unsupported
from query.plan.environment import Schema, schema_of
from query.plan.traverse import columns
from query.plan.tree import (
    Aggregate,
    CteRef,
    Distinct,
    Filter,
    Join,
    Limit,
    LookupJoin,
    Project,
    Query,
    Recursive,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Unnest,
    Values,
    Window,
)
from query.syntax.parse import Statement, parse
from query.tail.messages import View

# A tail process serves many readers, and parses for one at a time.
LONGEST_CHARACTERS: Final = 20_000
_REFUSED: Final[Mapping[type[Relation], str]] = {
    Limit: "LIMIT or OFFSET",
    Sort: "ORDER BY",
    Distinct: "DISTINCT",
    Aggregate: "an aggregate or GROUP BY",
    Window: "a window function",
    Join: "a join or a subquery",
    LookupJoin: "a subquery",
    SetOperation: "UNION, INTERSECT or EXCEPT",
    Recursive: "WITH RECURSIVE",
    Unnest: "a function that gives several rows",
    Values: "VALUES",
}
_HINT: Final = "a live tail filters and projects the rows of one dataset; ask /api/v1/query for the rest"


def inspect(sql: str) -> Statement:
    """The parsed statement, of exactly one dataset. Raises InvalidSQL, UnsupportedSQL."""
    if len(sql) > LONGEST_CHARACTERS:
        message = f"the statement has {len(sql)} characters; the limit of a live tail is {LONGEST_CHARACTERS}"
        raise invalid("54000", message)
    statement = parse(sql)
    if statement.explain:
        raise unsupported("EXPLAIN in a live tail", 1, _HINT)
    if statement.catalog:
        raise unsupported(f"{statement.catalog[0]} in a live tail", None, _HINT)
    if len(statement.datasets) != 1:
        raise _not_one(statement)
    return statement


def _not_one(statement: Statement) -> InvalidSQL | UnsupportedSQL:
    if statement.datasets:
        return unsupported("a live tail of several datasets", None, _HINT)
    return invalid(SYNTAX_ERROR, "a live tail needs FROM and the name of a dataset", None, _HINT)


@dataclass(frozen=True, slots=True)
class Followed:
    """A statement over a view. `needed`: the stored columns that it reads, at least one, and their types."""

    statement: Statement
    query: Query
    view: View
    needed: Mapping[str, pl.DataType]

    def over(self, rows: pl.DataFrame) -> Compiled:
        """The statement over some rows, which have the needed columns."""
        return engine.lower_statement(self.statement, self.query, {self.view.dataset: Table(rows.lazy())})


def follow(sql: str, view: View, now: datetime) -> Followed:
    """The statement bound to the view. Raises InvalidSQL, UnsupportedSQL, naming what a tail cannot do."""
    statement = inspect(sql)
    query = engine.bind_statement(statement, {view.dataset: _schema(view)}, now)
    used = {column.id for column in columns(query.relation)}
    relation, scan = _narrow(query.relation, used)
    types = {column.stored: POLARS_TYPES[column.type] for column in view.schema.columns}
    return Followed(statement, replace(query, relation=relation), view, {name: types[name] for name in scan.names})


def _narrow(relation: Relation, used: Collection[str]) -> tuple[Relation, Scan]:
    """The plan, whose scan then has the used columns only, and the scan. Raises UnsupportedSQL."""
    if isinstance(relation, Scan):
        pairs = list(zip(relation.names, relation.fields, strict=True))
        kept = [(name, field) for name, field in pairs if field.id in used] or pairs[:1]
        names, fields = zip(*kept, strict=True)
        narrowed = replace(relation, names=names, fields=fields)
        return narrowed, narrowed
    if not isinstance(relation, Filter | Project | CteRef):
        raise unsupported(f"{_REFUSED.get(type(relation), type(relation).__name__)} in a live tail", None, _HINT)
    # What a WITH entry gives has other identifiers above it.
    renamed = {field.id for field in relation.input.fields} if isinstance(relation, CteRef) else set()
    below, scan = _narrow(relation.input, {*used, *renamed})
    return replace(relation, input=below), scan


def _schema(view: View) -> Schema:
    shown = [column for column in view.schema.columns if column.stored in view.visible]
    json_names = {column.name for column in shown if column.type is ColumnType.JSON}
    typed = schema_of([(column.name, POLARS_TYPES[column.type]) for column in shown], json_names)
    return Schema(typed.columns, tuple(column.stored for column in shown))
