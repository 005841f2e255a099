"""Queries as a query process runs them: parse, prepare over scans, stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from columns import POLARS_TYPES, ColumnType
from errors import InternalError, QueryTooLarge, WeirError
from query import engine
from query.engine import Compiled, Table
from query.lower.first_by_time import first_by_time
from query.pg.types import PgType
from query.plan.conditions import Conditions, file_conditions
from query.plan.environment import Schema, schema_of
from query.plan.partial_aggregates import Question
from query.plan.text_search import text_conditions
from query.plan.tree import Query, Relation
from query.process import information_schema, newest_files, routing, whole_files, worker
from query.process.dataset_view import DatasetView, scan_size
from query.process.description import SELF_DESCRIBED, description
from query.process.dynamic_filters import KnownKeys, known_keys
from query.process.messages import Ask, Execute, Listed, Look, Names, Parse, Share, Source
from query.process.metric_execution import REQUESTS, MetricExecution, Request
from query.process.partial_aggregates import KnownAnswers, PartialAggregates
from query.process.percentiles import known_percentiles
from query.process.protocol import Answer
from query.process.required_range import require_ranges
from query.process.result_cache import RecordingOutput, ResultCache, key_of
from query.process.routing import Choice, ClusterRun
from query.process.row_level_security import RowLevelSecurity
from query.process.shared_scan import SharedAnswers, SharedScan, is_selective, sole_aggregation
from query.process.source_cache import CachedSource, SourceCache
from query.process.statement_cache import PreparedStatement, StatementCache
from query.process.whole_files import KnownParts
from query.process.worker import Emit, Output
from query.results import formats
from query.results.content_coding import Coded
from query.results.options import Format, Options
from query.syntax.parse import Statement
from storage.exactly import exactly
from storage.files.text_conditions import TextConditions
from storage.read.contents import Column, Snapshot
from storage.read.fingerprint import is_outside_range
from storage.read.scan import SnapshotExpired, scan
from storage.read.small_files import SmallFiles
from storage.read.text_search import TextSearch
from storage.read.unconverted_rows import UnconvertedRows
from storage.wal.locations import RecordLocation

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_US = 1_000
WARM_BYTES = 1_000
# Formats whose columns have one type each, in which a decimal cannot be NaN.
_TYPED: Final = (Format.ARROW, Format.PARQUET)


class Execution:
    """The current statement, and the caches that outlive it."""

    def __init__(self) -> None:
        self._prepared: PreparedStatement | None = None
        self._unconverted_rows = UnconvertedRows()
        self._small_files = SmallFiles()
        self._row_level_security = RowLevelSecurity(self._unconverted_rows)
        self._result_cache = ResultCache(self._unconverted_rows.index)
        self._statement_cache = StatementCache()
        self._source_cache = SourceCache()
        self._text_search = TextSearch()
        self._partial_aggregates = PartialAggregates(self._scan)
        self._shared_scan = SharedScan(self._scan)
        self._shared_answers = SharedAnswers()
        self._metrics = MetricExecution(
            self._metric_rows, self._metric_part, self._metric_columns, self._has_unconverted
        )
        # The sources of the current request, by the identity of the object.
        self._current_sources: dict[int, CachedSource] = {}

    def handle(self, request: object, output: Output) -> Answer:
        """Run one request. Raises the error that the client gets."""
        if isinstance(request, Parse):
            return self._parse(request)
        if isinstance(request, Ask):
            return self._ask(request, output)
        if isinstance(request, REQUESTS):
            return self._of_metrics(request, output)
        if isinstance(request, Share):
            return self._share(request)
        if isinstance(request, Look):
            return self._look(request.source)
        if isinstance(request, Execute) and self._prepared is not None:
            return self._execute(self._prepared, request, output)
        raise InternalError("a query process was asked out of order")

    def _parse(self, request: Parse) -> Answer:
        self._prepared = self._statement_cache.prepare(request)
        statement = self._prepared.statement
        told = {"catalog": list(statement.catalog), "explain": statement.explain}
        return {"datasets": list(statement.datasets), "columns": self._prepared.compared_columns, **told}

    def _ask(self, request: Ask, output: Output) -> Answer:
        prepared = self._statement_cache.prepare(request.parse)
        named = Names(prepared.statement.datasets, tuple(prepared.compared_columns))
        if named != request.expected or prepared.statement.catalog:
            return self._parse(request.parse)
        return self._execute(prepared, request.execute, output)

    def _of_metrics(self, request: Request, output: Output) -> Answer:
        try:
            self._current_sources.clear()
            return self._metrics.handle(request, output)
        except (SnapshotExpired, FileNotFoundError):
            return {"expired": True}
        except pl.exceptions.ComputeError as error:
            raise engine.translate(error) from error

    def _metric_rows(self, source: Source, conditions: tuple[Conditions, ...]) -> pl.LazyFrame:
        view = replace(self._view(source), conditions=conditions)
        return self._table(view, is_explained=False).frame

    def _metric_columns(self, source: Source) -> tuple[Column, ...]:
        visible = self._view(source).visible
        return tuple(each for each in source.snapshot.schema.columns if each.stored in visible)

    def _metric_part(self, source: Source, part: Snapshot) -> pl.LazyFrame:
        """A part of a source's snapshot, as far as its reader may see it."""
        if source.permitted_tags is None:
            return scan(part, self._unconverted_rows)
        return self._row_level_security.scan(part, source.permitted_tags)

    def _has_unconverted(self, source: Source) -> bool:
        """Whether segments hold rows of the dataset that may be in the snapshot's range. Raises FileNotFoundError."""
        snapshot = source.snapshot
        bounds = (None, None) if snapshot.times_from else (snapshot.start, snapshot.end)
        found = self._unconverted_rows.read(
            snapshot.schema.dataset_id, snapshot.segments, *bounds, {snapshot.time_column}
        )
        return any(rows.height for rows in found)

    def _look(self, source: Source) -> Answer:
        try:
            return {"visible": sorted(self._view(source).visible)}
        except (SnapshotExpired, FileNotFoundError):
            return {"expired": True}

    def _execute(self, prepared: PreparedStatement, request: Execute, output: Output) -> Answer:
        try:
            self._current_sources.clear()
            views = {name: self._view(source) for name, source in request.sources.items()}
            # What the catalog lists changes without any file.
            is_kept = not prepared.statement.explain and not prepared.statement.catalog
            fingerprints = self._result_cache.fingerprint(views) if is_kept else None
            if fingerprints is None:
                return self._run(prepared, request, views, RecordingOutput(output))
            key = key_of(prepared.statement, request, views, fingerprints)
            cached = self._result_cache.get(key)
            if cached is None:
                recorded = RecordingOutput(output)
                answer = self._run(prepared, request, views, recorded)
                if recorded.is_repeatable:
                    self._result_cache.put(key, recorded.result(answer))
                return answer
            output.note(cached.note)
            output(cached.data)
            return cached.answer
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
        sink = _LimitedOutput(lambda data: output(coded.add(data)), request.largest_result_bytes)
        catalog = self._catalog(request.listed) if statement.catalog else {}
        bound = prepared.bind(self._schemas(views, catalog), _moment(request.now_ns), request.zone)
        shared = self._shared_answers.known(bound, views)
        query, views = shared.query, shared.views
        narrowed = self._narrowed(statement, request, query.relation, views)
        keyed = self._with_known_keys(statement, request, query, views, narrowed)
        known = whole_files.known_parts(keyed.query, keyed.views, self._text_search.row_groups)
        choice = routing.choose(request.route, statement, known.views)
        if choice.is_cluster:
            keyed, known = KnownKeys(query, narrowed), KnownParts(query, narrowed, {})
        answered = self._with_answers(statement, request, choice, known)
        known = answered.known
        query, views = known.query, known.views
        output.is_repeatable = query.repeatable
        output.note(
            scan_size([*(view.snapshot for view in (*views.values(), *keyed.asked)), *answered.asked])
            | {"outsideRange": self._datasets_outside_range(views)}
            | (description(statement, query) if request.options.format in SELF_DESCRIBED else {})
        )
        if request.options.format is Format.DESCRIPTION:
            return {"expired": False, "coding": "identity", "repeatable": query.repeatable}
        known = replace(known, tables={**known.tables, **keyed.tables, **shared.tables})
        if not choice.is_cluster and not statement.explain:
            known = self._with_percentiles(known)
        compiled = self._compile(statement, request, choice, known, catalog)
        rows = formats.stream(
            compiled.frame, compiled.fields, request.options, sink, request.zone, compiled.optimizations
        )
        output(coded.finish())
        # What the catalog lists is not among the rows of which somebody may think that they have not changed.
        is_repeatable = query.repeatable and not statement.catalog
        told = {"coding": coded.coding, "repeatable": is_repeatable, "rows": rows, "random": compiled.random.end()}
        return {"expired": False, **told}

    def _share(self, request: Share) -> Answer:
        """Answer what can be answered together, for the requests that follow."""
        try:
            self._current_sources.clear()
            self._shared_answers = SharedAnswers()
            if request.source.permitted_tags is not None:
                return {"shared": 0}
            view = self._view(request.source)
            found = [self._shared_question(each, request, view) for each in request.statements]
            questions = [each for each in found if each is not None]
            self._shared_answers = self._shared_scan.answers(request.source, questions)
            return {"shared": sum(each in self._shared_answers.answers for each in questions)}
        except (SnapshotExpired, FileNotFoundError):
            return {"expired": True}

    def _shared_question(self, parse: Parse, request: Share, view: DatasetView) -> Question | None:
        """What a statement asks of most rows of the view; None: it asks something else, or nothing that is valid."""
        try:
            prepared = self._statement_cache.prepare(parse)
            if prepared.statement.datasets != (request.name,) or prepared.statement.catalog:
                return None
            query = prepared.bind({request.name: self._schema(view)}, _moment(request.now_ns))
            narrowed = self._narrow_by(query.relation, {request.name: view})
        except WeirError:
            return None
        aggregation = sole_aggregation(query, narrowed)
        return None if aggregation is None or is_selective(narrowed[request.name], view) else aggregation.question

    def _schemas(self, views: Mapping[str, DatasetView], catalog: Mapping[str, Table]) -> dict[str, Schema]:
        of_datasets = {name: self._schema(view) for name, view in views.items()}
        return of_datasets | {name: engine.table_schema(table) for name, table in catalog.items()}

    def _narrowed(
        self, statement: Statement, request: Execute, relation: Relation, views: Mapping[str, DatasetView]
    ) -> dict[str, DatasetView]:
        """The views with what the statement's conditions and its order leave to read. Raises InvalidTimeRange."""
        is_described = request.options.format is Format.DESCRIPTION
        if not is_described:
            require_ranges(request.sources, file_conditions(relation))
        found = {**views, **self._narrow_by(relation, views)}
        return found if statement.explain or is_described else self._narrow_to_first(found, relation)

    def _narrow_by(self, relation: Relation, views: Mapping[str, DatasetView]) -> dict[str, DatasetView]:
        """The views of the datasets that the relation reads, with what its conditions leave of them."""
        texts = text_conditions(relation)
        return {
            name: self._narrow(replace(views[name], conditions=tuple(conditions)), texts[name])
            for name, conditions in file_conditions(relation).items()
            if name in views
        }

    def _with_known_keys(
        self,
        statement: Statement,
        request: Execute,
        query: Query,
        views: Mapping[str, DatasetView],
        narrowed: dict[str, DatasetView],
    ) -> KnownKeys:
        """The query with the small sides of its joins, which are asked for here, and what is left to read of `views`.

        Not of readers under row-level security: how long the answer takes would tell which keys hidden rows have.
        """
        is_narrow = any(view.source.permitted_tags is not None for view in views.values())
        is_asked = request.options.format is not Format.DESCRIPTION and not statement.explain
        if is_narrow or not is_asked or request.route.asked == "spark":
            return KnownKeys(query, narrowed)
        keyed = known_keys(query, narrowed, partial(self._narrow_by, views=views), self._rows)
        if not keyed.tables:
            return keyed
        return replace(
            keyed, views=self._narrow_to_first(self._narrow_by(keyed.query.relation, views), keyed.query.relation)
        )

    def _with_answers(self, statement: Statement, request: Execute, choice: Choice, known: KnownParts) -> KnownAnswers:
        """The query with what files have answered before, and what is left to read."""
        if choice.is_cluster or statement.explain or request.options.format is Format.DESCRIPTION:
            return KnownAnswers(known)
        return self._partial_aggregates.known(known, request.zone)

    def _with_percentiles(self, known: KnownParts) -> KnownParts:
        """The query with its percentiles of many values, which are counted here."""
        found = known_percentiles(known.query, known.views, known.tables, self._rows)
        return replace(known, query=found.query, tables={**known.tables, **found.tables})

    def _rows(self, relation: Relation, views: Mapping[str, DatasetView], tables: Mapping[str, Table]) -> pl.LazyFrame:
        """The rows of a part of a statement."""
        read = {name: self._table(view, is_explained=False) for name, view in views.items()}
        return engine.lower_relation(relation, {**read, **tables})

    def _compile(
        self, statement: Statement, request: Execute, choice: Choice, known: KnownParts, catalog: Mapping[str, Table]
    ) -> Compiled:
        if choice.is_cluster:
            return ClusterRun(statement, known.query, known.views, self._unconverted_rows).compile(
                request.route, choice
            )
        tables = {name: self._table(view, is_explained=statement.explain) for name, view in known.views.items()}
        tables |= {**catalog, **known.tables}
        as_text = request.options.format not in _TYPED
        return engine.lower_statement(statement, known.query, tables, choice.lines, request.random, as_text)

    def _catalog(self, listed: Iterable[Listed]) -> dict[str, Table]:
        """information_schema of the datasets and columns that whoever asks may know of. Raises SnapshotExpired."""
        return information_schema.relations((each.name, tuple(self._listed_columns(each))) for each in listed)

    def _listed_columns(self, listed: Listed) -> Iterator[tuple[str, PgType]]:
        narrowed = listed.narrowed
        visible = (
            None
            if narrowed is None
            else self._row_level_security.visible(narrowed.snapshot, narrowed.permitted_tags or frozenset())
        )
        shown = [each for each in listed.columns if visible is None or each.stored in visible]
        json_names = {each.name for each in shown if each.type is ColumnType.JSON}
        yield from schema_of([(each.name, POLARS_TYPES[each.type]) for each in shown], json_names).columns

    def _datasets_outside_range(self, views: Mapping[str, DatasetView]) -> list[str]:
        """The datasets that have rows, but none in the query's range: the usual reason for an empty answer."""
        whole = {name: view.source.snapshot for name, view in views.items() if view.source.permitted_tags is None}
        return [name for name, snapshot in whole.items() if is_outside_range(snapshot, self._unconverted_rows.index)]

    def _view(self, source: Source) -> DatasetView:
        """The source with the columns that its reader may see."""
        if source.permitted_tags is None:
            cached_source = self._current_sources[id(source)] = self._source_cache.of(source)
            return cached_source.view
        return DatasetView(source, self._row_level_security.visible(source.snapshot, source.permitted_tags))

    def _narrow(self, view: DatasetView, texts: Sequence[TextConditions]) -> DatasetView:
        """The view with what its text indexes leave of its files.

        Not of a reader under row-level security: how long the answer takes would tell which texts hidden rows have.
        """
        if view.source.permitted_tags is not None:
            return view
        return replace(view, narrowed=self._text_search.narrow(view.snapshot, texts))

    def _narrow_to_first(self, views: dict[str, DatasetView], relation: Relation) -> dict[str, DatasetView]:
        """The views, of a question for the first rows by time with what the order of time leaves of its files."""
        question = first_by_time(relation)
        view = None if question is None else views.get(question.dataset)
        if question is None or view is None or view.source.permitted_tags is not None:
            return views
        narrowed = newest_files.narrow_records(view.snapshot, question, self._scan, self._records(view.snapshot))
        narrowed = newest_files.narrow(narrowed, question, self._scan)
        return {**views, question.dataset: replace(view, narrowed=narrowed)}

    def _scan(self, snapshot: Snapshot) -> pl.LazyFrame:
        return scan(snapshot, self._unconverted_rows, self._small_files)

    def _records(self, snapshot: Snapshot) -> list[RecordLocation]:
        return self._unconverted_rows.locations(snapshot.schema.dataset_id, snapshot.segments)

    def _schema(self, view: DatasetView) -> Schema:
        return self._current_sources[id(view.source)].schema if view.source.permitted_tags is None else view.schema

    def _table(self, view: DatasetView, *, is_explained: bool) -> Table:
        permitted_tags = view.source.permitted_tags
        if permitted_tags is None:
            # EXPLAIN tells what is done with the files.
            small = None if is_explained else self._small_files
            rows = self._current_sources[id(view.source)].frame(view, self._unconverted_rows, small)
            return Table(rows, view.json_columns, view.explanation if is_explained else "")
        rows = self._row_level_security.scan(view.snapshot, permitted_tags, view.conditions)
        return Table(
            rows.select(map(exactly, view.columns)), view.json_columns, view.explanation, row_level_security=True
        )


class _LimitedOutput:
    """Passes data on, and fails beyond a limit of bytes."""

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
    """Run one small query: threads, caches and modules start on first use, and the first client must not wait."""
    execution.handle(Parse("SELECT count(*) AS n FROM (VALUES (1), (2)) AS v (a) WHERE a > 1"), _DiscardedOutput())
    execution.handle(Execute({}, 0, Options(), "identity", WARM_BYTES), _DiscardedOutput())
    # The first array that Polars takes makes it import numpy.ma, for which the first expression would wait 25 ms.
    pl.Series(np.zeros(1))


class _DiscardedOutput:
    def __call__(self, content: bytes, /) -> None:
        pass

    def note(self, content: Answer, /) -> None:
        pass


def handler() -> worker.Handle:
    """The function that runs the requests of a query process."""
    execution = Execution()
    _warm(execution)
    return execution.handle
