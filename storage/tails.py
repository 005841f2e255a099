"""The unconverted rows of datasets, read from segments; only what was appended since the last time is read again.

A frame's rows are checked and decoded when its dataset is asked for with a range that they may be in.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from storage.frames import Buffer, checked, to_few
from storage.places import Place, Places, Walked
from storage.segments import Staged

# What is read of a segment at once: fresh memory for all of it would cost more than the reading.
PORTION_BYTES: Final = 1024 * 1024
# Foreign frames between two wanted ones are read along when they are shorter than another read costs.
GAP_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Tail:
    """One dataset's rows in a segment as far as they were decoded: of its first `count` places all but `left_out`.

    `end`: where the last decoded frame ends. Immutable: replaced whole, never extended.
    """

    walked: Walked
    rows: tuple[pl.DataFrame, ...] = ()
    count: int = 0
    left_out: tuple[Place, ...] = ()
    end: int = 0


class Tails:
    """A process's tails. Threads may share it: they may read something twice, but never see half of it."""

    def __init__(self) -> None:
        self._places = Places()
        self._tails: dict[tuple[str, int], Tail] = {}

    def read(
        self, dataset_id: int, staged: Sequence[Staged], start: int | None = None, end: int | None = None
    ) -> list[pl.DataFrame]:
        """The dataset's rows in the segments, as of their listing; of those outside of `[start, end)` maybe not all.

        Times in ns since 1970, None: unbounded. Raises FileNotFoundError if a segment is gone.
        """
        self._forget(staged)
        return [rows for each in staged for rows in self._tail(dataset_id, each, start, end)]

    def _tail(self, dataset_id: int, staged: Staged, start: int | None, end: int | None) -> tuple[pl.DataFrame, ...]:
        fd = os.open(staged.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            walked = self._places.walked(staged, fd)
            places = walked.places(dataset_id, staged.size)
            known = self._tails.get((staged.name, dataset_id))
            if known is None or known.walked is not walked:
                known = Tail(walked)
            if known.end > staged.size:
                # The listing is older than what is decoded, and joined with what came since.
                return extended(Tail(walked), places, fd, staged, start, end).rows
            grown = extended(known, places, fd, staged, start, end)
        finally:
            os.close(fd)
        if grown is not known:
            self._tails[staged.name, dataset_id] = grown
        return grown.rows

    def _forget(self, listed: Sequence[Staged]) -> None:
        gone = set(self._places.forget(listed))
        if gone:
            for key in [key for key in self._tails if key[0] in gone]:
                self._tails.pop(key, None)


def extended(known: Tail, places: Sequence[Place], fd: int, staged: Staged, start: int | None, end: int | None) -> Tail:
    """The tail with those of the places that may be in the range and were not decoded yet.

    The first damaged one ends it: that, and what is behind it, is tried again the next time.
    """
    candidates = [*known.left_out, *places[known.count :]]
    # What was left out when it was known may be newer than this listing.
    wanted = [place for place in candidates if place.end <= staged.size and place.may_be_in(start, end)]
    taken: list[Place] = []
    few = to_few(_payloads(fd, wanted, staged.name, taken)) if wanted else []
    if len(places) <= known.count and not taken:
        return known
    done = set(taken)
    left_out = tuple(place for place in candidates if place not in done)
    last = max((place.end for place in taken), default=0)
    return Tail(known.walked, merge((*known.rows, *few)), max(known.count, len(places)), left_out, max(known.end, last))


def _payloads(fd: int, wanted: Sequence[Place], segment: str, taken: list[Place]) -> Iterator[Buffer]:
    """The payloads of the frames at the places, up to the first that is damaged; those places are `taken`."""
    for run in _runs(wanted):
        first = run[0].start
        data = memoryview(os.pread(fd, run[-1].end - first, first))
        for place in run:
            frame = checked(data[place.start - first : place.end - first], segment)
            if frame is None:
                return
            taken.append(place)
            yield frame.payload


def _runs(wanted: Sequence[Place]) -> Iterator[list[Place]]:
    """Places that are read at once: near each other, and together no more than a portion, or one."""
    run: list[Place] = []
    for place in wanted:
        if run and not (0 <= place.start - run[-1].end <= GAP_BYTES and place.end - run[0].start <= PORTION_BYTES):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


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
