"""Where clients of PostgreSQL come in: one of these in each worker, on a socket that all of them accept on.

Every connection has a thread, which under gunicorn is a greenlet. Written against the standard library, as the query
processes' pool is.
"""

import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from typing import Final

import preflight
from auth.identity import Identity
from config import InvalidSetting, Settings
from errors import WeirError
from pgwire import errors, messages
from pgwire.catalogue.databases import Databases
from pgwire.commands import Commands
from pgwire.connection import Connection, Gone, Tls
from pgwire.errors import Fatal, PgError
from pgwire.execution import Asker, Execution
from pgwire.login import Beginning, Door, log_in, open_connection
from pgwire.messages import CancelRequest, ProtocolViolation, Startup
from pgwire.search_path import search_path
from pgwire.session import Session
from pgwire.settings import SessionSettings
from processes.shares import Shares
from web.services import Services

logger = logging.getLogger(__name__)

LOGIN_SECONDS: Final = 30.0
# After a lack of descriptors or memory; the clients wait in the kernel meanwhile.
PAUSE_SECONDS: Final = 0.1
# Connections that have not logged in; beyond it they are closed at once.
MOST_STRANGERS: Final = 100
SECRET_BYTES: Final = 4
TAG_BYTES: Final = 8
# No login has this name in the count of connections.
ALL: Final = "all"
FULL: Final = "sorry, too many clients already"
FULL_LOGIN: Final = "too many connections of this login"
SHUTTING_DOWN: Final = Fatal("57P01", "terminating connection due to administrator command")


class Listener:
    """The sessions of one worker."""

    def __init__(self, services: Services) -> None:
        """Raises InvalidSetting for a certificate that cannot be used."""
        self._services = services
        settings = services.settings
        self._settings = settings
        self._databases = Databases(settings.data_dir)
        self._execution = Execution(services, self._databases)
        self._tls = _tls(settings)
        self._open: set[Connection] = set()
        self._strangers = 0
        self._shares = Shares(settings.data_dir / "pg_connections.lock")
        self._version = ""
        self._running = False

    def start(self, descriptor: int) -> None:
        """Accept on the listening socket with this descriptor, until `close`."""
        self._running = True
        self._shares.open()
        listener = socket.socket(fileno=os.dup(descriptor))
        threading.Thread(target=self._accept, args=(listener,), name="pgwire", daemon=True).start()

    def close(self) -> None:
        """Tell every client that its session ends."""
        self._running = False
        for connection in list(self._open):
            with contextlib.suppress(Gone, OSError):
                connection.set_patience(0.5)
                _tell(connection, SHUTTING_DOWN)
            connection.close()
        self._shares.close()
        self._databases.close()

    def _accept(self, listener: socket.socket) -> None:
        while self._running:
            try:
                client, address = listener.accept()
            except OSError as error:
                logger.warning("a client of PostgreSQL could not be taken in: %s", error)
                time.sleep(PAUSE_SECONDS)
                continue
            threading.Thread(target=self._serve, args=(client, str(address[0])), name="pgwire", daemon=True).start()

    def _serve(self, client: socket.socket, address: str) -> None:
        """A connection to its end, whatever that is."""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # A client that takes nothing of its result for so long is gone, as a query is that runs so long.
        patience_ms = int(self._settings.query_timeout_seconds * 1000)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience_ms)
        connection = Connection(client, address)
        self._open.add(connection)
        try:
            self._serve_to_the_end(connection)
        except Gone:
            pass
        except Fatal as error:
            _tell(connection, error)
        except TimeoutError:
            _tell(connection, Fatal("57P05", "terminating connection due to idle-session timeout"))
        except ProtocolViolation as error:
            _tell(connection, Fatal("08P01", str(error)))
        except WeirError as error:
            told = errors.from_weir(error)
            _tell(connection, Fatal(told.sqlstate, told.message))
        except Exception as error:
            logger.error("a session of a client of PostgreSQL failed: %s", error, exc_info=error)
            _tell(connection, Fatal("XX000", "the session ends by an error on our side"))
        finally:
            self._open.discard(connection)
            connection.close()

    def _serve_to_the_end(self, connection: Connection) -> None:
        if self._strangers >= MOST_STRANGERS:
            raise Fatal("53300", "too many clients are logging in at once")
        self._strangers += 1
        try:
            connection.set_patience(LOGIN_SECONDS)
            first = open_connection(connection, self._door(connection))
            if isinstance(first, CancelRequest):
                self._cancel(_tag(first.process, first.secret))
                return
            beginning = self._log_in(connection, first)
        finally:
            self._strangers -= 1
        with self._counted(beginning):
            self._run(connection, beginning)

    def _cancel(self, tag: str) -> None:
        self._services.queries.cancel_by_prefix(tag)
        self._databases.cancel(tag)

    def _log_in(self, connection: Connection, first: Startup) -> Beginning:
        try:
            return log_in(connection, first, self._door(connection))
        except (Fatal, TimeoutError) as error:
            self._services.meters.pg_connection("refused")
            if isinstance(error, TimeoutError):
                raise Gone("the login took too long") from error
            raise

    def _door(self, connection: Connection) -> Door:
        is_required = self._settings.pg_tls == "on" and not preflight.is_loopback(connection.address)
        return Door(self._services.access, self._services.audit, self._tls, is_required)

    @contextlib.contextmanager
    def _counted(self, beginning: Beginning) -> Iterator[None]:
        """Raises Fatal beyond the limits, which count the connections of all workers."""
        identity = _identity(beginning)
        with (
            self._share(ALL, self._settings.pg_connections, FULL),
            self._share(
                f"{identity.tenant}/{identity.kind}/{identity.id}", self._settings.pg_identity_connections, FULL_LOGIN
            ),
        ):
            self._services.meters.pg_connection("opened")
            try:
                yield
            finally:
                self._services.meters.pg_connection("closed")

    @contextlib.contextmanager
    def _share(self, name: str, most: int, refusal: str) -> Iterator[None]:
        number = self._shares.take(name, most)
        if number is None:
            self._services.meters.pg_connection("full")
            raise Fatal("53300", refusal)
        try:
            yield
        finally:
            self._shares.give_back(number)

    def _run(self, connection: Connection, beginning: Beginning) -> None:
        self._databases.prepare()
        identity = _identity(beginning)
        settings = SessionSettings(self._fixed(identity))
        try:
            settings.start(_start_parameters(beginning))
        except PgError as error:
            raise Fatal(error.sqlstate, error.message, error.hint) from error
        process, secret = secrets.randbelow(2**31 - 1) + 1, secrets.token_bytes(SECRET_BYTES)
        guard = Guard(self._services, beginning)
        commands = Commands(
            self._execution,
            settings,
            partial(_asker, guard, settings, beginning, process, _tag(process, secret)),
            connection.is_gone,
            self._settings.data_dir,
        )
        connection.send(messages.AUTHENTICATION_OK)
        connection.send(messages.key_data(process, secret))
        connection.set_patience(self._settings.pg_idle_seconds)
        try:
            Session(connection, commands, guard.check).serve()
        finally:
            commands.close()

    def _fixed(self, identity: Identity) -> dict[str, str]:
        self._version = self._version or self._databases.version()
        major, _, minor = self._version.partition(".")
        return {
            "server_version": self._version,
            "server_version_num": f"{int(major) * 10_000 + int(minor or 0)}",
            "session_authorization": identity.name,
        }


class Guard:
    """Whether who has logged in may still go on; asked before every statement."""

    def __init__(self, services: Services, beginning: Beginning) -> None:
        self._scram = services.access.scram
        self.login = beginning.login
        self._state = self._scram.state()

    def check(self) -> None:
        """Raises Fatal when the login is not good any more: a key was deleted or has expired, a password is another."""
        state = self._scram.state()
        if state is None or state != self._state:
            again = self._scram.again(self.login)
            if again is None:
                raise _over()
            self.login, self._state = again, state
        if self._scram.is_over(self.login):
            raise _over()


def _over() -> Fatal:
    return Fatal("28000", "the login of this session is no longer valid")


def _identity(beginning: Beginning) -> Identity:
    identity = beginning.login.identity
    if identity is None:
        raise Fatal("28000", "nobody has logged in")
    return identity


def _asker(guard: Guard, settings: SessionSettings, beginning: Beginning, process: int, tag: str) -> Asker:
    identity = guard.login.identity
    if identity is None:
        raise _over()
    return Asker(
        identity,
        tag,
        process,
        beginning.database,
        search_path(settings.show("search_path").value, identity.name),
        settings.statement_timeout_seconds(),
        settings.show("TimeZone").value,
    )


def _start_parameters(beginning: Beginning) -> dict[str, str]:
    """`options` holds parameters as a server's command line has them: `-c name=value`."""
    parameters = dict(beginning.parameters)
    words = parameters.pop("options", "").replace("-c ", "-c").split()
    for word in words:
        name, separator, value = word.removeprefix("-c").removeprefix("--").partition("=")
        if not separator:
            raise Fatal("42601", "options are written -c name=value")
        parameters[name] = value
    return parameters


def _tag(process: int, secret: bytes) -> str:
    """What the ids of a session's queries begin with; nobody can tell the secret from it."""
    return blake2b(process.to_bytes(4, signed=True) + secret, digest_size=TAG_BYTES).hexdigest()


def _tell(connection: Connection, error: Fatal) -> None:
    with contextlib.suppress(Gone, OSError):
        connection.send(messages.report(b"E", errors.fields(error, "FATAL")))
        connection.flush()


def _tls(settings: Settings) -> Tls | None:
    if settings.pg_tls_cert is None or settings.pg_tls_key is None:
        return None
    try:
        return Tls.load(settings.pg_tls_cert, settings.pg_tls_key)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"WEIR_PG_TLS_CERT, WEIR_PG_TLS_KEY: they cannot be used ({error})") from error
