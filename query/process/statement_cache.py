"""The statement cache: parsed statements, and their bound plans where these can be used again."""

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from query import engine
from query.plan.environment import Schema
from query.plan.tree import Query
from query.process.messages import Parse
from query.syntax.compared_columns import compared_columns
from query.syntax.parse import Statement, parse

# What is kept takes several hundred times the memory of its text: of 2 KiB about half a MiB.
MOST_BYTES: Final = 128 * 1024
LONGEST_BYTES: Final = 2 * 1024


class PreparedStatement:
    """A parsed statement."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self._schemas: Mapping[str, Schema] = {}
        self._zone = ""
        self._query: Query | None = None

    @cached_property
    def compared_columns(self) -> list[str]:
        """The columns that its conditions are about."""
        return compared_columns(self.statement.tree)

    def bind(self, schemas: Mapping[str, Schema], now: datetime, zone: str = "") -> Query:
        """The statement bound to the schemas in a time zone; kept unless it asks for the time or chance.

        Raises InvalidSQL, UnsupportedSQL.
        """
        if self._query is None or self._schemas != schemas or self._zone != zone:
            query = engine.bind_statement(self.statement, schemas, now, zone)
            if not query.repeatable:
                return query
            self._schemas, self._zone, self._query = schemas, zone, query
        return self._query


class StatementCache:
    """The latest statements by their text and parameters, as many as their texts leave room for."""

    def __init__(self) -> None:
        self._statements: OrderedDict[tuple[str, str], PreparedStatement] = OrderedDict()
        self._bytes = 0

    def prepare(self, request: Parse) -> PreparedStatement:
        """The statement, parsed now or before. Raises InvalidSQL, UnsupportedSQL."""
        # The parameters as text: in Python 1 equals 1.0 and true.
        key = request.sql, repr(request.parameters)
        statement = self._statements.get(key)
        if statement is not None:
            self._statements.move_to_end(key)
            return statement
        statement = PreparedStatement(parse(request.sql, request.parameters))
        size = sum(map(len, key))
        if size <= LONGEST_BYTES:
            self._statements[key] = statement
            self._bytes += size
        while self._bytes > MOST_BYTES:
            gone, _ = self._statements.popitem(last=False)
            self._bytes -= sum(map(len, gone))
        return statement
