"""gunicorn's gevent worker, except for two things.

A stop does not wait for connections on which nothing is asked. Shippers keep theirs open between batches; gunicorn
counts those as work, waits for them until the graceful time-out, and then kills the worker, so that every restart would
take that long.

And an answer's head goes with the beginning of its body, not by a system call and in a packet of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

import gevent
from gunicorn.workers.ggevent import GeventWorker

LARGEST_JOINED: Final = 64 * 1024
"""Above this, copying the body costs more than a system call."""


class Joining:
    """A connection for one answer: what is sent first, the head, waits for what is sent next."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._head: bytes | None = None
        self._has_begun = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def sendall(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun, self._head = True, data
            return
        if self._head is not None and len(data) <= LARGEST_JOINED:
            data, self._head = self._head + data, None
            # All of it nearly always; gevent's sendall first asks the kernel for the size of its buffer.
            data = data[self._connection.send(data) :]
        self.flush()
        if data:
            self._connection.sendall(data)

    def sendfile(self, *args: Any, **kwargs: Any) -> Any:
        self.flush()
        return self._connection.sendfile(*args, **kwargs)

    def flush(self) -> None:
        """Send a head that nothing came after."""
        head, self._head = self._head, None
        if head is not None:
            self._connection.sendall(head)


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: dict[Any, Any] = {}

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Wait for the next request of a connection: until the keep-alive time is over, or the worker stops.

        Not at all if it is stopping already, which it may have begun while it answered the last request.
        """
        pause = gevent.Timeout(self.cfg.keepalive if self.alive else 0, False)
        waiting = gevent.getcurrent()
        self._idle[waiting] = pause
        try:
            with pause:
                yield
        finally:
            del self._idle[waiting]

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> None:
        joining = Joining(sock)
        try:
            super().handle_request(listener_name, req, joining, addr)
        finally:
            # Also when StopIteration ends the connection. One that is gone is noticed when the next request is read.
            with suppress(OSError):
                joining.flush()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: take no more requests. What is being answered is answered to its end."""
        super().handle_exit(sig, frame)
        for waiting, pause in self._idle.items():
            gevent.get_hub().loop.run_callback(waiting.throw, pause)
