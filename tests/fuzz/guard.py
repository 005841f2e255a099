"""How long one input may take. The parsers run on inputs of a few kilobytes, for which seconds are an attack."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlow(BaseException):
    """Not an Exception, so that no target takes it for an error of its own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises TooSlow in the block when the process has worked for so long."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"after {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
