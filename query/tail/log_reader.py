"""Reads what was appended to segments, by ranges, each record in its turn. Only the records of one dataset are decoded.

Works in the tail process; several tails that are at the same place share what was decoded for the first of them.
"""

import os
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np
import polars as pl

from query.tail.position import Range
from storage.wal.batches import Streams, columns_of, read_stream, schema_bytes
from storage.wal.index import IndexedSegment, SegmentIndex
from storage.wal.locations import RecordLocation
from storage.wal.records import checksum_seed, payload_start
from storage.wal.segments import SegmentRef, list_segments

# What one batch of a tail reads: little, so that tails take turns, and enough that Polars' costs per call vanish.
BATCH_BYTES: Final = 2 * 1024 * 1024
# Batches that are kept for the next tails at the same place.
MOST_SHARED: Final = 8
# Less than a request with its sync takes.
LISTING_SECONDS: Final = 0.001
MOST_LISTINGS: Final = 4
# Deleted segments whose sizes are remembered: those of an hour or more.
MOST_GONE: Final = 4096
# A record that was listed is whole, unless the disk or a cut-back has changed that; queries stop there too.
DAMAGE_SECONDS: Final = 10.0
ARRIVAL: Final = "p_timestamp"
# No name of a column: those are text that PostgreSQL can hold.
ORDINAL: Final = "\0record"


class _Broken(Exception):
    """The checksum of the record at this offset is not that of its content."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Damaged(Exception):
    """A record is not whole, or not yet: the next listing knows."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The next records of a dataset behind some offsets: `ranges` in order, as much as one batch holds, and whether
    that `is_all`. `upto`: by segment, how far the log is read with them. `bytes`, `rows`: of all unread records.
    `damaged`: records that are passed over, because they do not become whole."""

    ranges: tuple[Range, ...]
    upto: Mapping[str, int]
    is_all: bool
    bytes: int
    rows: int
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of some records of one schema. `columns` are all that the records have, `rows` holds those that were
    asked for, and in ORDINAL which record of the batch each row is from."""

    columns: Mapping[str, pl.DataType]
    rows: pl.DataFrame


class LogReader:
    """The segments of this host and the mirrors of others, as they were last listed."""

    def __init__(self, staging: Path) -> None:
        self._staging = staging
        self._mirrors: dict[str, SegmentRef] = {}
        self._index = SegmentIndex()
        self._indexed: dict[str, tuple[int, IndexedSegment]] = {}
        self._shared: OrderedDict[object, Mapping[frozenset[str], Sequence[Part]]] = OrderedDict()
        # By segment and offset, when a damaged record was first seen (monotonic seconds).
        self._damaged: dict[tuple[str, int], float] = {}
        self.segments: dict[str, SegmentRef] = {}
        # Another number for another listing.
        self.version = 0
        self._gone: OrderedDict[str, int] = OrderedDict()

    def tell_mirrors(self, mirrors: Iterable[SegmentRef]) -> None:
        """From now on these too are segments, until their files are gone."""
        known = {name: each for name, each in self._mirrors.items() if os.path.exists(each.path)}
        self._mirrors = known | {each.name: each for each in mirrors}

    def is_mirror(self, segment: str) -> bool:
        return segment in self._mirrors

    def refresh(self) -> None:
        """List the segments anew."""
        listed = [*self._list_at_once(), *self._mirrors.values()]
        segments = {each.name: each for each in sorted(listed, key=attrgetter("name"))}
        if segments == self.segments:
            return
        self._gone.update({name: each.size for name, each in self.segments.items() if name not in segments})
        while len(self._gone) > MOST_GONE:
            self._gone.popitem(last=False)
        self.segments, self.version = segments, self.version + 1
        for name in self._indexed.keys() - self.segments.keys():
            del self._indexed[name]
        self._damaged = {key: since for key, since in self._damaged.items() if key[0] in self.segments}
        self._index.forget(listed)

    def _list_at_once(self) -> Sequence[SegmentRef]:
        """The local segments, all as of one moment, or nearly so.

        An event that was sent after another one was acknowledged must not be seen before it, in another segment. From
        the one to the other it takes longer than a listing, unless this process has to wait in the middle of it.
        """
        for _ in range(MOST_LISTINGS):
            begun = monotonic()
            listed = list_segments(self._staging)
            if monotonic() - begun < LISTING_SECONDS:
                break
        return listed

    def has_lost(self, name: str, offset: int) -> bool:
        """Whether the segment was deleted with bytes behind the offset."""
        return offset < self._gone.get(name, 0)

    def unread(self, dataset_id: int, offsets: Mapping[str, int]) -> Unread:
        """What the dataset has behind the offsets. Segments that are not in `offsets` are left out."""
        ranges: list[Range] = []
        upto: dict[str, int] = {}
        room, is_all, unread_bytes, rows = BATCH_BYTES, True, 0, 0
        damaged = 0
        for name, offset in sorted(offsets.items()):
            segment = self.segments.get(name)
            if segment is None or segment.size <= offset:
                continue
            locations, end = self._locations(dataset_id, segment, offset)
            locations, end, passed = self._without_damaged(name, locations, end)
            damaged += passed
            unread_bytes += sum(each.end - each.start for each in locations)
            rows += sum(each.rows for each in locations)
            taken = _fitting(locations, room, at_least=0 if ranges else 1)
            if taken:
                ranges.append(Range(name, taken[0].start, taken[-1].end))
                room -= taken[-1].end - taken[0].start
            if len(taken) < len(locations):
                end, room, is_all = (taken[-1].end if taken else offset), 0, False
            upto[name] = end
        return Unread(tuple(ranges), upto, is_all, unread_bytes, rows, damaged)

    def _without_damaged(
        self, name: str, locations: Sequence[RecordLocation], end: int
    ) -> tuple[Sequence[RecordLocation], int, int]:
        """The records before the first that may yet become whole, where they end, and how many are left out: those
        that will not."""
        if not self._damaged:
            return locations, end, 0
        since = [self._damaged.get((name, each.start)) for each in locations]
        now = monotonic()
        for number, (each, seen) in enumerate(zip(locations, since, strict=True)):
            if seen is not None and now - seen < DAMAGE_SECONDS:
                locations, end, since = locations[:number], each.start, since[:number]
                break
        whole = [each for each, seen in zip(locations, since, strict=True) if seen is None]
        return whole, end, len(locations) - len(whole)

    def first_since(self, dataset_id: int, segment: SegmentRef, since_us: int) -> int:
        """The offset of the segment's first record that has an event of the dataset which arrived since then.

        Records were appended in the order of arrival, but for some milliseconds.
        """
        locations, end = self._locations(dataset_id, segment, 0)
        first = bisect_left(locations, True, key=lambda each: self._arrived_us(dataset_id, segment, each) >= since_us)
        return locations[first].start if first < len(locations) else end

    def read(self, dataset_id: int, ranges: Sequence[Range], columns: Collection[str] | None) -> Sequence[Part]:
        """The rows of the records, of the `columns` (None: all) those that they have, and maybe others.

        Raises Damaged, FileNotFoundError.
        """
        wanted = frozenset() if columns is None else frozenset(columns)
        key = dataset_id, tuple(ranges)
        shared = self._shared.get(key, {})
        for names, parts in shared.items():
            if not names or (wanted and wanted <= names):
                return parts
        read = tuple(self._read(dataset_id, ranges, wanted or None))
        self._shared[key] = {**shared, wanted: read}
        while len(self._shared) > MOST_SHARED:
            self._shared.popitem(last=False)
        return read

    def first_records(self, dataset_id: int, ranges: Sequence[Range], wanted: Collection[int]) -> tuple[Range, ...]:
        """Of each range its first records, as long as their numbers in the batch are wanted."""
        kept, number = [], 0
        for each in ranges:
            whole = self._whole(dataset_id, each)
            count = len(list(takewhile(wanted.__contains__, range(number, number + len(whole)))))
            number += len(whole)
            if count:
                kept.append(Range(each.segment, each.start, whole[count - 1].end))
        return tuple(kept)

    def _locations(self, dataset_id: int, segment: SegmentRef, offset: int) -> tuple[Sequence[RecordLocation], int]:
        """The dataset's records from the offset on, and how far the headers were read."""
        size, indexed = self._indexed.get(segment.name, (-1, None))
        if indexed is None or size != segment.size:
            with open(segment.path, "rb", buffering=0) as file:
                indexed = self._index.update(segment, file.fileno())
            self._indexed[segment.name] = segment.size, indexed
        locations = indexed.locations(dataset_id, segment.size)
        return locations[bisect_left(locations, offset, key=attrgetter("start")) :], min(indexed.end, segment.size)

    def _arrived_us(self, dataset_id: int, segment: SegmentRef, location: RecordLocation) -> int:
        part = Range(segment.name, location.start, location.end)
        latest = [each.rows[ARRIVAL].to_physical().max() for each in self.read(dataset_id, (part,), [ARRIVAL])]
        return max(int(each) for each in latest if isinstance(each, int))

    def _read(self, dataset_id: int, ranges: Sequence[Range], columns: Collection[str] | None) -> Iterator[Part]:
        count = 0
        for each in ranges:
            segment = self.segments.get(each.segment)
            if segment is None:
                raise FileNotFoundError(each.segment)
            whole = self._whole(dataset_id, each)
            try:
                yield from _read_range(segment, each, whole, columns, count)
            except _Broken as error:
                self._damaged[each.segment, error.at] = monotonic()
                raise Damaged(f"segment {each.segment} at {error.at}") from error
            count += len(whole)

    def _whole(self, dataset_id: int, part: Range) -> list[RecordLocation]:
        """The records of a range, but for those that are damaged."""
        locations, _ = self._locations(dataset_id, self.segments[part.segment], part.start)
        return [each for each in locations if each.end <= part.end and (part.segment, each.start) not in self._damaged]


def _read_range(
    segment: SegmentRef,
    part: Range,
    locations: Sequence[RecordLocation],
    columns: Collection[str] | None,
    first_number: int,
) -> Iterator[Part]:
    """The rows of a range, by schema. Raises _Broken, FileNotFoundError."""
    seed = checksum_seed(segment.name)
    groups: dict[bytes, tuple[Streams, list[tuple[int, int]]]] = {}
    with open(segment.path, "rb", buffering=0) as file:
        data = os.pread(file.fileno(), part.end - part.start, part.start)
    for number, location in enumerate(locations, first_number):
        at, end = location.start - part.start, location.end - part.start
        start = payload_start(data, at, end, seed)
        if start is None:
            raise _Broken(location.start)
        schema = schema_bytes(data, start, end)
        if schema is None:
            rows = read_stream(data[start:end])
            yield Part(dict(rows.schema), _numbered(rows, [(number, location.rows)]))
            continue
        if schema not in groups:
            groups[schema] = Streams(schema, columns), []
        streams, numbers = groups[schema]
        streams.add(data, start, end)
        numbers.append((number, location.rows))
    for schema, (streams, numbers) in groups.items():
        yield Part(columns_of(schema), _numbered(streams.rows(), numbers))


def _numbered(rows: pl.DataFrame, records: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """The rows with the number of their record, given how many rows each record has."""
    numbers, rows_each = zip(*records, strict=True)
    ordinals = np.repeat(np.array(numbers, np.uint32), rows_each)
    return rows.with_columns(pl.Series(ORDINAL, ordinals))


def _fitting(locations: Sequence[RecordLocation], room: int, at_least: int) -> Sequence[RecordLocation]:
    """The first records that lie within so many bytes, other datasets' between them included."""
    count = at_least
    while count < len(locations) and locations[count].end - locations[0].start <= room:
        count += 1
    return locations[:count]
