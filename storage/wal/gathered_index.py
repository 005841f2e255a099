"""The index of segments that takes gathered records where there are some, and the files that it leads to."""

import os
from collections.abc import Iterator
from typing import Final

from storage.wal.gathered import GatheredRange, decode_gathered_ranges, gathered_name, gathered_path
from storage.wal.index import IndexedSegment, SegmentIndex, scan_headers
from storage.wal.segments import SegmentRef

# What is read at once, of tables and what is between them. Tables that take more are read in larger portions.
PORTION_BYTES: Final = 256 * 1024


class GatheredRecordsLost(Exception):
    """Gathered records that were found are damaged or gone; the segment has their rows."""


class GatheredIndex(SegmentIndex):
    """An index that takes gathered records for those of the segment where there are some."""

    def extend(self, indexed: IndexedSegment, segment: SegmentRef, fd: int) -> None:
        for found in read_gathered_ranges(segment, indexed.gathered_end):
            if found.end > segment.size:
                break
            indexed.gathered_end = found.file_end
            indexed.columns.update(found.columns)
            if found.start < indexed.end:
                # Its records are known already, some at least, one by one.
                continue
            indexed.add(scan_headers(fd, indexed.end, found.start))
            if indexed.end != found.start:
                # The segment is damaged before it, and nothing behind damage is read.
                return
            indexed.add(found.located)
            indexed.end = found.end
            if found.is_copied:
                indexed.gathered.append((found.start, found.end))
        super().extend(indexed, segment, fd)


class OpenSegment:
    """A segment and its gathered file, opened to be read. Raises FileNotFoundError if the segment is gone."""

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
        """The bytes of the segment, or of its gathered file. Raises GatheredRecordsLost."""
        return os.pread(self.fd_of(is_gathered=is_gathered), end - start, start)

    def fd_of(self, *, is_gathered: bool) -> int:
        """The segment, or its gathered file, to be read. Raises GatheredRecordsLost."""
        return self._open_gathered() if is_gathered else self.fd

    def _open_gathered(self) -> int:
        if self._gathered_fd < 0:
            path = gathered_path(self.segment.path)
            try:
                self._gathered_fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError as error:
                raise GatheredRecordsLost(f"{path} is gone") from error
        return self._gathered_fd


def read_gathered_ranges(segment: SegmentRef, at: int) -> Iterator[GatheredRange]:
    """The undamaged ranges of the segment, from that offset of the gathered file on; none if there is no such file."""
    try:
        fd = os.open(gathered_path(segment.path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        yield from _read(fd, at, gathered_name(segment.name))
    finally:
        os.close(fd)


def _read(fd: int, at: int, name: str) -> Iterator[GatheredRange]:
    # Fresh memory for each portion would cost as much as the reading.
    portion = bytearray(PORTION_BYTES)
    file_bytes = os.fstat(fd).st_size
    while size := os.preadv(fd, [portion], at):
        before = at
        for found in decode_gathered_ranges(memoryview(portion)[:size], at, file_bytes, name):
            yield found
            at = found.file_end
        if at > before:
            continue
        if size < len(portion) or at + size >= file_bytes:
            return
        portion = bytearray(2 * len(portion))
