"""Queries as a query process runs them: parse, prepare over scans, stream."""

from datetime import UTC, datetime, timedelta

import polars as pl

from columns import ColumnType
from errors import InternalError, QueryTooLarge, WeirError
from query import engine, results, worker
from query.coding import Coded
from query.engine import Table
from query.narrowing import Narrowing
from query.parse import Statement, parse
from query.protocol import Answer
from query.requests import Execute, Parse, Source
from query.worker import Emit
from storage.scan import SnapshotExpired, scan
from storage.tails import Tails

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_US = 1_000
WARM_BYTES = 1_000


class Execution:
    """The statement of the moment, and what is kept between queries: decoded frames of unconverted segments."""

    def __init__(self) -> None:
        self._statement: Statement | None = None
        self._tails = Tails()
        self._narrowing = Narrowing(self._tails)

    def handle(self, request: object, emit: Emit) -> Answer:
        """Run one request. Raises what the client is to be told."""
        if isinstance(request, Parse):
            self._statement = parse(request.sql, request.parameters)
            return {"datasets": list(self._statement.datasets)}
        if isinstance(request, Execute) and self._statement is not None:
            return self._execute(self._statement, request, emit)
        raise InternalError("a query process was asked out of order")

    def _execute(self, statement: Statement, request: Execute, emit: Emit) -> Answer:
        coded = Coded(request.coding)
        sink = _Capped(lambda data: emit(coded.add(data)), request.largest_result_bytes)
        try:
            tables = {name: self._table(source) for name, source in request.sources.items()}
            compiled = engine.prepare(statement, tables, now=_moment(request.now_ns))
            results.stream(compiled.frame, compiled.fields, request.options, sink)
        except (SnapshotExpired, FileNotFoundError):
            return {"expired": True}
        except WeirError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            raise engine.translate(error) from error
        emit(coded.finish())
        return {"expired": False, "coding": coded.coding}

    def _table(self, source: Source) -> Table:
        rows, only = source.snapshot, source.only
        frame = scan(rows, self._tails) if only is None else self._narrowing.scan(source, only)
        visible = frame.collect_schema().names()
        json = (column.name for column in rows.schema.columns if column.type is ColumnType.JSON)
        return Table(frame, frozenset(json).intersection(visible))


class _Capped:
    """Passes data on until there is too much of it."""

    def __init__(self, emit: Emit, limit: int) -> None:
        self._emit, self._left, self._limit = emit, limit, limit

    def __call__(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise QueryTooLarge(f"the result has more than {self._limit} bytes", limit=self._limit)
        self._emit(data)


def _moment(ns: int) -> datetime:
    return EPOCH + timedelta(microseconds=ns // NS_PER_US)


def _warm(execution: Execution) -> None:
    """Do once what the first query would wait for: threads, caches and modules come up on first use."""
    execution.handle(Parse("SELECT count(*) AS n FROM (VALUES (1), (2)) AS v (a) WHERE a > 1"), _nowhere)
    execution.handle(Execute({}, 0, results.Options(), "identity", WARM_BYTES), _nowhere)


def _nowhere(_: bytes) -> None:
    pass


def handler() -> worker.Handle:
    """What a query process runs its requests by."""
    execution = Execution()
    _warm(execution)
    return execution.handle
