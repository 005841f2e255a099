"""Questions in PromQL and about metrics, asked of query processes: expressions, label sets, samples."""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from errors import StorageUnavailable
from query.metrics.questions import MetricQuestion, ReadQuery
from query.process.lease import Lease
from query.process.messages import Source
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
from query.process.pool import Pool
from query.process.protocol import Answer
from query.process.recent import LONGEST_CHARACTERS, Recent, digest
from query.process.result import Result, note_answer, receive_answer, receive_beginning
from query.question import CHECK_SECONDS, MOST_SNAPSHOTS, NOT_YET_ERRORS, IsGone, Question, query_entry

# An instant of its own, or a subquery, whose steps are multiples of its resolution: what is read follows from the time.
_OTHER_TIMES: Final = re.compile(r"@|\[[^]]*:")
MOST_EXPRESSIONS: Final = 1024

ResolveRange = Callable[[int | None, int | None], Source]


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


class Reaches:
    """From when to when the latest expressions needed samples, relative to the times asked for.

    Only ever a guess: the query process says whether it holds. Safe for threads.
    """

    def __init__(self) -> None:
        self._reaches: Recent[bytes, Reach] = Recent(MOST_EXPRESSIONS)

    def expected(self, expression: Expression) -> Reach | None:
        """What the expression needs, probably; None: nobody has asked it lately."""
        found = self._reaches.get(_kind(expression))
        return None if found is None else found.moved(expression.start_ms, expression.end_ms)

    def learn(self, expression: Expression, reach: Reach) -> None:
        """Expect the same of the expression at other times."""
        if len(expression.text) <= LONGEST_CHARACTERS and not _OTHER_TIMES.search(expression.text):
            self._reaches.put(_kind(expression), reach.moved(-expression.start_ms, -expression.end_ms))


class MetricQueries:
    """The questions about metrics of one worker, asked of the processes of `pool`."""

    def __init__(self, pool: Pool, largest_result_bytes: int) -> None:
        self._pool, self._largest_result_bytes = pool, largest_result_bytes
        self._reaches = Reaches()

    def evaluate(
        self, question: Question, expression: Expression, wanted: ReadOptions, resolve: ResolveRange, is_gone: IsGone
    ) -> Result:
        """The answer to a PromQL expression, whole JSON, which the caller must close.

        `resolve` gives what to read of the dataset from one ms to another, both included (None: nothing is needed),
        and authorises it. Raises whatever it raises, InvalidPromQL, PromQLFailed, and as `QueryService.run`.
        """
        limits = MetricLimits(wanted.samples, wanted.series, self._largest_result_bytes)
        asked = time.monotonic()
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(query_entry(question), is_gone, wanted.timeout_seconds))
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

            return self._answer(stack, lease, question, request)

    def _reach(self, lease: Lease, expression: Expression) -> Reach:
        lease.send(ParseExpression(expression))
        answer = receive_answer(lease)
        reach = Reach(_milliseconds(answer, "start"), _milliseconds(answer, "end"))
        self._reaches.learn(expression, reach)
        return reach

    def find(self, question: Question, lookup: MetricQuestion, resolve: ResolveRange, is_gone: IsGone) -> Result:
        """The answer to a question about label sets or exemplars; otherwise as `evaluate`."""
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(query_entry(question), is_gone))

            def request() -> Find:
                source = resolve(lookup.start_ms, lookup.end_ms)
                return Find(source, lookup, question.coding, self._largest_result_bytes)

            return self._answer(stack, lease, question, request)

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
            lease = stack.enter_context(self._pool.lease(query_entry(question), is_gone))
            return self._answer(
                stack, lease, question, lambda: Read(resolve(start, end), queries, wanted.streamed, limits)
            )

    def describe(self, question: Question, kind: str, is_gone: IsGone) -> Result:
        """An expression formatted (`format`), or as a tree (`tree`)."""
        with ExitStack() as stack:
            lease = stack.enter_context(self._pool.lease(query_entry(question), is_gone, CHECK_SECONDS))
            return self._answer(stack, lease, question, lambda: Describe(kind, question.sql, question.coding))

    def _answer(self, stack: ExitStack, lease: Lease, question: Question, request: Callable[[], object]) -> Result:
        started = time.monotonic()
        lease.work.datasets = question.datasets
        for _ in range(MOST_SNAPSHOTS):
            lease.send(request())
            beginning = receive_beginning(lease)
            if beginning is not None:
                break
        else:
            raise StorageUnavailable("what the query has to read kept moving; try again")
        note_answer(lease, beginning, None)
        rest = (lease, stack.pop_all()) if beginning.coding is None else None
        return Result(beginning, rest, question.coding, None, time.monotonic() - started, {})


def _milliseconds(answer: Answer, key: str) -> int | None:
    found = answer.get(key)
    return found if isinstance(found, int) else None


def _kind(expression: Expression) -> bytes:
    settings = expression.is_range, expression.lookback_ms, expression.experimental
    return digest(f"{settings}{expression.text[:LONGEST_CHARACTERS]}")
