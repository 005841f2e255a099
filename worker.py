"""gunicorn's gevent worker, except that a stop does not wait for connections on which nothing is asked.

Shippers keep their connections open between batches. gunicorn counts those as work, waits for them until the graceful
time-out, and then kills the worker; so every restart would take that long.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import gevent
from gunicorn.workers.ggevent import GeventWorker


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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: take no more requests. What is being answered is answered to its end."""
        super().handle_exit(sig, frame)
        for waiting, pause in self._idle.items():
            gevent.get_hub().loop.run_callback(waiting.throw, pause)
