"""The unconverted rows of datasets, read from segments; only what was appended since the last time is read again."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from storage.frames import decode, join_alike, to_rows
from storage.segments import Staged


@dataclass(frozen=True, slots=True)
class Tail:
    """One dataset's rows in the first `end` bytes of a segment. Immutable: replaced whole, never extended."""

    end: int = 0
    rows: tuple[pl.DataFrame, ...] = ()


EMPTY: Final = Tail()


class Tails:
    """A process's tails. Threads may share it: they may read something twice, but never see half of it."""

    def __init__(self) -> None:
        self._tails: dict[tuple[str, int], Tail] = {}

    def read(self, dataset_id: int, staged: Sequence[Staged]) -> list[pl.DataFrame]:
        """The dataset's rows in the segments, as of their listing. Raises FileNotFoundError if one is gone."""
        self._forget({each.name for each in staged}, dataset_id)
        return [rows for each in staged for rows in self._tail(dataset_id, each).rows]

    def _tail(self, dataset_id: int, staged: Staged) -> Tail:
        key = (staged.name, dataset_id)
        known = self._tails.get(key, EMPTY)
        fd = os.open(staged.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(fd).st_size < known.end or staged.size < known.end:
                # The owner took back what it could not sync, or the snapshot is older than what is known.
                return _extend(EMPTY, fd, dataset_id, staged)
            tail = _extend(known, fd, dataset_id, staged)
        finally:
            os.close(fd)
        self._tails[key] = tail
        return tail

    def _forget(self, names: set[str], dataset_id: int) -> None:
        for key in list(self._tails):
            if key[1] == dataset_id and key[0] not in names:
                self._tails.pop(key, None)


def _extend(known: Tail, fd: int, dataset_id: int, staged: Staged) -> Tail:
    end = known.end
    fresh: list[pl.DataFrame] = []
    for frame in decode(os.pread(fd, staged.size - end, end), staged.name):
        end += frame.size
        if frame.dataset_id == dataset_id:
            fresh.append(to_rows(frame))
    return Tail(end, merge((*known.rows, *join_alike(fresh))))


def merge(rows: tuple[pl.DataFrame, ...]) -> tuple[pl.DataFrame, ...]:
    """The same rows in few frames: neighbours of the same columns join while the later is at least half the earlier.

    So every row is copied a logarithmic number of times, however often a growing tail is read.
    """
    merged: list[pl.DataFrame] = []
    for each in rows:
        while merged and merged[-1].schema == each.schema and merged[-1].height <= 2 * each.height:
            each = pl.concat([merged.pop(), each], rechunk=True)
        merged.append(each)
    return tuple(merged)
