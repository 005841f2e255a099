"""The databases of the catalogue, one for each set of rights, and connections to them. One of these in each worker."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import psycopg

from embedded_postgres import server
from logs import outlet
from pgwire.catalogue import content, template
from pgwire.catalogue.backend import SOCKET, Backend, BackendLost, Reply
from pgwire.catalogue.cluster import KIND
from pgwire.catalogue.content import Tables
from pgwire.errors import PgError

logger = logging.getLogger(__name__)

ROOT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 120.0
# Connections of one worker: statements take milliseconds, and others wait their turn.
AT_ONCE: Final = 4
LONGEST_WAIT_SECONDS: Final = 30.0
# Questions take milliseconds; on a machine that is busy the first one, whose PostgreSQL has only just started, takes
# seconds. A client may ask for less.
STATEMENT_SECONDS: Final = 15.0
# How long the first question waits for a PostgreSQL that starts, or for a database that another worker is making.
START_PATIENCE_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.2
# Sets of rights are few. Beyond this many, databases that nobody is connected to go.
MOST_DATABASES: Final = 64
PREFIX: Final = f"set_{template.VERSION}_"
# A connection bears the tag of the session that uses it now.
CANCEL: Final = """
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND state = 'active'
"""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks: the set of rights, and what the session calls itself. `search_path` is SQL.

    `tag` is what its questions are cancelled by.
    """

    rights: str
    user: str
    database: str
    process: int
    search_path: str
    time_zone: str
    tag: str
    timeout_seconds: float | None = None

    @property
    def name(self) -> str:
        """The database for these rights."""
        return PREFIX + blake2b(self.rights.encode(), digest_size=12).hexdigest()

    @property
    def prelude(self) -> str:
        """What a connection is told before it runs a statement of this viewer's, and a question: is it up to date?"""
        told = {
            "weir.login": self.user,
            "weir.database": self.database,
            "weir.process": str(self.process),
            "weir.here": self.name,
            "application_name": self.tag,
            "TimeZone": self.time_zone,
            "statement_timeout": f"{self._timeout_ms}ms",
        }
        return "; ".join(f"SET {name} = {_literal(value)}" for name, value in told.items()) + (
            f"; SET search_path = {self.search_path}"
        )

    @property
    def _timeout_ms(self) -> int:
        """At least one: 0 would be no limit."""
        return max(1, round(min(self.timeout_seconds or STATEMENT_SECONDS, STATEMENT_SECONDS) * 1000))


Use = Callable[[Backend], Reply]


class Interrupted(BackendLost):
    """The connection was lost while a statement ran."""


def _used(backend: Backend, use: Use) -> Reply:
    try:
        return use(backend)
    except BackendLost as error:
        raise Interrupted(str(error)) from error


class Databases:
    """Lends connections to statements. Starts the cluster when first asked."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._starting, self._cancelling = threading.Lock(), threading.Lock()
        self._idle: list[tuple[str, Backend]] = []
        self._started_at = 0.0
        self._is_prepared = False
        self._cluster = server.cluster(data_dir, KIND)

    def run(self, viewer: Viewer, tables: Tables, use: Use) -> Reply:
        """What `use` gets from a connection to a database with just these tables. Raises PgError.

        Tried again while PostgreSQL starts; once if it was lost over the statement, which may be why, or which may
        have had a connection that was closed while it was idle.
        """
        deadline, interrupted = time.monotonic() + START_PATIENCE_SECONDS, 0
        with self._slot():
            while True:
                try:
                    return self._run(viewer, tables, use)
                except BackendLost as error:
                    interrupted += isinstance(error, Interrupted)
                    if interrupted > 1 or time.monotonic() > deadline:
                        raise PgError("58000", "the catalogue cannot be asked now; try again") from error
                self._drop_idle()
                self._start()
                time.sleep(PAUSE_SECONDS)

    def cancel(self, tag: str) -> None:
        """End the question that the session of this tag asks, in whichever worker; none is fine."""
        if not (self._cluster.sockets / SOCKET).exists():
            return
        try:
            # Whoever knows the address may send requests to cancel: one connection at a time for all of them.
            with self._cancelling, self._administrator("postgres") as connection:
                connection.execute(CANCEL, (tag,))
        except psycopg.Error as error:
            logger.warning("a question about the catalogue could not be cancelled: %s", error)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(timeout=LONGEST_WAIT_SECONDS):
            raise PgError("53300", "too many questions about the catalogue at once; try again")
        try:
            yield
        finally:
            self._slots.release()

    def _run(self, viewer: Viewer, tables: Tables, use: Use) -> Reply:
        backend = self._connect(viewer, tables)
        is_usable = False
        try:
            self._prepare(backend, viewer, tables)
            reply = _used(backend, use)
            is_usable = True
            return reply
        except PgError as error:
            # A statement's own error leaves the connection as it was.
            is_usable = not error.sqlstate.startswith(("57P", "54", "53"))
            raise
        finally:
            if is_usable:
                self._idle.append((viewer.name, backend))
            else:
                backend.close()

    def _connect(self, viewer: Viewer, tables: Tables) -> Backend:
        for at, (name, _) in enumerate(self._idle):
            if name == viewer.name:
                return self._idle.pop(at)[1]
        while len(self._idle) >= AT_ONCE:
            self._idle.pop(0)[1].close()
        try:
            return Backend(self._cluster.sockets, viewer.name, template.READER)
        except PgError as error:
            if error.sqlstate != "3D000":
                raise BackendLost(str(error)) from error
        self._create(viewer.name)
        try:
            return Backend(self._cluster.sockets, viewer.name, template.READER)
        except PgError as error:
            raise BackendLost(str(error)) from error

    def _prepare(self, backend: Backend, viewer: Viewer, tables: Tables) -> None:
        prelude = viewer.prelude
        if backend.settings != prelude:
            backend.simple(prelude)
            backend.settings = prelude
        reply = backend.simple("SELECT hash FROM pg_catalog.weir_content")
        if tables.digest.encode() not in b"".join(reply.rows):
            with self._administrator(viewer.name) as connection:
                content.bring_up_to_date(connection, tables)

    def _create(self, name: str) -> None:
        try:
            with self._administrator("postgres") as connection:
                connection.execute("SELECT pg_advisory_lock(1)")
                if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                    return
                self._make_room(connection)
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {template.NAME}".encode())
                connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC".encode())
                connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {template.READER}".encode())
        except psycopg.Error as error:
            raise BackendLost(str(error)) from error

    def _make_room(self, connection: psycopg.Connection) -> None:
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'set\\_%' AND NOT EXISTS"
            " (SELECT 1 FROM pg_stat_activity a WHERE a.datname = pg_database.datname) ORDER BY oid"
        ).fetchall()
        for (name,) in rows[: max(0, len(rows) - MOST_DATABASES + 1)]:
            connection.execute(f"DROP DATABASE {name}".encode())

    @contextmanager
    def _administrator(self, database: str) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self._cluster.url, dbname=database, autocommit=True, connect_timeout=15) as connection:
            yield connection

    def _start(self) -> None:
        """In a process of its own: starting blocks. Other greenlets that need it wait for the same start."""
        asked_at = time.monotonic()
        with self._starting:
            if self._started_at > asked_at:
                return
            command = [sys.executable, "-m", "pgwire.catalogue.cluster", str(self._data_dir)]
            done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=outlet(), timeout=START_SECONDS)
            if done.returncode:
                raise PgError("58000", "the catalogue's PostgreSQL does not start; the log says why")
            self._started_at = time.monotonic()

    def _drop_idle(self) -> None:
        for _, backend in self._idle:
            backend.close()
        self._idle.clear()

    def prepare(self) -> None:
        """Start the cluster in the background, unless it has been started: the first session will ask soon."""
        if not self._is_prepared:
            self._is_prepared = True
            threading.Thread(target=self._prepare_cluster, name="catalogue", daemon=True).start()

    def _prepare_cluster(self) -> None:
        try:
            if not (self._cluster.sockets / SOCKET).exists():
                self._start()
        except (PgError, OSError, subprocess.SubprocessError) as error:
            logger.warning("the catalogue's PostgreSQL did not start: %s", error)

    def version(self) -> str:
        """The version of the PostgreSQL that answers."""
        return server.version(KIND)

    def close(self) -> None:
        """Close all connections that nobody uses."""
        self._drop_idle()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
