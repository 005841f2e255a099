"""Small records of a segment gathered by its owner, as they become durable: few records for queries to read."""

import logging
import os
from collections.abc import Sequence
from typing import Final

import polars as pl

from storage.wal.batches import schema_bytes
from storage.wal.gathered import Located, encode_gathered_range, gathered_path
from storage.wal.locations import RecordLocation
from storage.wal.records import Record, to_payload
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


class Gatherer:
    """Owns the gathered file of a segment that this process owns. Not for two threads at once."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._fd = -1
        self._file_bytes = 0
        self._is_closed = False
        self._start = self._end = segment.size
        self._kept: list[Located] = []
        self._count = 0
        self._small: dict[object, list[tuple[Record, pl.DataFrame]]] = {}

    def add(self, records: Sequence[tuple[Record, pl.DataFrame]]) -> None:
        """Note records, with their rows, that were made durable in the segment behind those noted before."""
        if self._is_closed:
            return
        if not self._count:
            self._restart()
        for record, rows in records:
            self._add(record, rows, self._end)
            self._end += record.size

    def _add(self, record: Record, rows: pl.DataFrame, at: int) -> None:
        schema = schema_bytes(record.payload, 0, len(record.payload)) if rows.height <= SMALL_ROWS else None
        if schema is None:
            times = record.tmin, record.tmax
            location = RecordLocation(at, at + record.size, *times, record.rows, record.body_bytes)
            self._kept.append((record.dataset_id, location))
            return
        self._small.setdefault((record.dataset_id, schema), []).append((record, rows))
        self._count += 1

    def _restart(self) -> None:
        self._start = self._end
        self._kept.clear()
        self._small.clear()
        self._count = 0

    @property
    def is_due(self) -> bool:
        """Whether there are enough small records to be gathered, or too many of too many kinds."""
        return self._count >= max(RECORDS, LEAST_RECORDS * len(self._small)) or self._count >= MOST_RECORDS

    def gather(self) -> None:
        """Write what is due. A failure is logged: the rows are durable without it."""
        try:
            if self._count >= LEAST_RECORDS * len(self._small):
                self._write([_joined(group) for group in self._small.values()])
        except Exception:
            logger.exception("small records of the segment %s could not be gathered", self._segment.name)
            self._close()
        self._restart()

    def finish(self) -> None:
        """Gather what is left of the segment, which has ended, and let go of the file."""
        if self._count >= LAST_RECORDS:
            self.gather()
        self._close()

    def _write(self, records: Sequence[Record]) -> None:
        if self._fd < 0:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            self._fd = os.open(gathered_path(str(self._segment.path)), flags, 0o640)
        buffers = encode_gathered_range(records, self._kept, self._start, self._end, self._segment.name)
        self._file_bytes += write_buffers(self._fd, [each for each in buffers if len(each)], self._file_bytes)

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._is_closed = -1, True


def _joined(group: Sequence[tuple[Record, pl.DataFrame]]) -> Record:
    records = [record for record, _ in group]
    rows = pl.concat([rows for _, rows in group], rechunk=True)
    return Record(
        dataset_id=records[0].dataset_id,
        rows=rows.height,
        tmin=min(each.tmin for each in records),
        tmax=max(each.tmax for each in records),
        body_bytes=sum(each.body_bytes for each in records),
        payload=to_payload(rows),
    )
