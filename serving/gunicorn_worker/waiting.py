"""Waiting for clients: how long at most, and who gives way when there is no room for others. Knows no HTTP."""

import errno
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import gevent

SEND_SECONDS: Final = 30
"""Longest time in which a client takes nothing of its answer. As long as a sender may be silent within a body."""

KEPT_FREE: Final = 50
"""One in so many connections is kept free: while it is not, those that wait longest for their clients end."""


class Wait:
    """A connection's wait for its client, in a `with`. One that is over its time, or gives way, ends the block."""

    def __init__(self, waits: "Waits", seconds: Callable[[], float], *, is_known: bool) -> None:
        self.is_known = is_known
        self.is_ending = False
        self._waits = waits
        self._seconds = seconds

    def __enter__(self) -> None:
        self._timeout = gevent.Timeout.start_new(self._seconds(), False)
        self._greenlet = gevent.getcurrent()
        self._waits.begin(self)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> bool:
        """Whether it was this wait that ended; what else went wrong goes on."""
        self._timeout.close()
        self._waits.under_way.pop(self, None)
        return value is self._timeout and self.ended()

    def ended(self) -> bool:
        """What becomes of a wait that is over: True goes on after the block, an error is raised."""
        return True

    def end(self) -> None:
        """Soon, unless what is waited for comes first."""
        self.is_ending = True
        gevent.get_hub().loop.run_callback(self._throw)

    def _throw(self) -> None:
        if self in self._waits.under_way:
            self._greenlet.throw(self._timeout)


class Pause(Wait):
    """The wait of a connection for its next request: until the keep-alive time is over, or the worker stops."""


class Sending(Wait):
    """The wait until a client takes more of its answer."""

    def ended(self) -> bool:
        raise ConnectionResetError(errno.ECONNRESET, "the client takes nothing of its answer")


class Waits:
    """The waits of a worker's connections. `most_open`: connections that there can be at once."""

    def __init__(self, most_open: Callable[[], int]) -> None:
        # In the order in which they began.
        self.under_way: dict[Wait, None] = {}
        self.open = 0
        self._most_open = most_open

    def begin(self, wait: Wait) -> None:
        """A wait is under way. If there is hardly room for another connection, some other one gives way."""
        if self.is_crowded():
            self._give_way()
        self.under_way[wait] = None

    def is_crowded(self) -> bool:
        """Whether newcomers would soon have to queue."""
        most_open = self._most_open()
        return self.open > most_open - max(1, most_open // KEPT_FREE)

    def _give_way(self) -> None:
        """End the longest wait for a stranger, else the longest of a connection on which nothing is asked."""
        candidates = [each for each in self.under_way if not each.is_ending]
        strangers = (each for each in candidates if not each.is_known)
        idle = (each for each in candidates if isinstance(each, Pause))
        if chosen := next(strangers, None) or next(idle, None):
            chosen.end()

    def end_pauses(self) -> None:
        """Nothing more is asked."""
        for each in list(self.under_way):
            if isinstance(each, Pause):
                each.end()


def send(client: Any, data: bytes | memoryview, sending: Callable[[], Wait]) -> None:
    """All of the data. Raises ConnectionResetError when the client takes nothing for too long."""
    try:
        # Without waiting: all of it nearly always. gevent's sendall first asks the kernel for the size of its buffer.
        count = client.send(data, 0, 0.0)
    except BlockingIOError:
        count = 0
    rest = memoryview(data)[count:]
    while rest:
        with sending():
            rest = rest[client.send(rest) :]
