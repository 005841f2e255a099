"""Where in the segments each dataset's frames are; of a segment only what was appended since the last time is walked.

Knows headers, not rows. A walk hops from header to header: what lies between them is read and checked by whoever wants
a frame, so that a segment full of other datasets' events costs next to nothing.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from storage.wal.records import HEADER, MAGIC
from storage.wal.segments import SegmentRef

# What is read at once: many small frames, or of a large one the header. A page of the file is the least there is.
PORTION_BYTES: Final = 64 * 1024
PAGE_BYTES: Final = 4096


class RecordLocation(NamedTuple):
    """Where a frame is in its segment, and what its header says: first and last time (ns since 1970), how many rows,
    and the size of the bodies that they came in."""

    start: int
    end: int
    tmin: int
    tmax: int
    rows: int
    body_bytes: int

    def may_be_in(self, start: int | None, end: int | None) -> bool:
        """Whether a row of it may be in `[start, end)`."""
        return (start is None or self.tmax >= start) and (end is None or self.tmin < end)

    def is_in(self, start: int | None, end: int | None) -> bool:
        """Whether all rows of it are in `[start, end)`."""
        return (start is None or self.tmin >= start) and (end is None or self.tmax < end)


@dataclass(slots=True)
class IndexedSegment:
    """The first `end` bytes of a segment: the places of each dataset's frames, in order. Lists only grow."""

    end: int = 0
    by_dataset: dict[int, list[RecordLocation]] = field(default_factory=dict)

    def places(self, dataset_id: int, size: int) -> Sequence[RecordLocation]:
        """Those of the dataset within the first `size` bytes, which may be less than was walked."""
        found = self.by_dataset.get(dataset_id, [])
        count = len(found)
        while count and found[count - 1].end > size:
            count -= 1
        return found if count == len(found) else found[:count]


class SegmentIndex:
    """What a process knows of segments. Safe for any number of threads."""

    def __init__(self) -> None:
        self._walked: dict[str, IndexedSegment] = {}
        self._lock = threading.Lock()

    def walked(self, staged: SegmentRef, fd: int) -> IndexedSegment:
        """The segment, open as `fd`, walked as far as its listing at least. Another object if it was cut back."""
        with self._lock:
            known = self._walked.get(staged.name)
            if known is None or os.fstat(fd).st_size < known.end:
                known = self._walked[staged.name] = IndexedSegment()
            for dataset_id, place in scan_headers(fd, known.end, staged.size):
                known.by_dataset.setdefault(dataset_id, []).append(place)
                known.end = place.end
            return known

    def forget(self, listed: Sequence[SegmentRef]) -> list[str]:
        """Drop the segments that are gone, which are those that a newer one was listed without; their names.

        One that is newer than all that are listed (names are ULIDs) was only not there yet.
        """
        names = {each.name for each in listed}
        newest = max(names, default="~")
        with self._lock:
            gone = [name for name in self._walked if name < newest and name not in names]
            for name in gone:
                del self._walked[name]
        return gone


def scan_headers(fd: int, at: int, size: int) -> Iterator[tuple[int, RecordLocation]]:
    """The frames from `at` on that end within the first `size` bytes, each with its dataset's id."""
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
