"""One client's session: the messages of the simple and the extended protocol, and what follows from an error.

Source: PostgreSQL's manual, "Frontend/Backend Protocol", section "Message Flow".
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from errors import InternalError, WeirError
from pgwire import errors, messages
from pgwire.catalogue.backend import Values
from pgwire.commands import Commands
from pgwire.connection import Connection, Gone
from pgwire.errors import Fatal, PgError
from pgwire.messages import (
    Bind,
    Close,
    Describe,
    Execute,
    Flush,
    Message,
    Parse,
    ProtocolViolation,
    Query,
    Sync,
    Terminate,
)
from pgwire.portal import Answer, Portal
from pgwire.statement import Description, Parsed, PreparedStatement, parse, require_one

logger = logging.getLogger(__name__)

MOST_STATEMENTS: Final = 1_000
MOST_PORTALS: Final = 200


class Session:
    """The protocol's state machine over `commands`, which know what statements mean."""

    def __init__(self, connection: Connection, commands: Commands, check: Callable[[], None]) -> None:
        """`check` raises Fatal when whoever logged in is not allowed to go on; asked before every statement."""
        self._connection, self._commands, self._check = connection, commands, check
        self._is_skipping = False

    def serve(self) -> None:
        """Until the client ends the session. Raises Gone, Fatal, ProtocolViolation, TimeoutError."""
        self._ready()
        while not isinstance(message := self._connection.read(), Terminate):
            if isinstance(message, Sync):
                self._sync()
            elif isinstance(message, Query):
                self._is_skipping = False
                self._simple(message.sql)
            elif not self._is_skipping:
                self._extended(message)

    def _ready(self) -> None:
        self._report_settings()
        self._connection.send(messages.ready(self._commands.transaction.status))
        self._connection.flush()

    def _report_settings(self) -> None:
        for name, value in self._commands.changed_settings().items():
            self._connection.send(messages.parameter_status(name, value))

    def _sync(self) -> None:
        self._is_skipping = False
        self._commands.end_of_implicit_transaction()
        self._ready()

    # --- simple --------------------------------------------------------------------------------------------------

    def _simple(self, sql: str) -> None:
        """All statements of a text; the first error ends it."""
        self._commands.forget_unnamed()
        with self._reporting():
            statements = parse(sql)
            if not statements:
                self._connection.send(messages.EMPTY_QUERY)
            self._commands.transaction.is_batch = len(statements) > 1
            for statement in statements:
                self._run_simple(statement)
        self._is_skipping = False
        self._commands.end_of_implicit_transaction()
        self._ready()

    def _run_simple(self, statement: Parsed) -> None:
        self._check()
        answer = self._commands.run(PreparedStatement(statement), Values())
        if answer.rows is not None and not answer.head:
            self._describe_rows(answer, ())
        self._give(answer, 0)
        self._complete(answer)

    # --- extended ------------------------------------------------------------------------------------------------

    def _extended(self, message: Message) -> None:
        with self._reporting():
            match message:
                case Parse():
                    self._parse(message)
                case Bind():
                    self._bind(message)
                case Describe():
                    self._describe(message)
                case Execute():
                    self._execute(message)
                case Close():
                    self._close(message)
                case Flush():
                    self._connection.flush()

    def _parse(self, message: Parse) -> None:
        prepared = self._commands.prepared
        if message.name and message.name in prepared:
            raise PgError("42P05", f'prepared statement "{message.name}" already exists')
        if len(prepared) >= MOST_STATEMENTS:
            raise PgError("53400", f"a session has {MOST_STATEMENTS} prepared statements at most")
        statement = require_one(parse(message.sql))
        prepared[message.name] = PreparedStatement(statement or Parsed("", "Empty", {}), message.types)
        self._connection.send(messages.PARSE_COMPLETE)

    def _bind(self, message: Bind) -> None:
        statement = self._commands.find_prepared(message.statement)
        portals = self._commands.portals
        if message.portal and message.portal in portals:
            raise PgError("42P03", f'cursor "{message.portal}" already exists')
        if len(portals) >= MOST_PORTALS:
            raise PgError("53400", f"a session has {MOST_PORTALS} portals at most")
        self._commands.close_portal(message.portal)
        portals[message.portal] = Portal(statement, Values(message.binary, message.values, message.results))
        self._connection.send(messages.BIND_COMPLETE)

    def _describe(self, message: Describe) -> None:
        self._check()
        if message.is_portal:
            self._describe_portal(self._commands.find_portal(message.name))
            return
        prepared = self._commands.find_prepared(message.name)
        described = self._commands.describe(prepared)
        self._connection.send(messages.parameter_description(described.parameters))
        self._describe_columns(described, ())

    def _describe_portal(self, portal: Portal) -> None:
        """A query begins to run: its columns are known then, and its rows are wanted next."""
        if self._commands.is_rowless(portal.prepared):
            self._connection.send(messages.NO_DATA)
            return
        if portal.prepared.description is not None and portal.answer is None:
            self._describe_columns(portal.prepared.description, portal.values.results)
            return
        self._describe_rows(self._begin(portal), portal.values.results)

    def _begin(self, portal: Portal) -> Answer:
        if portal.answer is None:
            portal.answer = self._commands.run(portal.prepared, portal.values)
        return portal.answer

    def _describe_rows(self, answer: Answer, binary: tuple[bool, ...]) -> None:
        self._describe_columns(Description((), answer.columns, answer.raw_description), binary)

    def _describe_columns(self, described: Description, binary: tuple[bool, ...]) -> None:
        if described.columns is None:
            self._connection.send(messages.NO_DATA)
        elif described.raw is not None:
            self._connection.send(messages.with_formats(described.raw, binary))
        else:
            self._connection.send(messages.row_description(described.columns, binary))

    def _execute(self, message: Execute) -> None:
        self._check()
        portal = self._commands.find_portal(message.portal)
        if portal.prepared.statement.kind == "Empty":
            self._connection.send(messages.EMPTY_QUERY)
            return
        if portal.is_over:
            raise PgError("55000", f'portal "{message.portal}" cannot be run')
        answer = self._begin(portal)
        self._give(answer, max(0, message.rows))
        if answer.rows is not None and not answer.rows.is_over:
            self._connection.send(messages.PORTAL_SUSPENDED)
            return
        portal.is_over = answer.rows is None
        self._complete(answer)

    def _close(self, message: Close) -> None:
        if message.is_portal:
            self._commands.close_portal(message.name)
        else:
            self._commands.prepared.pop(message.name, None)
        self._connection.send(messages.CLOSE_COMPLETE)

    # --- both ----------------------------------------------------------------------------------------------------

    def _give(self, answer: Answer, most: int) -> None:
        if answer.rows is None:
            return
        self._connection.send(answer.head)
        with self._translating():
            for piece in answer.rows.take(most):
                self._connection.send(piece)
        self._connection.send(answer.tail)

    def _complete(self, answer: Answer) -> None:
        for notice in answer.notices:
            self._connection.send(messages.report(b"N", errors.fields(notice, "WARNING")))
        self._report_settings()
        given = 0 if answer.rows is None else answer.rows.given
        self._connection.send(messages.command_complete(answer.tag_of(given)))

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except WeirError as error:
            raise errors.from_weir(error) from error

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Tell the client of an error; what follows up to the next Sync is left out."""
        try:
            yield
        except Fatal:
            raise
        except PgError as error:
            self._fail(error)
        except WeirError as error:
            if isinstance(error, InternalError):
                logger.error("%s", error, exc_info=error)
            self._fail(errors.from_weir(error))
        except (Gone, ProtocolViolation, TimeoutError):
            raise
        except Exception as error:
            logger.error("%s", error, exc_info=error)
            self._fail(PgError("XX000", "the statement failed by an error on our side"))

    def _fail(self, error: PgError) -> None:
        self._commands.fail()
        self._is_skipping = True
        self._connection.send(messages.report(b"E", errors.fields(error)))
        self._connection.flush()
