"""The index of segments: where each dataset's records are. An update scans only what was appended since the last one.

Knows headers, not rows. The scan reads headers and skips payloads, so a segment full of other datasets' events costs
next to nothing. Whoever needs a record reads its payload and verifies its checksum.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from storage.wal.column_checksums import CheckedColumns
from storage.wal.locations import RecordLocation
from storage.wal.records import HEADER, MAGIC
from storage.wal.segments import SegmentRef

# One read takes a portion with many small records, or only a page, for the header of a large record.
PORTION_BYTES: Final = 64 * 1024
PAGE_BYTES: Final = 4096


@dataclass(slots=True)
class IndexedSegment:
    """The first `end` bytes of a segment: the locations of each dataset's records, in order. Lists only grow."""

    end: int = 0
    by_dataset: dict[int, list[RecordLocation]] = field(default_factory=dict)
    # The ranges that are known by their gathered records, in order, and how far the gathered file was read.
    gathered: list[tuple[int, int]] = field(default_factory=list)
    gathered_end: int = 0
    # The columns of records that are known to be synced, as far as they have checksums of their own.
    columns: dict[RecordLocation, CheckedColumns] = field(default_factory=dict)

    def add(self, located: Iterable[tuple[int, RecordLocation]]) -> None:
        """Add records, each with its dataset's id, that follow what is known."""
        for dataset_id, location in located:
            self.by_dataset.setdefault(dataset_id, []).append(location)
            self.end = location.end

    def is_cut_by(self, size: int) -> bool:
        """Whether gathered records have rows of both sides of that offset, so that `locations` cannot tell."""
        return any(start < size < end for start, end in reversed(self.gathered))

    def locations(self, dataset_id: int, size: int) -> Sequence[RecordLocation]:
        """The dataset's records within the first `size` bytes. The index may have read further than that."""
        locations = self.by_dataset.get(dataset_id, [])
        count = len(locations)
        while count and locations[count - 1].end > size:
            count -= 1
        return locations if count == len(locations) else locations[:count]


class SegmentIndex:
    """A process's index of all segments. Safe for any number of threads."""

    def __init__(self) -> None:
        self._indexed: dict[str, IndexedSegment] = {}
        self._lock = threading.Lock()

    def update(self, segment: SegmentRef, fd: int) -> IndexedSegment:
        """The index of the segment, which is open as `fd`, up to its listed size at least.

        Returns a new object if the segment was cut back since the last update.
        """
        with self._lock:
            indexed = self._indexed.get(segment.name)
            if indexed is None or os.fstat(fd).st_size < indexed.end:
                indexed = self._indexed[segment.name] = IndexedSegment()
            if indexed.end < segment.size:
                self.extend(indexed, segment, fd)
            return indexed

    def extend(self, indexed: IndexedSegment, segment: SegmentRef, fd: int) -> None:
        """Add what follows, up to the segment's listed size."""
        indexed.add(scan_headers(fd, indexed.end, segment.size))

    def forget(self, listed: Sequence[SegmentRef]) -> list[str]:
        """Drop deleted segments from the index; return their names. `listed` lacks them and has a newer one.

        A segment that is newer than all listed ones (names are ULIDs) is not deleted: it was created afterwards.
        """
        names = {each.name for each in listed}
        newest = max(names, default="~")
        with self._lock:
            dropped = [name for name in self._indexed if name < newest and name not in names]
            for name in dropped:
                del self._indexed[name]
        return dropped


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
