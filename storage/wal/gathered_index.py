"""The index of segments that takes gathered records where there are some, and the files that it leads to."""

import os
from collections.abc import Iterator
from typing import Final

from storage.wal.gathered import Gathering, decode_gatherings, gathered_name, gathered_path
from storage.wal.index import IndexedSegment, SegmentIndex, scan_headers
from storage.wal.segments import SegmentRef

# What is read at once. Gatherings that take more are read in larger portions.
PORTION_BYTES: Final = 256 * 1024


class GatheredIndex(SegmentIndex):
    """An index that takes gathered records for those of the segment where there are some."""

    def extend(self, indexed: IndexedSegment, segment: SegmentRef, fd: int) -> None:
        for gathering in read_gatherings(segment, indexed.gathered_end):
            if gathering.end > segment.size:
                break
            indexed.gathered_end = gathering.file_end
            if gathering.start < indexed.end:
                # Its records are known already, some at least, one by one.
                continue
            indexed.add(scan_headers(fd, indexed.end, gathering.start))
            if indexed.end != gathering.start:
                # The segment is damaged before it, and nothing behind damage is read.
                return
            indexed.add(gathering.located)
            indexed.end = gathering.end
            indexed.gathered.append((gathering.start, gathering.end))
        super().extend(indexed, segment, fd)


class OpenSegment:
    """A segment and its gathered file, opened to be read. Raises FileNotFoundError if one that is needed is gone."""

    def __init__(self, segment: SegmentRef) -> None:
        self.segment = segment
        self.fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        self._gathered_fd = -1

    def __enter__(self) -> "OpenSegment":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        if self._gathered_fd >= 0:
            os.close(self._gathered_fd)

    def read(self, start: int, end: int, *, is_gathered: bool) -> bytes:
        """The bytes of the segment, or of its gathered file."""
        return os.pread(self._open_gathered() if is_gathered else self.fd, end - start, start)

    def _open_gathered(self) -> int:
        if self._gathered_fd < 0:
            self._gathered_fd = os.open(gathered_path(self.segment.path), os.O_RDONLY | os.O_CLOEXEC)
        return self._gathered_fd


def read_gatherings(segment: SegmentRef, at: int) -> Iterator[Gathering]:
    """The undamaged gatherings of the segment from that offset of the gathered file on; none if there is no file."""
    try:
        fd = os.open(gathered_path(segment.path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        yield from _read(fd, at, gathered_name(segment.name))
    finally:
        os.close(fd)


def _read(fd: int, at: int, name: str) -> Iterator[Gathering]:
    # What is decoded keeps nothing of it, and fresh memory for each portion would cost as much as the reading.
    portion = bytearray(PORTION_BYTES)
    while size := os.preadv(fd, [portion], at):
        before = at
        for gathering in decode_gatherings(memoryview(portion)[:size], at, name):
            yield gathering
            at = gathering.file_end
        if at > before:
            continue
        if size < len(portion):
            return
        portion = bytearray(2 * len(portion))
