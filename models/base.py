"""The database: one deferred Peewee database, the base of all tables, connections and migrations."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from peewee import DatabaseError as DatabaseError
from peewee import DatabaseProxy, InterfaceError, Model, OperationalError
from playhouse.db_url import parse
from playhouse.postgres_ext import PooledPsycopg3Database

from errors import StorageUnavailable

database: Final = DatabaseProxy()

# Any constant does, as long as no other program takes advisory locks with it in the same database.
MIGRATION_LOCK: Final = 0x5745_4952
MIGRATIONS: Final = Path(__file__).parent / "migrations"


class Table(Model):
    """Base of every table. Rows do not leave models/: verbs return frozen dataclasses."""

    class Meta:
        database = database
        legacy_table_names = False


class _Pool(PooledPsycopg3Database):
    """A pool that throws away connections whose server has gone, so a restarted PostgreSQL heals by itself."""

    # Peewee has no types, and calls these with connections of several drivers.
    def _is_closed(self, conn):  # type: ignore[no-untyped-def]
        return conn.closed or conn.broken

    def _can_reuse(self, conn):  # type: ignore[no-untyped-def]
        return not (conn.closed or conn.broken)


def bind(url: str, *, max_connections: int = 20) -> None:
    """Let all tables use the PostgreSQL at `url`. Connects lazily, so it is safe before a fork."""
    if urlsplit(url).scheme not in ("postgres", "postgresql"):
        raise ValueError(f"not a PostgreSQL URL: {urlsplit(url).scheme}://...")
    arguments = parse(url, unquote_password=True)
    database.initialize(
        _Pool(
            arguments.pop("database"),
            max_connections=max_connections,
            timeout=10,
            autoconnect=False,
            **arguments,
        )
    )


@contextmanager
def connection() -> Iterator[None]:
    """A pooled connection for this greenlet while the block runs; nested blocks share it.

    Raises StorageUnavailable when the database cannot be reached or goes away meanwhile.
    """
    try:
        if database.is_closed():
            with database.connection_context():
                yield
        else:
            yield
    except (OperationalError, InterfaceError) as error:
        raise StorageUnavailable("the metadata database cannot be reached", retry_after_seconds=2) from error


@contextmanager
def transaction() -> Iterator[None]:
    """One transaction on a pooled connection: all of the block's writes, or none. Raises StorageUnavailable."""
    with connection(), database.atomic():
        yield


@contextmanager
def snapshot_transaction() -> Iterator[None]:
    """Every read of the block sees the database as of one moment. Raises StorageUnavailable."""
    with transaction():
        database.execute_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def check_reachable() -> None:
    """Raises StorageUnavailable unless the database answers."""
    with connection():
        database.execute_sql("SELECT 1")


def migrate(only: Collection[str] | None = None) -> list[str]:
    """Apply the migrations that this database has not seen, in order; return their names.

    `only`: no others than these. Processes that start together are serialised by an advisory lock; all of it is one
    transaction.
    """
    with connection(), database.atomic():
        database.execute_sql("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        database.execute_sql(
            "CREATE TABLE IF NOT EXISTS migration"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        seen = {name for (name,) in database.execute_sql("SELECT name FROM migration").fetchall()}
        pending = [path for path in sorted(MIGRATIONS.glob("*.sql")) if path.stem not in seen]
        if only is not None:
            pending = [path for path in pending if path.stem in only]
        for path in pending:
            database.execute_sql(path.read_text("utf-8"))
            database.execute_sql("INSERT INTO migration (name) VALUES (%s)", (path.stem,))
    return [path.stem for path in pending]
