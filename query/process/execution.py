"""Queries as a query process runs them: parse, prepare over scans, stream."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from errors import InternalError, QueryTooLarge, WeirError
from query import engine
from query.engine import Table
from query.plan.conditions import file_conditions
from query.plan.environment import Schema
from query.process import worker
from query.process.dataset_view import DatasetView, scanned
from query.process.messages import Execute, Parse, Source
from query.process.protocol import Answer
from query.process.result_cache import RecordingOutput, ResultCache, key_of
from query.process.row_level_security import RowLevelSecurity
from query.process.source_cache import CachedSource, SourceCache
from query.process.statement_cache import PreparedStatement, StatementCache
from query.process.worker import Emit, Output
from query.results import formats
from query.results.content_coding import Coded
from query.results.options import Options
from storage.exactly import exactly
from storage.read.fingerprint import is_outside_range
from storage.read.scan import SnapshotExpired
from storage.read.small_files import SmallFiles
from storage.read.unconverted_rows import UnconvertedRows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_US = 1_000
WARM_BYTES = 1_000


class Execution:
    """The statement of the moment, and what is kept between queries: decoded frames of unconverted segments."""

    def __init__(self) -> None:
        self._prepared: PreparedStatement | None = None
        self._tails = UnconvertedRows()
        self._small = SmallFiles()
        self._narrowing = RowLevelSecurity(self._tails)
        self._memory = ResultCache(self._tails.index)
        self._statements = StatementCache()
        self._readings = SourceCache()
        # Those of the request of the moment, by their sources.
        self._current: dict[int, CachedSource] = {}

    def handle(self, request: object, output: Output) -> Answer:
        """Run one request. Raises what the client is to be told."""
        if isinstance(request, Parse):
            self._prepared = self._statements.prepared(request)
            datasets = list(self._prepared.statement.datasets)
            explains = self._prepared.statement.explain
            return {"datasets": datasets, "columns": self._prepared.compared_columns, "explain": explains}
        if isinstance(request, Execute) and self._prepared is not None:
            return self._execute(self._prepared, request, output)
        raise InternalError("a query process was asked out of order")

    def _execute(self, prepared: PreparedStatement, request: Execute, output: Output) -> Answer:
        try:
            self._current.clear()
            views = {name: self._view(source) for name, source in request.sources.items()}
            read = None if prepared.statement.explain else self._memory.fingerprint(views)
            if read is None:
                return self._run(prepared, request, views, RecordingOutput(output))
            key = key_of(prepared.statement, request, views, read)
            known = self._memory.recall(key)
            if known is None:
                recorded = RecordingOutput(output)
                answer = self._run(prepared, request, views, recorded)
                if recorded.is_repeatable:
                    self._memory.keep(key, recorded.remembered(answer))
                return answer
            output.note(known.note)
            output(known.data)
            return known.answer
        except (SnapshotExpired, FileNotFoundError):
            return {"expired": True}
        except WeirError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            raise engine.translate(error) from error

    def _run(
        self, prepared: PreparedStatement, request: Execute, views: dict[str, DatasetView], output: RecordingOutput
    ) -> Answer:
        statement = prepared.statement
        coded = Coded(request.coding)
        sink = _Capped(lambda data: output(coded.add(data)), request.largest_result_bytes)
        query = prepared.bound({name: self._schema(view) for name, view in views.items()}, _moment(request.now_ns))
        for name, conditions in file_conditions(query.relation).items():
            views[name] = replace(views[name], conditions=tuple(conditions))
        output.is_repeatable = query.repeatable
        output.note(scanned([view.snapshot for view in views.values()]) | {"outsideRange": self._outside(views)})
        tables = {name: self._table(view, is_explained=statement.explain) for name, view in views.items()}
        compiled = engine.lowered(statement, query, tables)
        formats.stream(compiled.frame, compiled.fields, request.options, sink)
        output(coded.finish())
        return {"expired": False, "coding": coded.coding, "repeatable": query.repeatable}

    def _outside(self, views: Mapping[str, DatasetView]) -> list[str]:
        """The datasets that have rows, though none in the query's range: the usual reason for an empty answer."""
        whole = {name: view.source.snapshot for name, view in views.items() if view.source.only is None}
        return [name for name, snapshot in whole.items() if is_outside_range(snapshot, self._tails.index)]

    def _view(self, source: Source) -> DatasetView:
        """The source with the columns that whoever asks may know of."""
        if source.only is None:
            reading = self._current[id(source)] = self._readings.of(source)
            return reading.view
        return DatasetView(source, self._narrowing.visible(source.snapshot, source.only))

    def _schema(self, view: DatasetView) -> Schema:
        return self._current[id(view.source)].schema if view.source.only is None else view.schema

    def _table(self, view: DatasetView, *, is_explained: bool) -> Table:
        only = view.source.only
        if only is None:
            # EXPLAIN tells what is done with the files.
            small = None if is_explained else self._small
            rows = self._current[id(view.source)].frame(view, self._tails, small)
            return Table(rows, view.json_columns, view.told if is_explained else "")
        rows = self._narrowing.scan(view.snapshot, only, view.conditions)
        return Table(rows.select(map(exactly, view.columns)), view.json_columns, view.told, narrowed=True)


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
    execution.handle(Parse("SELECT count(*) AS n FROM (VALUES (1), (2)) AS v (a) WHERE a > 1"), _Nowhere())
    execution.handle(Execute({}, 0, Options(), "identity", WARM_BYTES), _Nowhere())


class _Nowhere:
    def __call__(self, content: bytes, /) -> None:
        pass

    def note(self, content: Answer, /) -> None:
        pass


def handler() -> worker.Handle:
    """What a query process runs its requests by."""
    execution = Execution()
    _warm(execution)
    return execution.handle
