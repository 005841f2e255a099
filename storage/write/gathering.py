"""The owner of a segment gathers its records as they become durable: small ones are few records for queries to read,
and of large ones each column has a checksum."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from storage.wal.batches import schema_bytes
from storage.wal.column_checksums import ColumnChecker
from storage.wal.gathered import GatheredRecord, KeptRecord, encode_gathered_range, gathered_path
from storage.wal.locations import RecordLocation
from storage.wal.records import HEADER_BYTES, Record, to_payload
from storage.wal.segments import Segment, write_buffers

logger = logging.getLogger(__name__)

# Records with more rows than this cost a query little beside their rows, and gathering them would copy much.
SMALL_ROWS: Final = 32
# So many small records become one. Fewer leave a query more records to read, more leave it more that are not gathered.
RECORDS: Final = 128
# At the segment's end fewer are enough: what a query would spend on them pays for a file.
LAST_RECORDS: Final = 32
# A gathered record takes this many at least, on the average over its range. Of fewer it would save too little.
LEAST_RECORDS: Final = 16
# A range with more small records, of too many datasets or schemas for that, is left as it is.
MOST_RECORDS: Final = 2048
# Large records of so many bytes are a range too. More leave a query more to read whole, and are in memory until then.
LARGE_BYTES: Final = 2 * 1024 * 1024
# And at the segment's end.
LAST_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Noted:
    """A durable record and where it begins in the segment."""

    record: Record
    at: int

    @property
    def location(self) -> RecordLocation:
        record = self.record
        times = record.tmin, record.tmax
        return RecordLocation(self.at, self.at + record.size, *times, record.rows, record.body_bytes)


class Gatherer:
    """Owns the gathered file of a segment that this process owns. Not for two threads at once."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._fd = -1
        self._file_bytes = 0
        self._is_closed = False
        self._start = self._end = segment.size
        self._checker = ColumnChecker()
        self._large: list[_Noted] = []
        self._large_bytes = 0
        self._count = 0
        self._small: dict[object, list[tuple[_Noted, pl.DataFrame]]] = {}

    def add(self, records: Sequence[tuple[Record, pl.DataFrame]]) -> None:
        """Note records, with their rows, that were made durable in the segment behind those noted before."""
        if self._is_closed:
            return
        for record, rows in records:
            self._add(_Noted(record, self._end), rows)
            self._end += record.size

    def _add(self, noted: _Noted, rows: pl.DataFrame) -> None:
        payload = noted.record.payload
        schema = schema_bytes(payload, 0, len(payload)) if rows.height <= SMALL_ROWS else None
        if schema is None:
            self._large.append(noted)
            self._large_bytes += len(payload)
            return
        self._small.setdefault((noted.record.dataset_id, schema), []).append((noted, rows))
        self._count += 1

    def _restart(self) -> None:
        self._start = self._end
        self._large.clear()
        self._large_bytes = 0
        self._small.clear()
        self._count = 0

    @property
    def is_due(self) -> bool:
        """Whether there are enough records to be gathered, or too many of too many kinds."""
        is_enough = self._count >= max(RECORDS, LEAST_RECORDS * len(self._small))
        return is_enough or self._count >= MOST_RECORDS or self._large_bytes >= LARGE_BYTES

    def gather(self) -> None:
        """Write what is due. A failure is logged: the rows are durable without it."""
        try:
            is_worth_copying = self._count >= LEAST_RECORDS * len(self._small)
            copied = list(self._small.values()) if is_worth_copying else []
            plain = [] if is_worth_copying else [noted for group in self._small.values() for noted, _ in group]
            if copied or self._large:
                self._write([self._gathered(group) for group in copied], plain)
        except Exception:
            logger.exception("records of the segment %s could not be gathered", self._segment.name)
            self._close()
        self._restart()

    def finish(self) -> None:
        """Gather what is left of the segment, which has ended, and let go of the file."""
        if self._count >= LAST_RECORDS or self._large_bytes >= LAST_BYTES:
            self.gather()
        self._close()

    def _write(self, gathered: Sequence[GatheredRecord], plain: Sequence[_Noted]) -> None:
        """`plain`: small records that the range leaves as they are."""
        if self._fd < 0:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            self._fd = os.open(gathered_path(str(self._segment.path)), flags, 0o640)
        kept = sorted((*map(self._checked, self._large), *map(_kept, plain)), key=lambda each: each.location.start)
        buffers = encode_gathered_range(gathered, kept, self._start, self._end, self._segment.name)
        self._file_bytes += write_buffers(self._fd, [each for each in buffers if len(each)], self._file_bytes)

    def _gathered(self, group: Sequence[tuple[_Noted, pl.DataFrame]]) -> GatheredRecord:
        record = _joined(group)
        return GatheredRecord(record, self._checker.check(record.payload, HEADER_BYTES))

    def _checked(self, noted: _Noted) -> KeptRecord:
        record = noted.record
        columns = self._checker.check(record.payload, HEADER_BYTES + len(record.notes))
        return KeptRecord(record.dataset_id, noted.location, columns)

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._is_closed = -1, True


def _kept(noted: _Noted) -> KeptRecord:
    return KeptRecord(noted.record.dataset_id, noted.location, None)


def _joined(group: Sequence[tuple[_Noted, pl.DataFrame]]) -> Record:
    records = [noted.record for noted, _ in group]
    rows = pl.concat([rows for _, rows in group], rechunk=True)
    return Record(
        dataset_id=records[0].dataset_id,
        rows=rows.height,
        tmin=min(each.tmin for each in records),
        tmax=max(each.tmax for each in records),
        body_bytes=sum(each.body_bytes for each in records),
        payload=to_payload(rows),
    )
