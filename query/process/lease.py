"""The use of a query process for one query: what it asks and gets, when it is ended, and why its process has gone."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from errors import InternalError, Overloaded, QueryCancelled, QueryTooLarge, TimedOut, WeirError
from query.process.ended_queries import Work
from query.process.fair_queue import RETRY_AFTER_SECONDS
from query.process.protocol import Answer, ConnectionLost
from query.process.query_process import QueryProcess
from query.process.slot_table import Query, SlotTable

logger = logging.getLogger(__name__)

MIB: Final = 1024 * 1024
# To check for a client that has gone or a cancelled query costs system calls, and nobody notices a tenth of a second.
CHECK_SECONDS: Final = 0.1
# A question that runs longer is none of the small ones, and gives way to them and to ingestion.
LONG_SECONDS: Final = 1.0
# What a process dies of when an allocation fails or the stack ends, rather than by a defect that we could name.
EXHAUSTED: Final = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
# Seen with this share of its memory, a query that the kernel killed was itself to blame.
BLAMED_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may use, how many run at once on the host, and how many may wait in one worker.

    Beyond `concurrency` one more slot is reserved for administrators and alerts.
    """

    timeout_seconds: float
    memory_bytes: int
    concurrency: int
    threads: int
    waiting: int
    waiting_seconds: float


class Lease:
    """The use of a slot and a process for one query. `is_gone` tells whether its client has left.

    `work` is what its user knows of the query, for who is told of its end.
    """

    def __init__(
        self, query: Query, process: QueryProcess, limits: Limits, is_gone: Callable[[], bool], work: Work, count: int
    ) -> None:
        self.query = query
        self.work = work
        self._process = process
        self._limits = limits
        self._is_gone = is_gone
        self._started = time.monotonic()
        self._steps_back = self._started + count * LONG_SECONDS
        self._deadline = self._started + limits.timeout_seconds
        self._checked_at = 0.0
        self._ended: WeirError | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def send(self, request: object) -> None:
        """Start a request; `receive` until its answer. Raises what ended the query."""
        try:
            self._process.send(request)
        except ConnectionLost as error:
            raise self._reason() from error

    def receive(self) -> bytes | Answer:
        """A piece of data, or the answer that ends the request. Raises the request's error, or what ended it."""
        try:
            return self._process.receive()
        except ConnectionLost as error:
            raise self._reason() from error

    def end(self, reason: WeirError) -> None:
        """Stop the query now. The first reason is what its caller gets."""
        with self._lock:
            if self._ended is None and not self._is_over:
                self._ended = reason
                self._process.kill()

    def release(self) -> None:
        """End the lease: the process may run another query now, which this lease must not kill."""
        with self._lock:
            self._is_over = True

    def check(self, host: SlotTable) -> None:
        """End the query if it is over a limit, or if nobody waits for it any more."""
        now = time.monotonic()
        if now > self._steps_back and not self._process.is_back:
            self._process.step_back()
        if now > self._deadline:
            self.end(TimedOut(f"the query ran longer than {self._limits.timeout_seconds:g} s"))
        elif self._process.charged_bytes() > self._limits.memory_bytes:
            limit = self._limits.memory_bytes
            self.end(QueryTooLarge(f"the query needs more than {limit // MIB} MiB of memory", limit=limit))
        elif now > self._checked_at + CHECK_SECONDS:
            self._checked_at = now
            if self._is_gone() or host.is_cancelled(self.query.id):
                self.end(QueryCancelled("the query was cancelled"))

    def _reason(self) -> WeirError:
        """Why the process is gone."""
        if self._ended is not None:
            return self._ended
        status = self._process.ended_by()
        self._process.kill()
        logger.error("query process %d ended with %s during query %s", self._process.pid, status, self.query.id)
        if status in EXHAUSTED or (status == -signal.SIGKILL and self._was_large()):
            return QueryTooLarge("the query needs more memory or nesting than one query may use")
        if status == -signal.SIGKILL:
            # Not by us: the kernel takes queries first when memory ends, whoever used it up.
            return Overloaded("the host is short of memory, and the query was ended for it", RETRY_AFTER_SECONDS)
        return InternalError("the process that ran the query ended unexpectedly")

    def _was_large(self) -> bool:
        return self.most_charged >= BLAMED_SHARE * self._limits.memory_bytes

    @property
    def is_usable(self) -> bool:
        """Whether the process waits for a request of this query."""
        return self._process.is_ready()

    @property
    def note(self) -> Answer:
        """The note that the process sent before the data."""
        return self._process.note

    @property
    def most_charged(self) -> int:
        """The most memory in bytes that the query was seen with."""
        return self._process.most_charged
