"""The seam between SQL and frames: a checked statement, bound and lowered, as one lazy frame. Pure, no I/O.

Tools use `prepare`, tests use `compile`. The service takes two steps, `bind_statement` and `lower_statement`, and looks
in between at what the statement needs of its datasets. `translate` names the error behind a plan that failed
while it was collected.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import polars as pl

from query.bind.expressions import bind
from query.bind.queries import bind_query
from query.bind.session_zone import at_zone, require_localised
from query.expr.random_numbers import RandomNumbers, drawing
from query.expr.row_errors import translate
from query.fault import unsupported
from query.limits import too_complex
from query.lower.constant_folding import fold_constants, is_volatile
from query.lower.output import answer, unique_names
from query.lower.relations import Lowering
from query.lower.statements import Statements
from query.lower.top_n_filter import reads_twice
from query.parameters import RandomState
from query.plan.environment import Environment, Schema, schema_of, unchanged
from query.plan.rules import apply_rules
from query.plan.tree import Output, Query, Relation
from query.syntax.parse import Statement, parse

__all__ = [
    "Compiled",
    "ResultField",
    "Table",
    "bind_statement",
    "compile",
    "lower_statement",
    "prepare",
    "schema_of",
    "translate",
]


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset's rows. `json_columns` are the text columns that hold one JSON document each; `source` is
    what EXPLAIN shows of it, as "3 files, 1048576 bytes". `row_level_security`: it hides rows and columns, so EXPLAIN
    must not show the plan of its scans."""

    frame: pl.LazyFrame
    json_columns: frozenset[str] = frozenset()
    source: str = ""
    row_level_security: bool = False


@dataclass(frozen=True, slots=True)
class ResultField:
    """A column of the answer: its name, unique in the answer, and its PostgreSQL type (`int8`, `text[]`)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query ready to be collected. The frame's columns are `fields`, in order; `steps` tell how it will run.

    `reads_twice`: what the plan has twice is to be read twice, and not kept. `random` are the numbers that it draws.
    """

    frame: pl.LazyFrame
    fields: tuple[ResultField, ...]
    steps: tuple[str, ...] = ()
    reads_twice: bool = False
    random: RandomNumbers = field(default_factory=RandomNumbers)

    @property
    def optimizations(self) -> pl.QueryOptFlags:
        """What Polars may do with the plan."""
        return pl.QueryOptFlags(comm_subplan_elim=not self.reads_twice)


def compile(sql: str, tables: Mapping[str, pl.LazyFrame], *, now: datetime) -> pl.LazyFrame:
    """The answer to `sql` over plain frames, lazily. Raises InvalidSQL, UnsupportedSQL.

    >>> from datetime import UTC
    >>> compile("SELECT 7 / 2 AS q", {}, now=datetime.now(UTC)).collect().item()
    3
    """
    return prepare(parse(sql), {name: Table(frame) for name, frame in tables.items()}, now=now).frame


def prepare(
    statement: Statement, tables: Mapping[str, Table], *, now: datetime, zone: str = "", as_text: bool = False
) -> Compiled:
    """The statement over `tables`, which hold at least its datasets; `as_text` as for `lower_statement`.

    Raises InvalidSQL, UnsupportedSQL.
    """
    schemas = {name: table_schema(tables[name]) for name in statement.datasets + statement.catalog if name in tables}
    return lower_statement(statement, bind_statement(statement, schemas, now, zone), tables, as_text=as_text)


def bind_statement(statement: Statement, schemas: Mapping[str, Schema], now: datetime, zone: str = "") -> Query:
    """The bound plan of the statement, which knows no engine. `zone` is the session's time zone as PostgreSQL names it;
    nothing: UTC. Raises as `prepare`."""
    folding, localising = at_zone(zone, fold_constants), at_zone(zone, unchanged)
    environment = Environment(schemas, now, folding, bind, bind_query, zone=zone, localise=localising)
    try:
        query = bind_query(statement.tree, environment, {}, None)
    except RecursionError as error:
        raise too_complex() from error
    if zone:
        require_localised(query.relation)
    if not query.outputs:
        raise unsupported("an answer without columns", None, "select a constant")
    outputs = tuple(Output(name, field) for name, field in query.outputs)
    return Query(query.relation, outputs, environment.timeless and not is_volatile(query.relation))


def lower_statement(
    statement: Statement,
    query: Query,
    tables: Mapping[str, Table],
    route: Sequence[str] = (),
    random: RandomState | None = None,
    as_text: bool = False,
) -> Compiled:
    """The bound statement over its tables; EXPLAIN begins with `route`, random numbers go on from `random`. `as_text`:
    numerics that may be NaN leave as texts; otherwise as decimals, where NaN is an error. Raises UnsupportedSQL."""
    statements, numbers = Statements(), RandomNumbers(random)
    frames = {name: table.frame for name, table in tables.items()}
    try:
        relation = apply_rules(query.relation)
        with drawing(numbers):
            frame = Lowering(frames, statements, {}, {}).frame(relation)
    except RecursionError as error:
        raise too_complex() from error
    names = unique_names([output.name for output in query.outputs])
    fields = tuple(
        ResultField(name, output.field.type.output_name) for name, output in zip(names, query.outputs, strict=True)
    )
    rows = answer(frame, query.outputs, names, as_text)
    compiled = Compiled(rows, fields, tuple(statements.log), reads_twice(relation), numbers)
    return explain(statement, tables, compiled, route) if statement.explain else compiled


def lower_relation(relation: Relation, tables: Mapping[str, Table]) -> pl.LazyFrame:
    """The rows of a part of a bound statement, columns by their identifiers. Raises UnsupportedSQL."""
    frames = {name: table.frame for name, table in tables.items()}
    return Lowering(frames, Statements(), {}, {}).frame(apply_rules(relation))


def table_schema(table: Table) -> Schema:
    """What the binder knows of a table that is at hand as a whole."""
    return schema_of(table.frame.collect_schema().items(), table.json_columns)


def explain(
    statement: Statement, tables: Mapping[str, Table], compiled: Compiled, route: Sequence[str] = ()
) -> Compiled:
    """What EXPLAIN answers: one row of text per line, and nothing is read."""
    row_level_security = any(tables[name].row_level_security for name in statement.datasets if name in tables)
    lines = [
        *route,
        *(f"Dataset {name}: {tables[name].source or 'all rows'}" for name in statement.datasets if name in tables),
        *(f"Reads {line}" for line in ([] if row_level_security else pushed_down(compiled.frame))),
        *(f"Step {number}: {step}" for number, step in enumerate(compiled.steps, 1)),
        f"Answer: {', '.join(f'{field.name} {field.type}' for field in compiled.fields)}",
    ]
    return Compiled(pl.LazyFrame({"QUERY PLAN": lines}), (ResultField("QUERY PLAN", "text"),), compiled.steps)


def pushed_down(frame: pl.LazyFrame) -> list[str]:
    """What the scans do themselves: the columns that they read and the conditions that reach them."""
    lines = (line.strip() for line in frame.explain(engine="streaming").splitlines())
    return [_plan_line(line) for line in lines if line.startswith(tuple(_PLAN_LINES))]


_PLAN_LINES: Final = {"PROJECT": "columns", "SELECTION:": "only rows with"}
_ALIAS: Final = re.compile(r'\.alias\("c\d+"\)')


def _plan_line(line: str) -> str:
    """A line of Polars' plan without the identifiers of columns."""
    word, _, rest = _ALIAS.sub("", line).partition(" ")
    return f"{_PLAN_LINES[word]} {rest.removesuffix(' COLUMNS').replace('/', ' of ').replace('* of', 'all')}"
