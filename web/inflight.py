"""The memory that request bodies take in one process, and its limit. Knows no HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from errors import Overloaded, TooLarge


class Inflight:
    """The bytes of all bodies that this process holds at the moment, with a limit. Safe for threads and greenlets."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._lock = Lock()

    def hold(self, count: int) -> None:
        """Count bytes as held until `let_go`. Raises Overloaded if that is over the limit, and then holds none."""
        with self._lock:
            if self.held_bytes + count > self.limit_bytes:
                raise Overloaded("too many request bodies are in flight; nothing was stored", limit=self.limit_bytes)
            self.held_bytes += count

    def let_go(self, count: int) -> None:
        with self._lock:
            self.held_bytes -= count

    @contextmanager
    def decoding(self, body: bytes, cost: int) -> Iterator[None]:
        """Account for the objects that decoding `body`, which is held already, is estimated to make.

        Raises TooLarge if they would not fit even if nothing else were in flight, else as `hold`.
        """
        if len(body) + cost > self.limit_bytes:
            raise TooLarge(
                f"the body would take more than {self.limit_bytes} bytes of memory when decoded; send fewer records "
                "at a time",
                limit=self.limit_bytes,
            )
        self.hold(cost)
        try:
            yield
        finally:
            self.let_go(cost)
