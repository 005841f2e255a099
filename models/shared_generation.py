"""Whether a worker's cached identities and datasets are still those of the database: exactly, never by time.

A change of them is answered only after `changing()` has ended, and from then on no worker's `read()` gives the
number it gave before. Who reads the number BEFORE loading from the database may keep what was loaded for as long as
`read()` gives that same number: had anything been committed after the load, the number would have moved.
"""

import mmap
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

from errors import StorageUnavailable, WeirError
from models import generation
from processes.locks import try_lock, wait_for_lock

VALUE: Final = 0
PENDING: Final = 1
CELL_BYTES: Final = 8
FILE_NAME: Final = "identity.generation"
RETRY_SECONDS: Final = 0.002


class Generation(Protocol):
    def read(self) -> int | None:
        """The number of the present state; None: unknown now, so the caller must neither use nor fill its cache."""

    def changing(self) -> AbstractContextManager[None]:
        """The block around every change of cached rows; it begins before the commit and ends after it."""


class DatabaseGeneration:
    """For several hosts: the number is a row of the database they share, at a round trip per request or less.

    A change advances the row in its own transaction (models/generation.py), so nothing is left to do around it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._turn = Lock()
        self._next: Future[int] | None = None

    def read(self) -> int:
        """Raises StorageUnavailable: without the database nothing cached may be used.

        Whoever asks while a read is on its way shares the next one, which begins after all of them have asked.
        """
        with self._lock:
            shared, is_first = self._next or Future(), self._next is None
            self._next = shared
        if is_first:
            with self._turn:
                with self._lock:
                    self._next = None
                _fulfil(shared)
        return shared.result()

    def changing(self) -> AbstractContextManager[None]:
        return nullcontext()


def _fulfil(shared: Future[int]) -> None:
    try:
        shared.set_result(generation.current())
    except BaseException as error:
        # The waiters go on however this read ends.
        shared.set_exception(error)


class SharedGeneration:
    """For one host: two numbers in a file that all its processes map, read without a system call.

    `value` counts ended changes; `pending` counts changes under way, during which nothing cached is used. A process
    killed between its commit and the end of its change leaves `pending` above zero. The lock that every changing
    process holds, and that the kernel releases at its death, tells that case from a change still under way.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._cells_path = directory / FILE_NAME
        self._writers_path = directory / f"{FILE_NAME}.writers"
        self._cells = _map(self._cells_path)

    def read(self) -> int | None:
        if self._cells[PENDING] and not self._settle():
            return None
        return self._cells[VALUE]

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._writer():
            self._advance(pending=+1, value=0)
            try:
                yield
            except StorageUnavailable:
                raise  # Whether it was committed is unknown: left pending, and settled by the next read.
            except WeirError:
                self._advance(pending=-1, value=+1)
                raise
            self._advance(pending=-1, value=+1)

    def _settle(self) -> bool:
        """When no changing process lives, end the changes that were left pending. Whether that was done.

        The commit of a dead process may still be on its way in the database. Its transaction holds the row lock that
        an empty change waits for.
        """
        with _locked(self._writers_path, shared=False) as is_locked:
            if is_locked:
                with generation.changing():
                    pass
                self._advance(pending=-self._cells[PENDING], value=+1)
            return is_locked

    @contextmanager
    def _writer(self) -> Iterator[None]:
        """Shared, as changes of one worker's greenlets overlap; polled, as a blocked call would stop them all."""
        while True:
            with _locked(self._writers_path, shared=True) as held:
                if held:
                    yield
                    return
            time.sleep(RETRY_SECONDS)

    def _advance(self, *, pending: int, value: int) -> None:
        with self._cells_path.open("rb") as file:
            wait_for_lock(file)
            self._cells[VALUE] += value
            self._cells[PENDING] += pending


def _map(path: Path) -> memoryview:
    """The file's two cells as shared memory. Aligned 8-byte loads and stores are whole on the machines we run on.

    With a block of its own: on a full disk the kernel kills whoever touches a mapped page that has none.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, 2 * CELL_BYTES)
        os.ftruncate(descriptor, 2 * CELL_BYTES)
        return memoryview(mmap.mmap(descriptor, 2 * CELL_BYTES)).cast("Q")
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path, *, shared: bool) -> Iterator[bool]:
    """Take the lock for the block; yield whether it was free."""
    with path.open("ab") as file:
        yield try_lock(file, shared=shared)
