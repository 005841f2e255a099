"""Queries as the rest of the service sees them: a question in, a result out, in bounded time and memory."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from config import Settings
from errors import InternalError, QueryNotFound, QueryTooLarge, StorageUnavailable
from query.fault import unsupported
from query.metric_queries import MetricQueries
from query.process.ended_queries import EndedQueries, EndedQuery
from query.process.lease import Lease, Limits
from query.process.messages import Ask, Execute, Listed, Look, Names, Parse, Route, Share, Source
from query.process.pool import OnWait, Pool, ignore
from query.process.protocol import Answer
from query.process.query_process import QueryProcess
from query.process.result import Beginning, Result, Scanned, note_answer, receive_answer, receive_beginning
from query.process.slot_table import Query, SlotTable
from query.process.statement_names import StatementNames
from query.question import CHECK_SECONDS, MOST_SNAPSHOTS, NOT_YET_ERRORS, IsGone, Question, query_entry
from storage.context import Gap

List = Callable[[tuple[str, ...]], tuple[Listed, ...]]
Resolve = Callable[[tuple[str, ...], tuple[str, ...]], Mapping[str, Source]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement that can run, as far as it can be judged without data."""

    datasets: tuple[str, ...]
    explain: bool


Check = Callable[[str], Checked]
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
    """The queries of one worker; `metrics`: those about metrics. `start` before the first, `close` after the last."""

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
        self.metrics = MetricQueries(self._pool, self._largest_result_bytes)

    def start(self) -> None:
        """Have a process ready for the first query."""
        self._pool.start()

    def wait_until_warm(self, seconds: float) -> None:
        """Return when the first process is ready, or after `seconds`."""
        self._pool.wait_until_warm(seconds)

    def close(self) -> None:
        """End all queries of this worker."""
        self._pool.close()

    def run(self, question: Question, resolve: Resolve, is_gone: IsGone, list_datasets: List | None = None) -> Result:
        """The result of a query, which the caller must close.

        `resolve` gets the names of all datasets in the statement, and of the columns whose statistics may spare files;
        it authorises every dataset and returns what to read of each. It may be called again when a snapshot has
        expired. `is_gone` tells whether the client has left. `list_datasets` gives what the asker may know of, for the
        relations of information_schema that the statement reads; without it there are none. Raises whatever the
        callables raise, and InvalidSQL, UnsupportedSQL, QueryTooLarge, QueryCancelled, TimedOut, Overloaded.
        """
        started = time.monotonic()
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(query_entry(question), is_gone, question.timeout_seconds))
            sources, beginning = self._begin(lease, question, resolve, list_datasets)
            scanned = _scan_size(sources, lease.note)
            note_answer(lease, beginning, scanned)
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
        with self._pool.lease(query_entry(question), _never, count=len(statements)) as lease:
            lease.work.datasets = (name,)
            parses = tuple(map(Parse, statements))
            for _ in range(MOST_SNAPSHOTS):
                lease.send(Share(parses, name, take(), question.now_ns))
                if "shared" in receive_answer(lease):
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
        answer = receive_answer(lease)
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

    @contextmanager
    def checking(self, question: Question, is_gone: IsGone) -> Iterator[Check]:
        """Gives a function that judges one statement after another, in a query process and under a deadline.

        `question` says who asks, and what the list of running queries shows. The function raises InvalidSQL,
        UnsupportedSQL and as `run` does.
        """
        with self._pool.lease(query_entry(question), is_gone, CHECK_SECONDS) as lease:

            def check(sql: str) -> Checked:
                lease.send(Parse(sql))
                answer = receive_answer(lease)
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

    def visible(self, question: Question, take: Callable[[], Source], is_gone: IsGone) -> frozenset[str]:
        """The columns, as stored, that the reader of a source sees. `question` says who asks.

        `take` gives the source, again when its snapshot has expired. Raises as `run`.
        """
        with self._pool.lease(query_entry(question), is_gone) as lease:
            for _ in range(MOST_SNAPSHOTS):
                lease.send(Look(take()))
                answer = receive_answer(lease)
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
