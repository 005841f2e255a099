"""The seam between SQL and frames: a checked statement, bound and lowered, as one lazy frame. Pure, no I/O.

`prepare` is what the service uses, `compile` what tests and tools use; `translate` names the error behind a plan that
failed while it was collected.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from query.bind.environment import Environment, Schema
from query.bind.expressions import bind
from query.bind.queries import bind_query
from query.bound import Output, Query
from query.folding import fold_constants
from query.limits import too_complex
from query.lower.guards import translate
from query.lower.output import answer, unique_names
from query.lower.relations import Lowering
from query.lower.statements import Statements
from query.parse import Statement, parse
from query.types import JSONB, TEXT, from_polars

__all__ = ["Compiled", "ResultField", "Table", "compile", "prepare", "translate"]


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset's rows. `json_columns` are the text columns that hold one JSON document each; `source` says for
    EXPLAIN what is read, as "3 files, 1048576 bytes"."""

    frame: pl.LazyFrame
    json_columns: frozenset[str] = frozenset()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ResultField:
    """A column of the answer: its name, unique in the answer, and its PostgreSQL type (`int8`, `text[]`)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query ready to be collected. The frame's columns are `fields`, in order; `steps` tell how it will run."""

    frame: pl.LazyFrame
    fields: tuple[ResultField, ...]
    steps: tuple[str, ...] = ()


def compile(sql: str, tables: Mapping[str, pl.LazyFrame], *, now: datetime) -> pl.LazyFrame:
    """The answer to `sql` over plain frames, lazily. Raises InvalidSQL, UnsupportedSQL.

    >>> compile("SELECT 7 / 2 AS q", {}, now=datetime.now(UTC)).collect().item()
    3
    """
    return prepare(parse(sql), {name: Table(frame) for name, frame in tables.items()}, now=now).frame


def prepare(statement: Statement, tables: Mapping[str, Table], *, now: datetime) -> Compiled:
    """The statement over `tables`, which hold at least its datasets. Raises InvalidSQL, UnsupportedSQL."""
    try:
        query = bound(statement, tables, now)
        statements = Statements()
        frames = {name: table.frame for name, table in tables.items()}
        frame = Lowering(frames, statements, {}, {}).frame(query.relation)
    except RecursionError as error:
        raise too_complex() from error
    names = unique_names([output.name for output in query.outputs])
    fields = tuple(
        ResultField(name, output.field.type.output_name) for name, output in zip(names, query.outputs, strict=True)
    )
    compiled = Compiled(answer(frame, query.outputs, names), fields, tuple(statements.log))
    return explained(statement, tables, compiled) if statement.explain else compiled


def explained(statement: Statement, tables: Mapping[str, Table], compiled: Compiled) -> Compiled:
    """What EXPLAIN answers: one row of text per line, and nothing is read."""
    lines = [
        *(f"Dataset {name}: {tables[name].source or 'all rows'}" for name in statement.datasets if name in tables),
        *(f"Reads {line}" for line in pushed_down(compiled.frame)),
        *(f"Step {number}: {step}" for number, step in enumerate(compiled.steps, 1)),
        f"Answer: {', '.join(f'{field.name} {field.type}' for field in compiled.fields)}",
    ]
    return Compiled(pl.LazyFrame({"QUERY PLAN": lines}), (ResultField("QUERY PLAN", "text"),), compiled.steps)


def pushed_down(frame: pl.LazyFrame) -> list[str]:
    """What the scans do themselves: the columns and predicates that reach them."""
    wanted = ("PROJECT", "SELECTION")
    return [line.strip() for line in frame.explain().splitlines() if line.strip().startswith(wanted)]


def bound(statement: Statement, tables: Mapping[str, Table], now: datetime) -> Query:
    """The engine-neutral form of the statement: what another engine would be given."""
    schemas = {name: _schema(tables[name]) for name in statement.datasets if name in tables}
    environment = Environment(schemas, now, fold_constants, bind, bind_query)
    query = bind_query(statement.tree, environment, {}, None)
    return Query(query.relation, tuple(Output(name, field) for name, field in query.outputs))


def _schema(table: Table) -> Schema:
    columns = []
    for name, dtype in table.frame.collect_schema().items():
        kind = JSONB if name in table.json_columns else from_polars(dtype)
        columns.append((name, kind if kind is not None else TEXT))
    return Schema(tuple(columns))
