"""Queries as the rest of the service sees them: a question in, a result out, in bounded time and memory."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from config import Settings
from errors import (
    DatasetNotFound,
    Forbidden,
    InternalError,
    InvalidRequest,
    QueryNotFound,
    QueryTooLarge,
    StorageUnavailable,
)
from query.fault import unsupported
from query.metrics.questions import MetricQuestion, ReadQuery
from query.parameters import Parameter, RandomState
from query.process.ended_queries import EndedQueries, EndedQuery
from query.process.lease import Lease, Limits
from query.process.messages import Ask, Execute, Listed, Look, Names, Parse, Route, Share, Source
from query.process.metric_messages import (
    AskExpression,
    Describe,
    Evaluate,
    Expression,
    Find,
    MetricLimits,
    ParseExpression,
    Reach,
    Read,
)
from query.process.pool import OnWait, Pool, ignore
from query.process.protocol import Answer
from query.process.query_process import QueryProcess
from query.process.result import Beginning, Result, Scanned, receive_beginning
from query.process.slot_table import Query, SlotTable
from query.process.statement_names import Reaches, StatementNames
from query.results.options import Options
from storage.context import Gap

# A file goes only after a grace far longer than a query; a segment may go right after it was listed.
MOST_SNAPSHOTS: Final = 5
# What is wrong with a dataset that was only guessed is nobody's error.
NOT_YET_ERRORS: Final = (Forbidden, DatasetNotFound, InvalidRequest)
NS_PER_SECOND: Final = 1_000_000_000
# The longest statement takes a few seconds to parse on a busy machine, those of people a hundredth.
CHECK_SECONDS: Final = 20.0

ResolveRange = Callable[[int | None, int | None], Source]
List = Callable[[tuple[str, ...]], tuple[Listed, ...]]
IsGone = Callable[[], bool]
Resolve = Callable[[tuple[str, ...], tuple[str, ...]], Mapping[str, Source]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement that can run, as far as it can be judged without data."""

    datasets: tuple[str, ...]
    explain: bool


Check = Callable[[str], Checked]


@dataclass(frozen=True, slots=True)
class Question:
    """One query as it was asked. `tenant` and `identity` (kind and name) say by whom; `now_ns` is its `now()`.

    `privileged`: it may take the slot that is kept for administrators and alerts. `id_prefix` begins the query's id,
    by which the session that asks can end it. `timeout_seconds`: less time than others have. `engine`: where it has to
    run, `local` or `spark`; None: where it fits. `zone`: the session's time zone by PostgreSQL's name; nothing: UTC.
    `datasets`: what it is about, where its text does not say so, as PromQL does not. `random`: where the session's
    random numbers go on, if it has set a seed.
    """

    tenant: str
    identity: str
    sql: str
    now_ns: int
    parameters: tuple[Parameter, ...] = ()
    options: Options = field(default_factory=Options)
    coding: str = "identity"
    privileged: bool = False
    id_prefix: str = ""
    timeout_seconds: float | None = None
    engine: str | None = None
    zone: str = ""
    datasets: tuple[str, ...] = ()
    random: RandomState | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How an expression is to be answered: samples and series that it may read, series in the answer (0: all).

    `timeout_seconds` None: the service's own.
    """

    samples: int
    series: int
    limit: int = 0
    stats: bool = False
    streamed: bool = False
    timeout_seconds: float | None = None


Begin = Callable[[Lease, Question, Resolve], tuple[Mapping[str, Source], Beginning]]


class SharedRuns:
    """Statements that run one after another in one process, which has scanned what they share."""

    def __init__(self, lease: Lease, begin: Begin) -> None:
        self._lease, self._begin = lease, begin

    @property
    def is_usable(self) -> bool:
        """False once the process has ended, with whichever statement that was."""
        return self._lease.is_usable

    def run(self, question: Question, resolve: Resolve) -> Result:
        """As `QueryService.run`; its result is whole. Raises QueryTooLarge for one that is too large for that."""
        started = time.monotonic()
        _, beginning = self._begin(self._lease, question, resolve)
        if beginning.coding is None:
            while isinstance(self._lease.receive(), bytes):
                pass
            raise QueryTooLarge("the result is too large to be held")
        return Result(beginning, None, question.coding, None, time.monotonic() - started, self._lease.note)


class QueryService:
    """The queries of one worker. `start` before the first, `close` after the last."""

    def __init__(self, settings: Settings, module: str = "query.process.execution", on_wait: OnWait = ignore) -> None:
        limits = Limits(
            timeout_seconds=settings.query_timeout_seconds,
            memory_bytes=settings.query_memory_bytes,
            concurrency=settings.query_concurrency,
            threads=settings.query_threads,
            waiting=settings.query_queue,
            waiting_seconds=settings.query_queue_seconds,
        )
        self._largest_result_bytes = settings.query_result_bytes
        self._route = Route(settings.spark_url, settings.spark_bytes, settings.query_timeout_seconds)
        self._host = SlotTable(settings.data_dir / "queries", settings.query_concurrency)
        self._ended = EndedQueries(settings.data_dir / "queries", settings.slow_query_seconds)
        self._pool = Pool(self._host, limits, module, on_wait, self._ended.note)
        self._statement_names = StatementNames()
        self._reaches = Reaches()

    def start(self) -> None:
        """Have a process ready for the first query."""
        self._pool.start()

    def wait_until_warm(self, seconds: float) -> None:
        """Return when the first process is ready, or after `seconds`."""
        self._pool.wait_until_warm(seconds)

    def close(self) -> None:
        """End all queries of this worker."""
        self._pool.close()

    def run(
        self, question: Question, resolve: Resolve, is_gone: Callable[[], bool], list_datasets: List | None = None
    ) -> Result:
        """The result of a query, which the caller must close.

        `resolve` gets the names of all datasets in the statement, and of the columns whose statistics may spare files;
        it authorises every dataset and returns what to read of each. It may be called again when a snapshot has
        expired. `is_gone` tells whether the client has left. `list_datasets` gives what the asker may know of, for the
        relations of information_schema that the statement reads; without it there are none. Raises whatever the
        callables raise, and InvalidSQL, UnsupportedSQL, QueryTooLarge, QueryCancelled, TimedOut, Overloaded.
        """
        started = time.monotonic()
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(_query_entry(question), is_gone, question.timeout_seconds))
            sources, beginning = self._begin(lease, question, resolve, list_datasets)
            scanned = _scan_size(sources, lease.note)
            _note_answer(lease, beginning, scanned)
            note = lease.note
            rest = (lease, stack.pop_all()) if beginning.coding is None else None
        return Result(
            beginning, rest, question.coding, scanned, time.monotonic() - started, note, _gaps(sources.values())
        )

    @contextmanager
    def sharing(
        self, question: Question, statements: Sequence[str], name: str, take: Callable[[], Source]
    ) -> Iterator["SharedRuns"]:
        """Runs statements one after another which share a scan of the dataset `name` where they can.

        `question` says who asks, at what moment, and what the list of running queries shows. `take` gives what is to be
        read, again when it has expired; statements that are given the very same source share. Raises as `take` does,
        and Overloaded, QueryTooLarge, TimedOut.
        """
        with self._pool.lease(_query_entry(question), _never, count=len(statements)) as lease:
            lease.work.datasets = (name,)
            parses = tuple(map(Parse, statements))
            for _ in range(MOST_SNAPSHOTS):
                lease.send(Share(parses, name, take(), question.now_ns))
                if "shared" in _receive_answer(lease):
                    break
            yield SharedRuns(lease, self._begin)

    def _begin(
        self, lease: Lease, question: Question, resolve: Resolve, list_datasets: List | None = None
    ) -> tuple[Mapping[str, Source], Beginning]:
        sources, beginning = self._ask_as_expected(lease, question, resolve)
        return (sources, beginning) if beginning is not None else self._ask(lease, question, resolve, list_datasets)

    def _ask_as_expected(
        self, lease: Lease, question: Question, resolve: Resolve
    ) -> tuple[Mapping[str, Source], Beginning | None]:
        """The sources and the beginning in one message, if the statement names what others of its shape have named.

        No beginning: it may name something else. What was expected is authorised as anything else.
        """
        expected = self._statement_names.expected(question.sql)
        if expected is None:
            return {}, None
        try:
            sources = resolve(expected.datasets, expected.columns)
        except NOT_YET_ERRORS:
            return {}, None
        lease.work.datasets = tuple(sources)
        parse = Parse(question.sql, question.parameters)
        lease.send(Ask(parse, expected, self._execute(question, sources, ())))
        return sources, receive_beginning(lease)

    def _ask(
        self, lease: Lease, question: Question, resolve: Resolve, list_datasets: List | None
    ) -> tuple[Mapping[str, Source], Beginning]:
        """The same in two messages: what does it name, and then the sources."""
        lease.send(Parse(question.sql, question.parameters))
        answer = _receive_answer(lease)
        datasets, columns = _datasets_and_columns(answer)
        catalog = _catalog(answer, is_there=list_datasets is not None)
        if not catalog:
            self._statement_names.learn(question.sql, Names(datasets, columns))
        for _ in range(MOST_SNAPSHOTS):
            sources = resolve(datasets, columns)
            lease.work.datasets = tuple(sources)
            listed = list_datasets(catalog) if list_datasets is not None and catalog else ()
            lease.send(self._execute(question, sources, listed))
            beginning = receive_beginning(lease)
            if beginning is not None:
                return sources, beginning
        raise StorageUnavailable("what the query has to read kept moving; try again")

    def evaluate(
        self, question: Question, expression: Expression, wanted: ReadOptions, resolve: ResolveRange, is_gone: IsGone
    ) -> Result:
        """The answer to a PromQL expression, whole JSON, which the caller must close.

        `resolve` gives what to read of the dataset from one ms to another, both included (None: nothing is needed),
        and authorises it. Raises whatever it raises, InvalidPromQL, PromQLFailed, and as `run`.
        """
        limits = MetricLimits(wanted.samples, wanted.series, self._largest_result_bytes)
        asked = time.monotonic()
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(_query_entry(question), is_gone, wanted.timeout_seconds))
            queued = time.monotonic() - asked

            def evaluation(reach: Reach) -> Evaluate:
                # An expression without a selector needs no samples: what is read of one instant is next to nothing.
                instant = expression.start_ms, expression.start_ms
                start, end = instant if reach.start_ms is None else (reach.start_ms, reach.end_ms)
                return Evaluate(resolve(start, end), limits, question.coding, wanted.limit, wanted.stats, queued)

            expected = self._reaches.expected(expression)

            def request() -> Evaluate | AskExpression:
                nonlocal expected
                reach, expected = expected, None
                with suppress(*NOT_YET_ERRORS):
                    if reach is not None:
                        return AskExpression(ParseExpression(expression), reach, evaluation(reach))
                return evaluation(self._reach(lease, expression))

            return self._answer_metrics(stack, lease, question, request)

    def _reach(self, lease: Lease, expression: Expression) -> Reach:
        lease.send(ParseExpression(expression))
        answer = _receive_answer(lease)
        reach = Reach(_milliseconds(answer, "start"), _milliseconds(answer, "end"))
        self._reaches.learn(expression, reach)
        return reach

    def find(self, question: Question, lookup: MetricQuestion, resolve: ResolveRange, is_gone: IsGone) -> Result:
        """The answer to a question about label sets or exemplars; otherwise as `evaluate`."""
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(_query_entry(question), is_gone))

            def request() -> Find:
                source = resolve(lookup.start_ms, lookup.end_ms)
                return Find(source, lookup, question.coding, self._largest_result_bytes)

            return self._answer_metrics(stack, lease, question, request)

    def read(
        self,
        question: Question,
        queries: tuple[ReadQuery, ...],
        wanted: ReadOptions,
        resolve: ResolveRange,
        is_gone: IsGone,
    ) -> Result:
        """The answer to a remote-read request; `wanted.streamed`: as XOR chunks. Otherwise as `evaluate`."""
        limits = MetricLimits(wanted.samples, wanted.series, self._largest_result_bytes)
        start = min((each.start_ms for each in queries), default=None)
        end = max((each.end_ms for each in queries), default=None)
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(_query_entry(question), is_gone))
            return self._answer_metrics(
                stack, lease, question, lambda: Read(resolve(start, end), queries, wanted.streamed, limits)
            )

    def describe(self, question: Question, kind: str, is_gone: IsGone) -> Result:
        """An expression formatted (`format`), or as a tree (`tree`)."""
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(_query_entry(question), is_gone, CHECK_SECONDS))
            return self._answer_metrics(stack, lease, question, lambda: Describe(kind, question.sql, question.coding))

    def _answer_metrics(
        self, stack: ExitStack, lease: Lease, question: Question, request: Callable[[], object]
    ) -> Result:
        started = time.monotonic()
        lease.work.datasets = question.datasets
        for _ in range(MOST_SNAPSHOTS):
            lease.send(request())
            beginning = receive_beginning(lease)
            if beginning is not None:
                break
        else:
            raise StorageUnavailable("what the query has to read kept moving; try again")
        _note_answer(lease, beginning, None)
        rest = (lease, stack.pop_all()) if beginning.coding is None else None
        return Result(beginning, rest, question.coding, None, time.monotonic() - started, {})

    @contextmanager
    def checking(self, question: Question, is_gone: Callable[[], bool]) -> Iterator[Check]:
        """Gives a function that judges one statement after another, in a query process and under a deadline.

        `question` says who asks, and what the list of running queries shows. The function raises InvalidSQL,
        UnsupportedSQL and as `run` does.
        """
        with self._pool.lease(_query_entry(question), is_gone, CHECK_SECONDS) as lease:

            def check(sql: str) -> Checked:
                lease.send(Parse(sql))
                answer = _receive_answer(lease)
                _catalog(answer, is_there=False)
                return Checked(_datasets_and_columns(answer)[0], answer["explain"] is True)

            yield check

    def cancel_by_prefix(self, prefix: str) -> None:
        """End the queries of this host whose ids begin so; none is fine."""
        self._host.open()
        self._host.cancel_by_prefix(prefix)

    def give_away_process(self) -> QueryProcess:
        """A warm query process for other work than queries. Raises Overloaded."""
        return self._pool.give_away()

    def visible(self, question: Question, take: Callable[[], Source], is_gone: Callable[[], bool]) -> frozenset[str]:
        """The columns, as stored, that the reader of a source sees. `question` says who asks.

        `take` gives the source, again when its snapshot has expired. Raises as `run`.
        """
        with self._pool.lease(_query_entry(question), is_gone) as lease:
            for _ in range(MOST_SNAPSHOTS):
                lease.send(Look(take()))
                answer = _receive_answer(lease)
                if isinstance(names := answer.get("visible"), list):
                    return frozenset(map(str, names))
        raise StorageUnavailable("what the query has to read kept moving; try again")

    def _execute(self, question: Question, sources: Mapping[str, Source], listed: tuple[Listed, ...]) -> Execute:
        limit = self._largest_result_bytes
        route = replace(self._route, asked=question.engine)
        session = question.zone, question.random
        return Execute(sources, question.now_ns, question.options, question.coding, limit, listed, route, *session)

    def queries(self, tenant: str) -> list[Query]:
        """The queries of the tenant that wait or run on this host."""
        self._host.open()
        return self._host.queries(tenant)

    def slow(self, tenant: str) -> list[EndedQuery]:
        """The slow queries of the tenant that have ended on this host within a day, the latest first."""
        return self._ended.of(tenant)

    def in_progress(self) -> int:
        """How many queries of all tenants wait or run on this host."""
        return self._host.count()

    def cancel(self, tenant: str, query_id: str, may: Callable[[Query], bool]) -> Query:
        """End a query that the caller `may` end. Raises QueryNotFound, the same for another's and for none."""
        for query in self.queries(tenant):
            if query.id == query_id and may(query):
                self._host.cancel(query.id)
                return query
        raise QueryNotFound("no query of yours with this id is running")


def _never() -> bool:
    return False


def _query_entry(question: Question) -> Query:
    started_at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    by = question.tenant, question.identity
    query_id = question.id_prefix + uuid.uuid4().hex[len(question.id_prefix) :]
    return Query(query_id, *by, question.sql, started_at, question.privileged)


def _note_answer(lease: Lease, beginning: Beginning, scanned: Scanned | None) -> None:
    """For the list of slow queries."""
    lease.work.rows = beginning.rows
    if scanned is not None:
        lease.work.files, lease.work.bytes = scanned.files, scanned.bytes


def _milliseconds(answer: Answer, key: str) -> int | None:
    found = answer.get(key)
    return found if isinstance(found, int) else None


def _receive_answer(lease: Lease) -> Answer:
    """What a request without data is answered with."""
    answer = lease.receive()
    if isinstance(answer, bytes):
        raise InternalError("a query process answered out of order")
    return answer


def _datasets_and_columns(answer: Answer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The datasets of the statement, and the columns that its conditions are about."""
    if not all(isinstance(answer.get(key), list) for key in ("datasets", "columns")):
        raise InternalError("a query process answered out of order")
    return tuple(map(str, answer["datasets"])), tuple(map(str, answer["columns"]))


def _catalog(answer: Answer, *, is_there: bool) -> tuple[str, ...]:
    """The relations of information_schema that the statement reads. Raises UnsupportedSQL where there is none."""
    found = answer.get("catalog")
    names = tuple(map(str, found)) if isinstance(found, list) else ()
    if names and not is_there:
        raise unsupported(f"{names[0]} in a stored query", None, "POST /api/v1/query reads it")
    return names


def _gaps(sources: Iterable[Source]) -> tuple[Gap, ...]:
    """The hosts that could not be asked for one of the sources, each once."""
    found = {each.host: each for source in sources for each in source.snapshot.gaps}
    return tuple(found[name] for name in sorted(found))


def _scan_size(sources: Mapping[str, Source], note: Answer) -> Scanned | None:
    """None under row-level security: the sizes would tell the reader of hidden rows."""
    if any(source.permitted_tags is not None for source in sources.values()):
        return None
    outside = note.get("outsideRange")
    names = tuple(map(str, outside)) if isinstance(outside, list) else ()
    return Scanned(int(note.get("files", 0)), int(note.get("bytes", 0)), names)
