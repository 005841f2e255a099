"""The query processes of one worker: kept warm, leased to one query at a time, watched, replaced when they die.

Written against the standard library's threads and sockets, which under gunicorn are gevent's. Knows neither SQL nor
HTTP. The design and what was measured: docs/decisions/query-processes.md.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from errors import Overloaded, QueryCancelled, ShuttingDown
from query.process.ended_queries import Work
from query.process.fair_queue import RETRY_AFTER_SECONDS, FairQueue
from query.process.lease import CHECK_SECONDS, MIB, Lease, Limits
from query.process.protocol import ConnectionLost
from query.process.query_process import QueryProcess, server_of
from query.process.slot_table import LockedFile, Query, SlotTable

logger = logging.getLogger(__name__)

# How often running queries are looked at. Polars allocates about 2 GB/s here, so a query overshoots by some 50 MB.
WATCH_SECONDS: Final = 0.025
# Waiting for another worker's query to end is polling: there is no lock that gevent could wait for.
POLL_SECONDS: Final = 0.003
# The same where it is the caller's own queries that have to end, of which another worker may have some.
SHARE_SECONDS: Final = 0.02
# Slots beyond those for everybody (query/process/slot_table.py).
RESERVED_SLOTS: Final = 1
# A process that keeps more than this after a query is replaced rather than kept warm.
RETAINED_BYTES: Final = 384 * MIB
# One idle process stays for ever; those that a burst has left behind go after this.
IDLE_SECONDS: Final = 60.0
# Unless it keeps more than this, of which 60 MiB are shared: nobody gives it back but a process that runs
# (docs/decisions/query-processes.md, "A fork server").
IDLE_BYTES: Final = 128 * MIB
# A process that cannot start (no memory, a broken installation) is not tried again at full speed.
RESTART_SECONDS: Final = 1.0


# Called with the seconds that a query waited for its slot, also if it gave up.
OnWait = Callable[[float], None]


def ignore(seconds: float) -> None:
    """An OnWait that counts nothing."""


# Called with a query that has ended, what is known of it, and the seconds that it took from its arrival.
OnEnd = Callable[[Query, Work, float], None]


def forget(query: Query, work: Work, seconds: float) -> None:
    """An OnEnd that notes nothing."""


@dataclass(frozen=True, slots=True)
class _Hold:
    """A slot of the host, and its number in the caller's share."""

    slot: int
    share: int


class _Waiting:
    """A query that waits for its slot. Its owner holds a lock."""

    def __init__(self, host: SlotTable, query: Query, queue: FairQueue) -> None:
        self._host, self._query, self._queue = host, query, queue
        self._ticket = queue.join(query.caller)
        self._entry: LockedFile | None = None
        self._share: int | None = None

    def try_acquire(self) -> _Hold | None:
        """The slot, if it is the query's turn now."""
        if self._share is None and self._queue.is_next_of(self._query.caller, self._ticket):
            self._share = self._host.try_share(self._query)
            if self._share is not None:
                self._queue.mark_ready(self._ticket)
        if self._share is None or not self._queue.is_first(self._ticket):
            return None
        self._entry = self._entry or self._host.enqueue(privileged=self._query.privileged)
        slot = self._host.try_slot(self._entry, privileged=self._query.privileged)
        if slot is None:
            return None
        hold, self._share = _Hold(slot, self._share), None
        return hold

    @property
    def patience_seconds(self) -> float:
        """How long to wait before the next try, if this worker frees no slot before."""
        if self._share is None:
            return SHARE_SECONDS if self._queue.is_next_of(self._query.caller, self._ticket) else CHECK_SECONDS
        if not self._queue.is_first(self._ticket) or self._host.holds_all(privileged=self._query.privileged):
            return CHECK_SECONDS
        return POLL_SECONDS

    def leave(self) -> None:
        self._queue.leave(self._query.caller, self._ticket)
        if self._share is not None:
            self._host.release_share(self._share)
        if self._entry is not None:
            self._entry.close()


class Pool:
    """Lends processes to queries. One for each worker; the limits hold for all workers of the host together."""

    def __init__(
        self, host: SlotTable, limits: Limits, module: str, on_wait: OnWait = ignore, on_end: OnEnd = forget
    ) -> None:
        self._host, self._limits, self._module = host, limits, module
        self._server = server_of(module, limits.threads)
        self._on_wait, self._on_end = on_wait, on_end
        self._changed = threading.Condition()
        self._queue = FairQueue(limits.waiting)
        self._privileged_queue = FairQueue(limits.waiting)
        self._idle: list[QueryProcess] = []
        self._leases: set[Lease] = set()
        self._requested = 0
        self._starting = 0
        self._size = 0
        self._running = False

    def start(self) -> None:
        """Begin to keep processes warm. Safe to call again."""
        with self._changed:
            if self._running:
                return
            self._running = True
        self._server.open()
        self._host.open()
        self._host.sweep()
        for target in (self._replenish, self._watch):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()

    def wait_until_warm(self, seconds: float) -> None:
        """Return when a process has come up, or after `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._idle or self._leases), seconds)

    def close(self) -> None:
        """End every query and every process."""
        with self._changed:
            self._running = False
            leases, idle = list(self._leases), list(self._idle)
            self._idle.clear()
            self._changed.notify_all()
        for lease in leases:
            lease.end(ShuttingDown("the service is shutting down"))
        for process in idle:
            self._discard(process)
        self._server.close()

    @contextmanager
    def lease(
        self, query: Query, is_gone: Callable[[], bool], timeout_seconds: float | None = None, count: int = 1
    ) -> Iterator[Lease]:
        """A process for `query`, as soon as it is its turn, for `timeout_seconds` if that is less than others get.

        `count`: it is so many questions in one, and no long one before it runs so many times as long.

        Raises Overloaded, QueryCancelled, ShuttingDown.
        """
        self.start()
        limits = self._limits
        if timeout_seconds is not None:
            limits = replace(limits, timeout_seconds=min(timeout_seconds, limits.timeout_seconds))
        started, work = time.monotonic(), Work()
        entry = self._host.enter(query)
        try:
            with self._slot(query, is_gone), self._process() as process:
                work.waited_seconds = time.monotonic() - started
                lease = Lease(query, process, limits, is_gone, work, count)
                with self._watch_lease(lease):
                    yield lease
        except BaseException as error:
            work.fail(error)
            raise
        finally:
            entry.close()
            self._on_end(query, work, time.monotonic() - started)

    @contextmanager
    def _slot(self, query: Query, is_gone: Callable[[], bool]) -> Iterator[None]:
        started = time.monotonic()
        try:
            with self._changed:
                hold = self._try_hold(query) or self._wait_for_slot(query, is_gone)
        finally:
            self._on_wait(time.monotonic() - started)
        try:
            yield
        finally:
            with self._changed:
                self._host.release_slot(hold.slot)
                self._host.release_share(hold.share)
                self._changed.notify_all()

    def _queue_of(self, query: Query) -> FairQueue:
        return self._privileged_queue if query.privileged else self._queue

    def _try_hold(self, query: Query) -> "_Hold | None":
        """A slot without waiting, if nobody waits."""
        share = None if len(self._queue_of(query)) else self._host.try_share(query)
        if share is None:
            return None
        slot = self._host.try_slot(None, privileged=query.privileged)
        if slot is None:
            self._host.release_share(share)
            return None
        return _Hold(slot, share)

    def _wait_for_slot(self, query: Query, is_gone: Callable[[], bool]) -> "_Hold":
        """Wait for the caller's other queries, then in this worker's queue, and at its head in the host's."""
        queue = self._queue_of(query)
        deadline = time.monotonic() + self._limits.waiting_seconds
        waiting = _Waiting(self._host, query, queue)
        try:
            while True:
                hold = waiting.try_acquire()
                if hold is not None:
                    return hold
                self._check_waiting(query, deadline, is_gone)
                self._changed.wait(waiting.patience_seconds)
        finally:
            waiting.leave()
            self._changed.notify_all()

    def _check_waiting(self, query: Query, deadline: float, is_gone: Callable[[], bool]) -> None:
        if not self._running:
            raise ShuttingDown("the service is shutting down")
        if time.monotonic() > deadline:
            waiting_seconds = self._limits.waiting_seconds
            raise Overloaded(f"no query slot became free within {waiting_seconds:g} s", RETRY_AFTER_SECONDS)
        if self._host.is_cancelled(query.id) or is_gone():
            raise QueryCancelled("the query was cancelled while it waited")

    def give_away(self) -> QueryProcess:
        """A process that is the caller's from now on, and runs none of this pool's queries. Raises Overloaded."""
        self.start()
        process = self._take()
        with self._changed:
            self._size -= 1
            self._changed.notify_all()
        return process

    @contextmanager
    def _process(self) -> Iterator[QueryProcess]:
        process = self._take()
        try:
            yield process
        finally:
            self._give_back(process)

    def _take(self) -> QueryProcess:
        """An idle process, or the next that comes up."""
        deadline = time.monotonic() + self._limits.waiting_seconds
        with self._changed:
            self._requested += 1
            try:
                self._changed.notify_all()
                while self._running and time.monotonic() < deadline:
                    if self._idle:
                        process = self._idle.pop()
                        if process.is_alive():
                            return process
                        self._discard(process)
                    else:
                        self._changed.wait(CHECK_SECONDS)
            finally:
                self._requested -= 1
        raise Overloaded("no query process became ready", RETRY_AFTER_SECONDS)

    def _give_back(self, process: QueryProcess) -> None:
        if process.is_ready() and process.charged_bytes() < RETAINED_BYTES and process.step_forward():
            self._make_idle(process)
        else:
            self._discard(process)

    def _make_idle(self, process: QueryProcess) -> None:
        with self._changed:
            if self._running:
                process.idle_since = time.monotonic()
                self._idle.append(process)
                self._changed.notify_all()
                return
        self._discard(process)

    def _discard(self, process: QueryProcess) -> None:
        process.kill()
        # Waiting for its end takes as long as freeing its memory: not on the query's time.
        threading.Thread(target=process.close, name="reap", daemon=True).start()
        self._shrink()

    def _shrink(self) -> None:
        with self._changed:
            self._size -= 1
            self._changed.notify_all()

    @contextmanager
    def _watch_lease(self, lease: Lease) -> Iterator[None]:
        with self._changed:
            self._leases.add(lease)
            self._changed.notify_all()
        try:
            yield
        finally:
            lease.release()
            with self._changed:
                self._leases.discard(lease)

    def _watch(self) -> None:
        """Look after the running queries until the pool is closed."""
        while self._running:
            with self._changed:
                if not self._leases:
                    self._changed.wait(1.0)
                leases = list(self._leases)
            for lease in leases:
                lease.check(self._host)
            if leases:
                time.sleep(WATCH_SECONDS)

    def _replenish(self) -> None:
        """Start processes until there are as many as are requested, and one at least; end when the pool is closed."""
        while self._running:
            self._close_idle()
            with self._changed:
                if not self._is_short():
                    self._changed.wait(1.0)
                    continue
                self._size += 1
                self._starting += 1
            # Several may come up at the same time.
            threading.Thread(target=self._spawn, name="spawn", daemon=True).start()

    def _is_short(self) -> bool:
        is_wanted = not self._size or len(self._idle) + self._starting < self._requested
        return is_wanted and self._size < self._limits.concurrency + RESERVED_SLOTS

    def _spawn(self) -> None:
        try:
            self._make_idle(self._ready_process())
        except (ConnectionLost, OSError):
            if self._running:
                logger.exception("a query process did not start")
                time.sleep(RESTART_SECONDS)
            self._shrink()
        finally:
            with self._changed:
                self._starting -= 1
                self._changed.notify_all()

    def _ready_process(self) -> QueryProcess:
        """A new process. Raises OSError, ConnectionLost."""
        process = QueryProcess(self._server, self._module)
        try:
            process.wait_until_ready()
        except ConnectionLost as error:
            status = process.ended_by()
            process.kill()
            process.close()
            raise ConnectionLost(f"it ended with {status}") from error
        return process

    def _close_idle(self) -> None:
        """End idle processes that nobody has used for a while, except one that keeps little."""
        now = time.monotonic()
        with self._changed:
            unused = [process for process in self._idle if now - process.idle_since > IDLE_SECONDS]
            kept = [process for process in self._idle[-1:] if process.charged_bytes() < IDLE_BYTES]
            old = [process for process in unused if process not in kept]
            self._idle = [process for process in self._idle if process not in old]
        for process in old:
            self._discard(process)
