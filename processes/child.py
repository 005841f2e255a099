"""What a child process does about its parent: end with it, and stop when it is told to."""

import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# prctl(2): the signal that this process gets when its parent dies, and its name, of 15 bytes at most.
PR_SET_PDEATHSIG: Final = 1
PR_SET_NAME: Final = 15

Wait = Callable[[float], bool]
"""Waits so many seconds, or until the process is to stop; True if it is."""


def die_with_parent(signal_number: int) -> None:
    """Let the kernel send this process the signal when its parent dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal_number)


def set_name(name: str) -> None:
    """The name of this process as `ps -e` and `top` show it."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Keep these signals from this thread, and for good from the processes that it starts meanwhile.

    Here those that came arrive when the block ends. A process can still ask for them itself, as PostgreSQL does.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent(parent: int | None) -> Wait:
    """A function that waits, and turns SIGTERM, SIGINT and the end of `parent` into a stop.

    A signal only writes a byte to a pipe, in whatever thread it arrives, so it never interrupts a round of work. The
    parent passes its own process id, because it may be gone before this process could ask for it.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    if parent is not None:
        die_with_parent(signal.SIGTERM)

    def wait(seconds: float) -> bool:
        is_signalled = bool(select.select([reader], [], [], seconds)[0])
        return is_signalled or (parent is not None and os.getppid() != parent)

    return wait
