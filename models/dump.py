"""The content of every table, out of one database and into an empty one, in PostgreSQL's own COPY text format.

Knows no table by name: what is in the schema is dumped, and what the migrations make is loaded.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter

from psycopg import sql

from models.base import connection, database, migrate

# The same text on every server, whatever it is configured to.
PLAIN = (
    "SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres';"
    " SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1"
)

Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Shape:
    """A table and its columns in order."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """Where a column's numbers stand: ids that were given out are never given out again."""

    table: str
    column: str
    value: int
    is_used: bool


@contextmanager
def moment() -> Iterator[None]:
    """Everything read in the block is of one moment. Raises StorageUnavailable."""
    with connection(), database.atomic():
        database.execute_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        speak_plainly()
        yield


def speak_plainly() -> None:
    """Make any server write the values of this transaction in the same form."""
    database.execute_sql(PLAIN)


def shapes() -> list[Shape]:
    """Every table of the schema, each after those that its foreign keys point to."""
    with connection():
        rows = database.execute_sql(
            "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace GROUP BY 1 ORDER BY 1"
        ).fetchall()
        references = database.execute_sql(
            "SELECT k.conrelid::regclass::oid, c.relname, f.relname FROM pg_constraint k"
            " JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class f ON f.oid = k.confrelid"
            " WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace"
        ).fetchall()
    found = {name: Shape(name, tuple(columns)) for name, columns in rows}
    before: dict[str, set[str]] = {name: set() for name in found}
    for _, name, target in references:
        if name != target:
            before[name].add(target)
    return [found[name] for name in TopologicalSorter(before).static_order()]


def migrations() -> list[str]:
    """The migrations that the database has seen."""
    with connection():
        rows = database.execute_sql("SELECT name FROM migration ORDER BY name").fetchall()
        return [name for (name,) in rows]


def counters() -> list[Counter]:
    """Every column that the database numbers. Transactions do not freeze the counters, so read them last."""
    with connection():
        rows = database.execute_sql(
            "SELECT c.relname, a.attname, pg_get_serial_sequence(quote_ident(c.relname), a.attname) FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
            " AND pg_get_serial_sequence(quote_ident(c.relname), a.attname) IS NOT NULL ORDER BY 1, 2"
        ).fetchall()
        return [Counter(table, column, *_state(sequence)) for table, column, sequence in rows]


def _state(sequence: str) -> tuple[int, bool]:
    # The name comes quoted from PostgreSQL itself.
    value, is_used = database.execute_sql(f"SELECT last_value, is_called FROM {sequence}").fetchone()
    return value, is_used


def dump(shape: Shape, write: Write) -> int:
    """The table's rows as text to `write`, piece by piece; returns how many rows."""
    with connection(), database.connection().cursor() as cursor:
        with cursor.copy(_statement("COPY {} ({}) TO STDOUT (FORMAT text, ENCODING 'UTF8')", shape)) as pieces:
            for piece in pieces:
                write(bytes(piece))
        return int(cursor.rowcount)


def load(
    names: Collection[str],
    content: Sequence[tuple[Shape, Callable[[], Iterator[bytes]]]],
    numbers: Sequence[Counter],
) -> Mapping[str, int]:
    """Make the empty database what was dumped, whole or not at all; returns the rows of each table.

    `names`: the migrations it had seen. `content`: in the order in which it was dumped, which has to be every table
    that those migrations make.
    """
    with connection(), database.atomic():
        speak_plainly()
        migrate(names)
        tables = {shape.name: shape for shape in shapes()}
        _require_same(tables, [shape for shape, _ in content])
        # Migrations fill some tables themselves.
        database.execute_sql("TRUNCATE " + ", ".join(_quoted(name) for name in tables))
        rows = {shape.name: _load(shape, pieces) for shape, pieces in content}
        for counter in numbers:
            database.execute_sql(
                "SELECT setval(pg_get_serial_sequence(%s, %s), %s, %s)",
                (_quoted(counter.table), counter.column, counter.value, counter.is_used),
            )
    return rows


def _require_same(tables: Mapping[str, Shape], dumped_shapes: Sequence[Shape]) -> None:
    for shape in dumped_shapes:
        if shape.name not in tables or set(tables[shape.name].columns) != set(shape.columns):
            raise ValueError(f"the table {shape.name!r} is not one that the migrations make")
    missing = sorted(set(tables) - {shape.name for shape in dumped_shapes})
    if missing:
        raise ValueError(f"the table {missing[0]!r} is missing")


def _load(shape: Shape, pieces: Callable[[], Iterator[bytes]]) -> int:
    with database.connection().cursor() as cursor:
        with cursor.copy(_statement("COPY {} ({}) FROM STDIN (FORMAT text, ENCODING 'UTF8')", shape)) as copy:
            for piece in pieces():
                copy.write(piece)
        return int(cursor.rowcount)


def _statement(text: str, shape: Shape) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, shape.columns))
    return sql.SQL(text).format(sql.Identifier(shape.name), columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
