"""Counters of several processes in one place: each worker writes into mapped files of its own, any of them reads all.

A worker takes the first free slot and goes on with the files that the slot's previous owner left, so counters survive
the death of a worker, and there are never more files than there were workers at once.
"""

import itertools
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry, values
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector

from processes.locks import try_lock

# The library takes the directory from here and from nowhere else.
DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
DIRECTORY_NAME: Final = "metrics"
SLOT_SUFFIX: Final = ".slot"
# A file grows by doubling; this holds what a worker usually counts.
FILE_BYTES: Final = 64 * 1024
# More than an entry takes beside its name: its length, padding, the value and a time.
ENTRY_BYTES: Final = 32

logger = logging.getLogger(__name__)


class _File(MmapedDict):
    """The mapped file of a worker's values of one type, with blocks for all of it. Raises OSError on a full disk.

    The library's has holes. On a full disk the kernel kills (SIGBUS) whoever touches a mapped page without a block.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size == 0:
            _make(path)
        with path.open("ab") as file:
            _allocate(file.fileno(), max(FILE_BYTES, file.tell()))
        super().__init__(str(path))

    def cell(self, key: str) -> "memoryview[float]":
        """Where the value of that key is, a double. A file that grows is mapped anew; the old mapping stays good."""
        if key not in self._positions and self._used + len(key.encode()) + ENTRY_BYTES > self._capacity:
            _allocate(self._f.fileno(), 2 * self._capacity)
        self.read_value(key)
        at = self._positions[key]
        return memoryview(self._m)[at : at + 8].cast("d")


def _make(path: Path) -> None:
    """A file of no values, there with all its blocks or not at all: a reader fails on one without a header."""
    fresh = path.with_suffix(".new")
    try:
        with fresh.open("wb") as file:
            _allocate(file.fileno(), FILE_BYTES)
    except OSError:
        fresh.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise
    fresh.rename(path)


def _allocate(descriptor: int, size: int) -> None:
    """Blocks for so much of the file, which is left as long as it was if there is no room for them."""
    before = os.fstat(descriptor).st_size
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError:
        os.ftruncate(descriptor, before)
        raise


class _Files:
    """A worker's files by type, each made when its first value is. What finds no room on the disk is counted apart."""

    def __init__(self, directory: Path, slot: int) -> None:
        self._directory, self._slot = directory, slot
        self._files: dict[str, _File] = {}

    def cell(self, kind: str, key: str) -> "memoryview[float]":
        """A cell of the file, or one that only this process sees: what is not counted must not refuse a request."""
        try:
            return self._file(kind).cell(key)
        except OSError as error:
            logger.warning("what this worker counts is not all in /metrics: %s", error)
            return memoryview(bytearray(8)).cast("d")

    def _file(self, kind: str) -> _File:
        if kind not in self._files:
            self._files[kind] = _File(self._directory / f"{kind}_{self._slot}.db")
        return self._files[kind]


class Value:
    """A number in a worker's file, in place of the library's, which takes a lock and asks for its process each time.

    For one thread's use: a worker counts from its greenlets. Aligned stores of 8 bytes are whole on the machines we
    run on, so another process reads the number of before or after.
    """

    _multiprocess = True

    def __init__(self, files: _Files, kind: str, *key: Any, **_: Any) -> None:
        self._cell: memoryview[float] = files.cell(kind, mmap_key(*key))

    def inc(self, amount: float) -> None:
        self._cell[0] += amount

    def get(self) -> float:
        return self._cell[0]

    def get_exemplar(self) -> None:
        """None is kept."""


def share(directory: Path, stack: str = "fast") -> int:
    """From now on this process counts in files under `directory`; returns its slot. Call it once, before any meter.

    `stack`: whose numbers it counts by, `fast` ours or `stock` the library's.
    """
    directory.mkdir(parents=True, exist_ok=True)
    os.environ[DIRECTORY] = str(directory)
    slot = _claim(directory)
    values.ValueClass = VALUE_CLASSES[stack](directory, slot)
    return slot


def _fast_values(directory: Path, slot: int) -> Callable[..., Any]:
    return partial(Value, _Files(directory, slot))


def _stock_values(_: Path, slot: int) -> Callable[..., Any]:
    """The library's, which it would have chosen itself had it been imported later; the slot stands for the process."""
    return values.MultiProcessValue(lambda: slot)  # type: ignore[no-any-return]


VALUE_CLASSES: Final[Mapping[str, Callable[[Path, int], Callable[..., Any]]]] = {
    "fast": _fast_values,
    "stock": _stock_values,
}


def registry_of_all(own: CollectorRegistry) -> CollectorRegistry:
    """What all processes have counted; without `share`, what this one has."""
    if DIRECTORY not in os.environ:
        return own
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def living(directory: Path) -> int:
    """How many processes hold a slot."""
    return sum(not _is_free(path) for path in directory.glob(f"*{SLOT_SUFFIX}"))


def _claim(directory: Path) -> int:
    """The first slot whose lock nobody holds. The descriptor stays open: the kernel closes it when we die."""
    return next(number for number in itertools.count() if _lock(directory / f"{number}{SLOT_SUFFIX}"))


def _lock(path: Path) -> bool:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    if try_lock(descriptor):
        return True
    os.close(descriptor)
    return False


def _is_free(path: Path) -> bool:
    return all(try_lock(descriptor, shared=True) for descriptor in _opened(path))


def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
