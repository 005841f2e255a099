"""Runs what a session asks: queries over datasets by the service's own code, and questions about the catalogue.

Authorization, row-level security, limits, cancelling and counting are those of POST /api/v1/query.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from auth.identity import Identity
from auth.privileges import Action, may, require
from columns import ColumnType
from errors import WeirError
from pgwire import binary_values
from pgwire.catalogue.backend import Reply, Values
from pgwire.catalogue.content import Tables
from pgwire.catalogue.databases import Databases, Viewer
from pgwire.catalogue.rewriting import rewritten
from pgwire.catalogue.visible import VisibleTables
from pgwire.errors import PgError, from_weir
from pgwire.messages import Column
from pgwire.portal import Answer
from pgwire.qualified_names import without_database
from pgwire.rows import HeldRows, QueryRows
from pgwire.statement import Description, Parsed, PreparedStatement
from pgwire.time_zone import engine_name
from query.parameters import Open, Parameter, RandomState, Typed
from query.pg.oids import oid, size
from query.process.result import Result
from query.question import Question
from query.results.options import Copy, Format, Options
from query.timerange import TimeRange
from web.questions import name_of
from web.services import Services
from web.sources import Sources

LISTED: Final = ("information_schema.columns",)
# PostgreSQL's type of each of ours, by the name that pg_type has for it.
TYPES: Final = {
    ColumnType.BOOL: "bool",
    ColumnType.INT64: "int8",
    ColumnType.FLOAT64: "float8",
    ColumnType.UTF8: "text",
    ColumnType.JSON: "jsonb",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP_US: "timestamptz",
    ColumnType.TIMESTAMP_NS: "timestamptz",
    ColumnType.LIST_BOOL: "_bool",
    ColumnType.LIST_INT64: "_int8",
    ColumnType.LIST_FLOAT64: "_float8",
    ColumnType.LIST_UTF8: "_text",
}
ALL_TIME: Final = TimeRange(None, None)
COLUMNS: Final = """
SELECT t.table_name AS t, c.column_name AS c, c.udt_name AS u FROM information_schema.tables AS t
LEFT JOIN information_schema.columns AS c ON c.table_name = t.table_name ORDER BY t.table_name, c.ordinal_position
"""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, in which session: `tag` begins the ids of its queries, `process` is what it is known by.

    `time_zone` as SHOW gives it. `random`: where its random numbers go on, if it has set a seed.
    """

    identity: Identity
    tag: str
    process: int
    database: str
    search_path: str = "public"
    timeout_seconds: float | None = None
    time_zone: str = "UTC"
    now_ns: int | None = None
    random: RandomState | None = None


class Execution:
    """Runs statements for the sessions of one worker."""

    def __init__(self, services: Services, databases: Databases) -> None:
        self._services, self._databases = services, databases
        self._visible = VisibleTables()

    # --- datasets ----------------------------------------------------------------------------------------------

    def describe_query(self, prepared: PreparedStatement, asker: Asker, is_gone: Callable[[], bool]) -> Description:
        """Raises PgError."""
        types = prepared.parameter_types()
        parameters = tuple(Open(binary_values.engine_type(each)) for each in types)
        result = self._run(prepared.statement, parameters, Options(Format.DESCRIPTION), asker, is_gone)
        inferred = result.note.get("parameters", {})
        known = tuple(each or oid(str(inferred.get(str(number), "text"))) for number, each in enumerate(types, 1))
        result.close()
        return Description(known, _columns(result))

    def run_query(
        self, prepared: PreparedStatement, values: Values, asker: Asker, is_gone: Callable[[], bool]
    ) -> Answer:
        """Raises PgError."""
        options = Options(Format.DATA_ROWS, binary=values.results)
        result = self._run(prepared.statement, _parameters(prepared, values), options, asker, is_gone)
        columns = _columns(result)
        if len(values.results) not in (0, 1, len(columns)):
            result.close()
            raise PgError("08P01", f"bind message has {len(values.results)} result formats for {len(columns)} columns")
        is_explain = prepared.statement.kind == "ExplainStmt"
        return Answer("EXPLAIN" if is_explain else "SELECT", columns, QueryRows(result), is_counted=not is_explain)

    def copy_query(self, statement: Parsed, copy: Copy, asker: Asker, is_gone: Callable[[], bool]) -> Answer:
        """Raises PgError."""
        result = self._run(statement, (), Options(Format.COPY, copy=copy), asker, is_gone)
        return Answer("COPY", _columns(result), QueryRows(result), is_counted=True)

    def _run(
        self,
        statement: Parsed,
        parameters: tuple[Parameter, ...],
        options: Options,
        asker: Asker,
        is_gone: Callable[[], bool],
    ) -> Result:
        identity = asker.identity
        try:
            require(identity, Action.QUERY)
            question = Question(
                tenant=identity.tenant,
                identity=name_of(identity),
                sql=without_database(statement.sql, statement.node, asker.database, statement.tree_offset),
                now_ns=asker.now_ns or time.time_ns(),
                parameters=parameters,
                options=options,
                privileged=may(identity, Action.ADMINISTER),
                id_prefix=asker.tag,
                timeout_seconds=asker.timeout_seconds,
                zone=engine_name(asker.time_zone),
                random=asker.random,
            )
            needs_range = self._services.settings.query_time_range == "required"
            sources = Sources(self._services.storage, identity, ALL_TIME, None, needs_range=needs_range)
            result = self._services.queries.run(question, sources.resolve, is_gone, sources.listed)
        except WeirError as error:
            self._services.meters.refused(error.code)
            raise from_weir(error, statement.offset) from error
        self._services.meters.queried(result.elapsed_seconds)
        return result

    # --- the catalogue -----------------------------------------------------------------------------------------

    def describe_catalogue(self, prepared: PreparedStatement, asker: Asker) -> Description:
        """Raises PgError."""
        sql = _rewritten(prepared.statement, asker.database)
        reply = self._ask(asker, lambda backend: backend.describe(sql, prepared.types))
        return Description(reply.parameters, _described(reply), reply.description)

    def run_catalogue(self, prepared: PreparedStatement, values: Values, asker: Asker) -> Answer:
        """Raises PgError."""
        sql = _rewritten(prepared.statement, asker.database)
        reply = self._ask(asker, lambda backend: backend.run(sql, prepared.types, values))
        return Answer("SELECT", _described(reply), HeldRows(reply.rows), reply.description, is_counted=True)

    def _ask(self, asker: Asker, use: Callable[..., Reply]) -> Reply:
        rights = _rights(asker.identity)
        session = asker.database, asker.process, asker.search_path, asker.time_zone, asker.tag, asker.timeout_seconds
        viewer = Viewer(rights, asker.identity.name, *session)
        tables = self._visible.of(asker.identity.tenant, rights, partial(self._tables, asker))
        return self._databases.run(viewer, tables, use)

    def _tables(self, asker: Asker) -> tuple[Tables, bool]:
        """What the asker may see now, as information_schema tells it over HTTP, and whether columns alone decide it."""
        listed = Sources(self._services.storage, asker.identity, ALL_TIME, None).listed(LISTED)
        if any(each.narrowed is not None for each in listed):
            # Which columns narrowed readers see, their rows decide.
            return self._ask_for_tables(replace(asker, timeout_seconds=None)), False
        tables = {each.name: [(column.name, TYPES[column.type]) for column in each.columns] for each in listed}
        return Tables(tables), True

    def _ask_for_tables(self, asker: Asker) -> Tables:
        options = Options(Format.JSON)
        content = b"".join(self._run(Parsed(COLUMNS, "", {}), (), options, asker, lambda: False))
        tables: dict[str, list[tuple[str, str]]] = {}
        for row in json.loads(content):
            columns = tables.setdefault(row["t"], [])
            if row["c"] is not None:
                columns.append((row["c"], row["u"]))
        return Tables(tables)


def _rights(identity: Identity) -> str:
    """The same for identities that may see the same."""
    return f"{identity.tenant} {sorted(map(repr, set(identity.entries)))}"


def _rewritten(statement: Parsed, database: str) -> str:
    """Blanks for the name of the database move nothing that the tree has a place of."""
    sql = without_database(statement.sql, statement.node, database, statement.tree_offset)
    return rewritten(sql, statement.node, statement.tree_offset)


def _columns(result: Result) -> tuple[Column, ...]:
    return tuple(Column(name, oid(kind), size(kind)) for name, kind in result.note.get("fields", ()))


def _described(reply: Reply) -> tuple[Column, ...] | None:
    """As many columns as the catalogue describes; clients get its own description of them."""
    if reply.description is None:
        return None
    return (Column("", 0, 0),) * int.from_bytes(reply.description[:2])


def _parameters(prepared: PreparedStatement, values: Values) -> tuple[Parameter, ...]:
    types = prepared.parameter_types()
    if len(types) != len(values.values):
        message = f"bind message supplies {len(values.values)} parameters, but the statement requires {len(types)}"
        raise PgError("08P01", message)
    binary = values.binary * len(types) if len(values.binary) == 1 else values.binary or (False,) * len(types)
    if len(binary) != len(types):
        raise PgError("08P01", f"bind message has {len(binary)} parameter formats but {len(types)} parameters")
    return tuple(map(_parameter, types, values.values, binary))


def _parameter(type_oid: int, value: bytes | None, is_binary: bool) -> Parameter:
    name = binary_values.engine_type(type_oid)
    if value is None or is_binary:
        return Typed(name, None if value is None else binary_values.to_text(value, type_oid))
    try:
        return Typed(name, value.decode())
    except UnicodeDecodeError as error:
        raise PgError("22021", 'invalid byte sequence for encoding "UTF8"') from error
