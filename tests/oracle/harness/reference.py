"""The reference: a database of a real PostgreSQL that holds the oracle's tables, and what it answers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import polars as pl
import psycopg
from psycopg import sql
from psycopg.adapt import Loader
from psycopg.types import TypesRegistry

from tests.oracle.harness.answer import Answer, Failure, Outcome
from tests.oracle.harness.tables import Table

# Unicode case mapping with code-point order, the same on every machine: docs/decisions/sql-oracle.md.
LOCALE: Final = "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"
SESSION: Final = "SET timezone = 'UTC'; SET statement_timeout = '10s'; SET default_transaction_read_only = on"
VOID = 2278
FIRST_OWN_OID: Final = 16_384
"""Types from here on are the rows of our tables."""
ROWS_AT_MOST: Final = 200_000
TYPES: Final[dict[type[pl.DataType], str]] = {
    pl.Boolean: "bool",
    pl.Int16: "int2",
    pl.Int32: "int4",
    pl.Int64: "int8",
    pl.Float64: "float8",
    pl.String: "text",
    pl.Date: "date",
}


class _AsText(Loader):
    """Keeps a value as PostgreSQL wrote it: the scale of a numeric, the months of an interval."""

    def load(self, data: psycopg.abc.Buffer) -> str:
        return bytes(data).decode()


class Reference:
    """A session on the loaded database. Read-only, so that no query can change what the next one sees."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(SESSION)
        for info in psycopg.adapters.types:
            for oid in filter(None, (info.oid, info.array_oid)):
                self._connection.adapters.register_loader(oid, _AsText)

    def close(self) -> None:
        self._connection.close()

    def run(self, query: str, zone: str = "", *, as_shown: bool = False) -> Outcome:
        """PostgreSQL's answer, values as text; instants in UTC, whatever the zone, unless they are wanted as shown."""
        if zone:
            self._connection.execute("SELECT set_config('timezone', %s, false)", [zone])
        try:
            outcome = self._run(query)
            return _in_utc(outcome) if zone and isinstance(outcome, Answer) and not as_shown else outcome
        finally:
            if zone:
                self._connection.execute("SET timezone = 'UTC'")

    def _run(self, query: str) -> Outcome:
        try:
            cursor = self._connection.execute(query.encode(), prepare=False)
        except psycopg.Error as error:
            position = error.diag.statement_position
            return Failure(str(error).split("\n", 1)[0], error.sqlstate, int(position) if position else None)
        description = cursor.description or []
        types = tuple(_type_name(self._connection.adapters.types, column.type_code) for column in description)
        return Answer(tuple(column.name for column in description), types, cursor.fetchmany(ROWS_AT_MOST))


_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?[-+]\d\d(?::\d\d){0,2}")


def _in_utc(answer: Answer) -> Answer:
    """The answer with its instants, though not their texts, in UTC: in another zone they are the same instants."""
    zoned = [name.startswith("timestamptz") for name in answer.types]
    rows = [
        tuple(
            _INSTANT.sub(_utc_text, cell) if is_instant and isinstance(cell, str) else cell
            for cell, is_instant in zip(row, zoned, strict=True)
        )
        for row in answer.rows
    ]
    return replace(answer, rows=rows)


def _utc_text(match: "re.Match[str]") -> str:
    moment = datetime.fromisoformat(match[0]).astimezone(UTC)
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}+00"


def load(server_url: str, tables: Sequence[Table], database: str = "oracle") -> str:
    """Create the database afresh, fill it, and return its URL."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {database} {LOCALE}")
    url = server_url.replace("/postgres?", f"/{database}?")
    with psycopg.connect(url) as connection:
        for table in tables:
            _load_table(connection, table)
    return url


def _load_table(connection: psycopg.Connection, table: Table) -> None:
    types = [column_type(table, name) for name in table.frame.columns]
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
        for name, kind in zip(table.frame.columns, types, strict=True)
    ]
    name = sql.Identifier(table.name)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(columns)))
    with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
        for row in table.frame.iter_rows():
            copy.write_row(row)
    connection.execute(sql.SQL("ANALYZE {}").format(name))


def column_type(table: Table, column: str) -> str:
    """The PostgreSQL type that a column of ours stands for."""
    return "jsonb" if column in table.json_columns else _sql_type(table.frame.schema[column])


def _sql_type(kind: pl.DataType) -> str:
    if isinstance(kind, pl.List):
        return f"{_sql_type(kind.inner)}[]"
    if isinstance(kind, pl.Decimal):
        return f"numeric({kind.precision},{kind.scale})"
    if isinstance(kind, pl.Datetime):
        return "timestamptz" if kind.time_zone else "timestamp"
    return TYPES[kind.base_type()]


def _type_name(types: TypesRegistry, oid: int) -> str:
    if oid == VOID:
        return "void"
    info = types.get(oid)
    if info is None:
        return "record" if oid >= FIRST_OWN_OID else f"oid {oid}"
    return f"{info.name}[]" if oid == info.array_oid else info.name
