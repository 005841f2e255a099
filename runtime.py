"""The border to gevent: blocking or heavy work leaves the hub here. The only gevent besides wsgi.py."""

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar, cast

import gevent
from gevent.hub import Hub, Waiter
from gevent.monkey import get_original

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

WATCH_SECONDS = 1.0
# Larger than what the kernel takes as one packet by default.
LARGEST_PACKET_BYTES = 256 * 1024


def offload(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of `function`, run in the hub's thread pool while other greenlets go on.

    For work that releases the GIL or blocks in a system call: Polars, fsync, big files. Costs about 40 us, so
    not for less than that. The function must be pure over plain values: no request, no database connection.
    """
    call = _Call(partial(function, *args, **kwargs))
    # gevent prints a call that raised, with its arguments: whole bodies. This one hands its error back.
    gevent.get_hub().threadpool.apply(call.perform)
    return call.outcome()  # type: ignore[no-any-return]


def log_failures() -> None:
    """Have errors that end a greenlet logged without the arguments it was started with, which gevent would print."""
    Hub.print_exception = _log_failure


def _log_failure(_: Hub, context: object, kind: object, error: object, trace: object) -> None:
    logger.error("a greenlet failed", exc_info=error if isinstance(error, BaseException) else None)


class Pool:
    """Threads of its own, for work that must not queue behind other work. Used from one hub alone.

    They are made when first used, because threads do not survive a fork. gevent's pool does the same in twice the
    processor time (docs/decisions/ingestion.md).
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._asked: SimpleQueue[_Call] | None = None
        self._done: deque[_Call] = deque()
        self._under_way = 0

    def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of `function`, as by `offload`."""
        asked = self._asked or self._start()
        if not self._under_way:
            # Only meanwhile does it keep the loop alive.
            self._signal.start(self._deliver)
        self._under_way += 1
        waiter = Waiter()
        asked.put(_Call(partial(function, *args, **kwargs), waiter))
        return waiter.get()  # type: ignore[no-any-return]

    def _start(self) -> "SimpleQueue[_Call]":
        self._signal = gevent.get_hub().loop.async_()
        # What gevent has put in their place is for greenlets.
        self._asked = asked = cast("SimpleQueue[_Call]", get_original("queue", "SimpleQueue")())
        for _ in range(self._size):
            get_original("_thread", "start_new_thread")(self._serve, (asked,))
        return asked

    def _serve(self, asked: "SimpleQueue[_Call]") -> None:
        while True:
            call = asked.get()
            call.perform()
            self._done.append(call)
            self._signal.send()

    def _deliver(self) -> None:
        """In the hub: go on with those whose work is done."""
        while self._done:
            self._under_way -= 1
            self._done.popleft().answer()
        if not self._under_way:
            self._signal.stop()


@dataclass(slots=True)
class _Call:
    """Work for another thread, and who waits for it, if not by gevent's pool."""

    function: Callable[[], Any]
    waiter: Waiter | None = None
    result: Any = None
    error: BaseException | None = None

    def perform(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error

    def outcome(self) -> Any:
        """The result, or the error raised."""
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            # It would hold itself by its own traceback, and with it the arguments.
            self.error = None

    def answer(self) -> None:
        """Wake who waits for it."""
        if self.waiter is None:
            return
        if self.error is None:
            self.waiter.switch(self.result)
        else:
            self.waiter.throw(self.error)


def give_way(most_seconds: float) -> None:
    """Return when no other greenlet has anything to do, but after so long at the latest."""
    loop = gevent.get_hub().loop
    waiter = Waiter()
    watchers = loop.idle(), loop.timer(most_seconds)
    for watcher in watchers:
        watcher.start(waiter.switch, None)
    try:
        waiter.get()
    finally:
        for watcher in watchers:
            watcher.stop()
            watcher.close()


def deadline(seconds: float) -> AbstractContextManager[object]:
    """Raises TimeoutError in a block that waits longer than `seconds` for something cooperative, as a socket."""
    return gevent.Timeout(seconds, TimeoutError(f"{seconds} seconds passed"))  # type: ignore[no-any-return]


def repeat(seconds: float, function: Callable[[], object]) -> gevent.Greenlet:
    """Call the function again and again, so long apart, from a greenlet. Its failures are logged."""
    return gevent.spawn(_repeat, seconds, function)


def _repeat(seconds: float, function: Callable[[], object]) -> None:
    while True:
        gevent.sleep(seconds)
        try:
            function()
        except Exception as error:
            logger.warning("%s; trying again", error)
