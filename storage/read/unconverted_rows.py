"""The unconverted rows of datasets, read from segments; only what was appended since the last time is read again.

A frame is checked when its dataset is asked for with a range that its rows may be in, and of its columns those are
decoded that are wanted.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import polars as pl

from storage.exactly import exactly
from storage.wal.batches import Streams, columns_of, read_stream, schema_bytes
from storage.wal.index import IndexedSegment, RecordLocation, SegmentIndex
from storage.wal.records import payload_at, payload_start, seed
from storage.wal.segments import SegmentRef

# What is read of a segment at once: fresh memory for all of it would cost more than the reading.
PORTION_BYTES: Final = 256 * 1024
# Foreign frames between two wanted ones are read along when they are shorter than another read costs.
GAP_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class DecodedRows:
    """The rows of undamaged frames of one schema: those of the columns that were decoded, at least one.

    `schema`: as the frames' streams begin; empty if they are of another form, and then all columns are decoded.
    """

    schema: bytes
    places: tuple[RecordLocation, ...]
    rows: pl.DataFrame

    def lacks(self, wanted: Collection[str] | None) -> list[str]:
        """Those of the wanted columns (None: all) that the frames have and that were not decoded."""
        if not self.schema:
            return []
        known = self.rows.columns
        return [name for name in columns_of(self.schema) if name not in known and (wanted is None or name in wanted)]


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """One dataset's frames in a segment as far as they were read: of its first `count` places all but `left_out`.

    `end`: where the last frame that was read ends. Immutable: replaced whole, never extended.
    """

    walked: IndexedSegment
    chunks: tuple[DecodedRows, ...] = ()
    count: int = 0
    left_out: tuple[RecordLocation, ...] = ()
    end: int = 0


class Wanted(NamedTuple):
    """Of rows that may be in `[start, end)` (ns since 1970, None: unbounded) those columns (None: all)."""

    start: int | None
    end: int | None
    columns: Collection[str] | None


class UnconvertedRows:
    """A process's tails. Threads may share it: they may read something twice, but never see half of it."""

    def __init__(self) -> None:
        self.places = SegmentIndex()
        self._tails: dict[tuple[str, int], SegmentRows] = {}

    def read(
        self,
        dataset_id: int,
        staged: Sequence[SegmentRef],
        start: int | None = None,
        end: int | None = None,
        wanted: Collection[str] | None = None,
    ) -> list[pl.DataFrame]:
        """The dataset's rows in the segments, as of their listing; of those outside of `[start, end)` maybe not all.

        Of the `wanted` columns (None: all) those that rows have; others may be there, and there is always one. Times in
        ns since 1970, None: unbounded. Raises FileNotFoundError if a segment is gone.
        """
        self.forget(staged)
        return [
            chunk.rows for each in staged for chunk in self._tail(dataset_id, each, Wanted(start, end, wanted)).chunks
        ]

    def _tail(self, dataset_id: int, staged: SegmentRef, wanted: Wanted) -> SegmentRows:
        fd = os.open(staged.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            walked = self.places.walked(staged, fd)
            places = walked.places(dataset_id, staged.size)
            known = self._tails.get((staged.name, dataset_id))
            if known is None or known.walked is not walked:
                known = SegmentRows(walked)
            if known.end > staged.size:
                # The listing is older than what was read, and joined with what came since.
                return extended(SegmentRows(walked), places, fd, staged, wanted)
            grown = extended(known, places, fd, staged, wanted)
        finally:
            os.close(fd)
        if grown is not known:
            self._tails[staged.name, dataset_id] = grown
        return grown

    def forget(self, listed: Sequence[SegmentRef]) -> None:
        """Drop what is known of the segments that are gone, those that a newer one was listed without."""
        gone = set(self.places.forget(listed))
        if gone:
            for key in [key for key in self._tails if key[0] in gone]:
                self._tails.pop(key, None)


def extended(
    known: SegmentRows, places: Sequence[RecordLocation], fd: int, staged: SegmentRef, wanted: Wanted
) -> SegmentRows:
    """The tail with those of the places that may be in the range and were not read yet, and the wanted columns.

    The first damaged one ends it: that, and what is behind it, is tried again the next time.
    """
    candidates = [*known.left_out, *places[known.count :]]
    # What was left out when it was known may be newer than this listing.
    chosen = [place for place in candidates if place.end <= staged.size and place.may_be_in(wanted.start, wanted.end)]
    fresh = _fresh(fd, chosen, staged.name, wanted.columns)
    widened = tuple(_widened(fd, chunk, wanted.columns) for chunk in known.chunks)
    if len(places) <= known.count and not fresh and widened == known.chunks:
        return known
    done = {place for chunk in fresh for place in chunk.places}
    left_out = tuple(place for place in candidates if place not in done)
    last = max((place.end for place in done), default=0)
    chunks = merge((*widened, *fresh))
    return SegmentRows(known.walked, chunks, max(known.count, len(places)), left_out, max(known.end, last))


def _fresh(
    fd: int, places: Sequence[RecordLocation], segment: str, columns: Collection[str] | None
) -> list[DecodedRows]:
    """What the frames at the places hold, up to the first that is damaged."""
    alike: dict[bytes, tuple[list[RecordLocation], Streams]] = {}
    chunks: list[DecodedRows] = []
    start_of_checksum = seed(segment)
    for place, data, at, end in _read(fd, places):
        start = payload_start(data, at, end, start_of_checksum)
        if start is None:
            break
        schema = schema_bytes(data, start, end)
        if schema is None:
            chunks.append(DecodedRows(b"", (place,), read_stream(data[start:end])))
            continue
        if schema not in alike:
            alike[schema] = [], Streams(schema, columns)
        found, streams = alike[schema]
        found.append(place)
        streams.add(data, start, end)
    return chunks + [DecodedRows(schema, tuple(found), streams.rows()) for schema, (found, streams) in alike.items()]


def _widened(fd: int, chunk: DecodedRows, columns: Collection[str] | None) -> DecodedRows:
    """The chunk with the wanted columns. Its frames were checked before, and never change."""
    lacking = chunk.lacks(columns)
    if not lacking:
        return chunk
    streams = Streams(chunk.schema, lacking)
    for _, data, at, end in _read(fd, chunk.places):
        streams.add(data, payload_at(data, at), end)
    return replace(chunk, rows=chunk.rows.hstack(streams.rows()))


def _read(fd: int, places: Sequence[RecordLocation]) -> Iterator[tuple[RecordLocation, bytes, int, int]]:
    """The frames at the places: each in what was read at once, where it begins and where it ends."""
    for run in _runs(places):
        first = run[0].start
        data = os.pread(fd, run[-1].end - first, first)
        for place in run:
            yield place, data, place.start - first, place.end - first


def _runs(wanted: Sequence[RecordLocation]) -> Iterator[list[RecordLocation]]:
    """SegmentIndex that are read at once: near each other, and together no more than a portion, or one."""
    run: list[RecordLocation] = []
    for place in wanted:
        if run and not (0 <= place.start - run[-1].end <= GAP_BYTES and place.end - run[0].start <= PORTION_BYTES):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def merge(chunks: Sequence[DecodedRows]) -> tuple[DecodedRows, ...]:
    """The same in few: neighbours of the same schema and columns join while the later is at least half the earlier.

    So every row is copied a logarithmic number of times, however often a growing tail is read.
    """
    merged: list[DecodedRows] = []
    for each in chunks:
        while merged and _are_alike(merged[-1], each) and merged[-1].rows.height <= 2 * each.rows.height:
            before = merged.pop()
            rows = pl.concat([before.rows, each.rows.select(map(exactly, before.rows.columns))], rechunk=True)
            each = DecodedRows(each.schema, before.places + each.places, rows)
        merged.append(each)
    return tuple(merged)


def _are_alike(one: DecodedRows, other: DecodedRows) -> bool:
    return one.schema == other.schema and dict(one.rows.schema) == dict(other.rows.schema)
