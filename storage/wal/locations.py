"""Where records are in a segment, as their headers tell. Knows headers, not rows."""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from storage.wal.records import HEADER, MAGIC

# One read takes a portion with many small records, or only a page, for the header of a large record.
PORTION_BYTES: Final = 64 * 1024
PAGE_BYTES: Final = 4096


class RecordLocation(NamedTuple):
    """Where a record is in its segment, and its header: first and last time (ns since 1970), the number of rows, and
    the size of the request bodies that they came in.

    `gathered`: the rows are those of several records of `[start, end)`, and stand here in the gathered file.
    """

    start: int
    end: int
    tmin: int
    tmax: int
    rows: int
    body_bytes: int
    gathered: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Where the record begins and ends, in the gathered file or in the segment."""
        return self.gathered or (self.start, self.end)

    def may_be_in(self, start: int | None, end: int | None) -> bool:
        """Whether the record may have a row in `[start, end)`."""
        return (start is None or self.tmax >= start) and (end is None or self.tmin < end)

    def is_in(self, start: int | None, end: int | None) -> bool:
        """Whether all rows of the record are in `[start, end)`."""
        return (start is None or self.tmin >= start) and (end is None or self.tmax < end)


def scan_headers(fd: int, at: int, size: int) -> Iterator[tuple[int, RecordLocation]]:
    """The dataset id and location of every record from `at` on that ends within the first `size` bytes."""
    portion = PORTION_BYTES
    while at + HEADER.size <= size:
        begin, data = at, os.pread(fd, min(portion, size - at), at)
        last = begin + len(data) - HEADER.size
        if at > last:
            return
        while at <= last:
            fields = HEADER.unpack_from(data, at - begin)
            magic, _, notes_bytes, payload_bytes, rows, dataset_id, tmin, tmax, body_bytes = fields
            start, at = at, at + HEADER.size + notes_bytes + payload_bytes
            if magic != MAGIC or payload_bytes == 0 or at > size:
                return
            yield dataset_id, RecordLocation(start, at, tmin, tmax, rows, body_bytes)
        portion = PORTION_BYTES if at - start < PAGE_BYTES else PAGE_BYTES
