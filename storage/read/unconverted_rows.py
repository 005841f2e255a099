"""The unconverted rows of datasets, read from segments; only what was appended since the last time is read again.

A record's checksum is verified when a query of its dataset first needs its time range. Only the columns that the
query needs are decoded, and of a record whose columns have checksums only they are read.
"""

import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import polars as pl

from storage.exactly import exactly
from storage.wal.batches import Streams, columns_of, names_in, read_stream, schema_bytes
from storage.wal.column_reading import ColumnDamaged, read_columns
from storage.wal.gathered import gathered_name
from storage.wal.gathered_index import GatheredIndex, GatheredRecordsLost, OpenSegment
from storage.wal.index import IndexedSegment, SegmentIndex
from storage.wal.locations import RecordLocation
from storage.wal.records import checksum_seed, payload_at, payload_start
from storage.wal.segments import SegmentRef

logger = logging.getLogger(__name__)

# A segment is read in portions of this size: fresh memory for all of it would cost more than the reading.
PORTION_BYTES: Final = 256 * 1024
# Two records with a gap of at most this between them are read at once: another read would cost more than the gap.
GAP_BYTES: Final = 16 * 1024
# Reading a column by itself takes as long as reading so many bytes more of a whole record.
COLUMN_BYTES: Final = 6 * 1024
# Records are read by columns in portions of so many, or of so many bytes of all their columns.
COLUMN_RECORDS: Final = 256
COLUMN_PORTION_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class DecodedRows:
    """The rows of undamaged records of one schema, with the columns decoded so far (at least one).

    `schema`: the schema message that the records' streams begin with. It is empty if a stream has another form; then
    all columns are decoded.
    """

    schema: bytes
    locations: tuple[RecordLocation, ...]
    rows: pl.DataFrame

    def lacks(self, columns: Collection[str] | None) -> list[str]:
        """The names among `columns` (None: all) that the records have and that are not decoded yet."""
        if not self.schema:
            return []
        decoded = self.rows.columns
        return [
            name for name in columns_of(self.schema) if name not in decoded and (columns is None or name in columns)
        ]


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """The decoded records of one dataset in one segment.

    They are the first `count` records of the dataset there, except those in `left_out`. `end`: where the last decoded
    record ends. Immutable: an update replaces the whole object.
    """

    indexed: IndexedSegment
    chunks: tuple[DecodedRows, ...] = ()
    count: int = 0
    left_out: tuple[RecordLocation, ...] = ()
    end: int = 0


class Selection(NamedTuple):
    """What a query needs: the columns (None: all) of rows in `[start, end)` (ns since 1970, None: unbounded)."""

    start: int | None
    end: int | None
    columns: Collection[str] | None


class UnconvertedRows:
    """A process's cache of unconverted rows. Threads may share it: two may read the same record, none sees half."""

    def __init__(self) -> None:
        self.index: SegmentIndex = GatheredIndex()
        self._segments: dict[tuple[str, int], SegmentRows] = {}

    def read(
        self,
        dataset_id: int,
        segments: Sequence[SegmentRef],
        start: int | None = None,
        end: int | None = None,
        columns: Collection[str] | None = None,
    ) -> list[pl.DataFrame]:
        """The dataset's rows in the segments, as far as the listing counts them.

        All rows of `[start, end)` (ns since 1970, None: unbounded) are there, and maybe others. Each part has those of
        `columns` (None: all) that its records have, maybe others, and at least one. Raises FileNotFoundError if a
        segment is gone.
        """
        self.forget(segments)
        selection = Selection(start, end, columns)
        return [chunk.rows for each in segments for chunk in self._read_segment(dataset_id, each, selection).chunks]

    def locations(self, dataset_id: int, segments: Sequence[SegmentRef]) -> list[RecordLocation]:
        """Where the dataset's records are, as far as the listing counts them. Raises FileNotFoundError."""
        self.forget(segments)
        found: list[RecordLocation] = []
        for segment in segments:
            with OpenSegment(segment) as opened:
                indexed = self.index.update(segment, opened.fd)
                if indexed.is_cut_by(segment.size):
                    indexed = _without_gathered(opened)
                found += indexed.locations(dataset_id, segment.size)
        return found

    def _read_segment(self, dataset_id: int, segment: SegmentRef, selection: Selection) -> SegmentRows:
        with OpenSegment(segment) as opened:
            indexed = self.index.update(segment, opened.fd)
            if not indexed.is_cut_by(segment.size):
                try:
                    return self._read_indexed(dataset_id, indexed, opened, selection)
                except GatheredRecordsLost as error:
                    logger.warning("%s; the segment itself is read", error)
            indexed = _without_gathered(opened)
            return extend(SegmentRows(indexed), indexed.locations(dataset_id, segment.size), opened, selection)

    def _read_indexed(
        self, dataset_id: int, indexed: IndexedSegment, opened: OpenSegment, selection: Selection
    ) -> SegmentRows:
        segment = opened.segment
        locations = indexed.locations(dataset_id, segment.size)
        cached = self._segments.get((segment.name, dataset_id))
        if cached is None or cached.indexed is not indexed:
            cached = SegmentRows(indexed)
        if cached.end > segment.size:
            # The cache holds records that are newer than this listing, joined with older ones.
            return extend(SegmentRows(indexed), locations, opened, selection)
        extended = extend(cached, locations, opened, selection)
        if extended is not cached:
            self._segments[segment.name, dataset_id] = extended
        return extended

    def forget(self, listed: Sequence[SegmentRef]) -> None:
        """Drop the rows of deleted segments: `listed` lacks them and has a newer one."""
        dropped = set(self.index.forget(listed))
        if dropped:
            for key in [key for key in self._segments if key[0] in dropped]:
                self._segments.pop(key, None)


def _without_gathered(opened: OpenSegment) -> IndexedSegment:
    """The index for a listing that counts some rows of gathered records only: the segment's own records are read."""
    return SegmentIndex().update(opened.segment, opened.fd)


def extend(
    cached: SegmentRows, locations: Sequence[RecordLocation], opened: OpenSegment, selection: Selection
) -> SegmentRows:
    """The cached rows, with the records and columns added that the selection needs.

    Reading stops at the first damaged record. The next call tries that record, and those behind it, again. Raises
    GatheredRecordsLost.
    """
    candidates = [*cached.left_out, *locations[cached.count :]]
    # A record that was left out before may be newer than this listing.
    selected = [
        each
        for each in candidates
        if each.end <= opened.segment.size and each.may_be_in(selection.start, selection.end)
    ]
    reading = RecordReader(opened, cached.indexed, selection.columns)
    fresh = _decode(reading, selected)
    widened = tuple(_add_columns(reading, chunk) for chunk in cached.chunks)
    if len(locations) <= cached.count and not fresh and widened == cached.chunks:
        return cached
    decoded = {location for chunk in fresh for location in chunk.locations}
    left_out = tuple(location for location in candidates if location not in decoded)
    last = max((location.end for location in decoded), default=0)
    chunks = merge((*widened, *fresh))
    return SegmentRows(cached.indexed, chunks, max(cached.count, len(locations)), left_out, max(cached.end, last))


# Where the payload of the record `data[start:end]` begins; None if the record is damaged.
PayloadOf = Callable[[RecordLocation, bytes, int, int], int | None]
# Bytes of which a part is one stream, and the locations of the records whose rows begin there.
Part = tuple[Sequence[RecordLocation], bytes, int, int]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Records of a segment that are read for some columns (None: all)."""

    opened: OpenSegment
    indexed: IndexedSegment
    columns: Collection[str] | None
    # By schema, from which size on a record is read by columns.
    _least_bytes: dict[bytes, float] = field(default_factory=dict)

    def parts(self, locations: Sequence[RecordLocation], payload_of: PayloadOf) -> Iterator[Part]:
        """The streams of the records, in order, up to the first damaged one, with the columns at least.

        Raises GatheredRecordsLost.
        """
        for run, schema in self._runs(locations):
            if schema is not None:
                yield from self._by_columns(run, schema)
                continue
            for location, data, at, end in read_records(self.opened, run):
                start = payload_of(location, data, at, end)
                if start is None:
                    return
                yield (location,), data, start, end

    def _runs(self, locations: Sequence[RecordLocation]) -> Iterator[tuple[list[RecordLocation], bytes | None]]:
        """The locations in groups: of one schema and file, to be read by columns, or to be read whole (None)."""
        run: list[RecordLocation] = []
        schema, size = None, 0
        for location in locations:
            own = self._read_by_columns(location)
            is_full = own and (len(run) == COLUMN_RECORDS or size > COLUMN_PORTION_BYTES)
            if run and (own != schema or is_full or (own and _is_elsewhere(location, run[0]))):
                yield run, schema
                run, size = [], 0
            run.append(location)
            schema, size = own, size + _size(location)
        if run:
            yield run, schema

    def _read_by_columns(self, location: RecordLocation) -> bytes | None:
        """The schema of a record whose columns can be read by themselves, if that is less work than reading all."""
        checked = self.indexed.columns.get(location)
        if checked is None or self.columns is None:
            return None
        schema = checked.schema
        least = self._least_bytes.get(schema)
        if least is None:
            least = self._least_bytes[schema] = self._worth_bytes(schema)
        return schema if _size(location) > least else None

    def _worth_bytes(self, schema: bytes) -> float:
        total, wanted = len(columns_of(schema)), len(names_in(schema, self.columns))
        return wanted * COLUMN_BYTES * total / (total - wanted) if wanted < total else math.inf

    def _by_columns(self, run: Sequence[RecordLocation], schema: bytes) -> Iterator[Part]:
        records = [(each.place[0], self.indexed.columns[each]) for each in run]
        fd = self.opened.fd_of(is_gathered=run[0].gathered is not None)
        try:
            for stream in read_columns(records, names_in(schema, self.columns), fd):
                yield run, stream, 0, len(stream)
                # The others have the rest of the same records.
                run = ()
        except ColumnDamaged as error:
            raise GatheredRecordsLost(f"the segment {self.opened.segment.name}: {error}") from error

    def verified(self, location: RecordLocation, data: bytes, at: int, end: int) -> int | None:
        """Where the payload begins; None if the record is damaged. Raises GatheredRecordsLost."""
        segment = self.opened.segment.name
        name = gathered_name(segment) if location.gathered else segment
        start = payload_start(data, at, end, checksum_seed(name))
        if start is None and (location.gathered or location in self.indexed.columns):
            raise GatheredRecordsLost(f"records of the segment {segment} that were gathered are damaged")
        return start

    def known(self, location: RecordLocation, data: bytes, at: int, end: int) -> int | None:
        """The same of a record that was read before: whole, so that it was verified, unless it has columns."""
        return self.verified(location, data, at, end) if location in self.indexed.columns else payload_at(data, at)


def _size(location: RecordLocation) -> int:
    start, end = location.place
    return end - start


def _is_elsewhere(left: RecordLocation, right: RecordLocation) -> bool:
    """Whether one is in the segment and the other in its gathered file."""
    return (left.gathered is None) != (right.gathered is None)


def _decode(reading: RecordReader, locations: Sequence[RecordLocation]) -> list[DecodedRows]:
    """The rows of the records at the locations, up to the first damaged one. Raises GatheredRecordsLost."""
    by_schema: dict[bytes, tuple[list[RecordLocation], Streams]] = {}
    chunks: list[DecodedRows] = []
    for part, data, start, end in reading.parts(locations, reading.verified):
        schema = schema_bytes(data, start, end)
        if schema is None:
            chunks.append(DecodedRows(b"", tuple(part), read_stream(data[start:end])))
            continue
        if schema not in by_schema:
            by_schema[schema] = [], Streams(schema, reading.columns)
        group, streams = by_schema[schema]
        group.extend(part)
        streams.add(data, start, end)
    return chunks + [
        DecodedRows(schema, tuple(group), streams.rows()) for schema, (group, streams) in by_schema.items()
    ]


def _add_columns(reading: RecordReader, chunk: DecodedRows) -> DecodedRows:
    """The chunk with the columns added that it lacks. Its records never change. Raises GatheredRecordsLost."""
    lacking = chunk.lacks(reading.columns)
    if not lacking:
        return chunk
    widening = RecordReader(reading.opened, reading.indexed, lacking)
    streams = Streams(chunk.schema, lacking)
    for _, data, start, end in widening.parts(chunk.locations, widening.known):
        streams.add(data, start, end)
    return replace(chunk, rows=chunk.rows.hstack(streams.rows()))


def read_records(
    opened: OpenSegment, locations: Sequence[RecordLocation]
) -> Iterator[tuple[RecordLocation, bytes, int, int]]:
    """For each location the bytes that were read, and where in them its record begins and ends."""
    for run in _runs(locations):
        first, last = run[0].place[0], run[-1].place[1]
        data = opened.read(first, last, is_gathered=run[0].gathered is not None)
        for location in run:
            start, end = location.place
            yield location, data, start - first, end - first


def _runs(locations: Sequence[RecordLocation]) -> Iterator[list[RecordLocation]]:
    """The locations in groups that are read at once: of one file, near each other, together at most one portion."""
    run: list[RecordLocation] = []
    for location in locations:
        if run and not _is_near(run, location):
            yield run
            run = []
        run.append(location)
    if run:
        yield run


def _is_near(run: Sequence[RecordLocation], location: RecordLocation) -> bool:
    if _is_elsewhere(location, run[0]):
        return False
    start, end = location.place
    return 0 <= start - run[-1].place[1] <= GAP_BYTES and end - run[0].place[0] <= PORTION_BYTES


def merge(chunks: Sequence[DecodedRows]) -> tuple[DecodedRows, ...]:
    """The chunks with neighbours of the same schema and columns joined while the later has half the earlier's rows.

    So every row is copied a logarithmic number of times, however often a growing segment is read.
    """
    merged: list[DecodedRows] = []
    for chunk in chunks:
        while merged and _are_alike(merged[-1], chunk) and merged[-1].rows.height <= 2 * chunk.rows.height:
            before = merged.pop()
            rows = pl.concat([before.rows, chunk.rows.select(map(exactly, before.rows.columns))], rechunk=True)
            chunk = DecodedRows(chunk.schema, before.locations + chunk.locations, rows)
        merged.append(chunk)
    return tuple(merged)


def _are_alike(left: DecodedRows, right: DecodedRows) -> bool:
    return left.schema == right.schema and dict(left.rows.schema) == dict(right.rows.schema)
