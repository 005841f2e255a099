"""The unconverted rows of datasets, read from segments; only what was appended since the last time is read again.

A segment's frames are walked and checked once for all datasets. A frame's rows are decoded when its dataset is asked
for with a range that they may be in.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import polars as pl

from storage.frames import Buffer, Frame, decode, to_few
from storage.segments import Staged


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its segment a frame's payload is, and the first and last time in it (ns since 1970)."""

    start: int
    size: int
    tmin: int
    tmax: int


@dataclass(frozen=True, slots=True)
class Tail:
    """One dataset's rows in a segment, as far as they were decoded, and where the others are."""

    rows: tuple[pl.DataFrame, ...] = ()
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Walked:
    """The first `end` bytes of a segment. Immutable: replaced whole, never extended."""

    end: int = 0
    tails: Mapping[int, Tail] = field(default_factory=lambda: MappingProxyType({}))


# What is read of a segment at once.
PORTION_BYTES: Final = 1024 * 1024
UNKNOWN: Final = Walked()
EMPTY: Final = Tail()


class Tails:
    """A process's tails. Threads may share it: they may read something twice, but never see half of it."""

    def __init__(self) -> None:
        self._walked: dict[str, Walked] = {}

    def read(
        self, dataset_id: int, staged: Sequence[Staged], start: int | None = None, end: int | None = None
    ) -> list[pl.DataFrame]:
        """The dataset's rows in the segments, as of their listing; of those outside of `[start, end)` maybe not all.

        Times in ns since 1970, None: unbounded. Raises FileNotFoundError if a segment is gone.
        """
        self._forget({each.name for each in staged})
        return [rows for each in staged for rows in self._tail(dataset_id, each, start, end)]

    def _tail(self, dataset_id: int, staged: Staged, start: int | None, end: int | None) -> tuple[pl.DataFrame, ...]:
        known = self._walked.get(staged.name, UNKNOWN)
        fd = os.open(staged.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # The owner took back what it could not sync, or the snapshot is older than what is known.
            is_ahead = os.fstat(fd).st_size < known.end or staged.size < known.end
            walk = Walk(fd, staged, UNKNOWN if is_ahead else known)
            rows = to_few(walk.payloads(dataset_id, start, end))
        finally:
            os.close(fd)
        walked = walk.walked(dataset_id, rows)
        if not is_ahead:
            self._walked[staged.name] = walked
        return walked.tails[dataset_id].rows

    def _forget(self, names: set[str]) -> None:
        for name in list(self._walked):
            if name not in names:
                self._walked.pop(name, None)


class Walk:
    """One reading of a segment, on from what is known of it."""

    def __init__(self, fd: int, staged: Staged, known: Walked) -> None:
        self._fd, self._staged, self._known = fd, staged, known
        self._end = known.end
        self._places: dict[int, list[Place]] = {}

    def payloads(self, dataset_id: int, start: int | None, end: int | None) -> Iterator[Buffer]:
        """The payloads of the dataset that may have rows in the range and were not decoded yet."""
        for place in self._known.tails.get(dataset_id, EMPTY).places:
            if _may_be_in(place, start, end):
                yield os.pread(self._fd, place.size, place.start)
            else:
                self._keep(dataset_id, place)
        for frame in self._frames():
            self._end += frame.size
            if frame.dataset_id == dataset_id and _may_be_in(frame, start, end):
                yield frame.payload
            else:
                size = len(frame.payload)
                self._keep(frame.dataset_id, Place(self._end - size, size, frame.tmin, frame.tmax))

    def walked(self, dataset_id: int, rows: Sequence[pl.DataFrame]) -> Walked:
        """What is known now: `rows` are those of the payloads, all of which were taken."""
        tails = dict(self._known.tails)
        tails[dataset_id] = Tail(merge((*tails.get(dataset_id, EMPTY).rows, *rows)))
        for key, places in self._places.items():
            known = tails.get(key, EMPTY)
            tails[key] = Tail(known.rows, (*known.places, *places))
        return Walked(self._end, tails)

    def _keep(self, dataset_id: int, place: Place) -> None:
        self._places.setdefault(dataset_id, []).append(place)

    def _frames(self) -> Iterator[Frame]:
        """The frames that came since, read in portions: fresh memory for all of them would cost more than they do."""
        portion = PORTION_BYTES
        at = self._end
        while at < self._staged.size:
            data = os.pread(self._fd, min(portion, self._staged.size - at), at)
            before = at
            for frame in decode(data, self._staged.name):
                at += frame.size
                yield frame
            if (at == before and before + len(data) >= self._staged.size) or not data:
                return
            if at == before:
                # A frame larger than the portion, or none.
                portion *= 2


def _may_be_in(rows: Place | Frame, start: int | None, end: int | None) -> bool:
    return (start is None or rows.tmax >= start) and (end is None or rows.tmin < end)


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
