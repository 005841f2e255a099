"""Gathered records: the rows of a segment's small records once more, in few, in a file beside the segment.

Walking, checking and decoding a record costs as much for one row as for hundreds, so a query that meets thousands of
small ones reads these instead (docs/decisions/storage.md). A gathering stands for all records of a range of the
segment. The file is nothing but a copy: it is not synced, it counts only as far as its checksums hold, and whoever
does without it finds the same rows in the segment.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from storage.names import GATHERED_SUFFIX, SEGMENT_SUFFIX
from storage.wal.index import IndexedSegment, SegmentIndex
from storage.wal.locations import RecordLocation, scan_headers
from storage.wal.records import Buffer, Record, decode, encode
from storage.wal.segments import SegmentRef

# The notes of each record of a gathering: the range of the segment, the records of the gathering, and those of the
# segment that it does not hold. These follow in the first: dataset id, start, end, first and last time, rows, bodies.
_RANGE: Final = struct.Struct("<QQII")
_LOCATION: Final = struct.Struct("<7q")
# What is read at once. Gatherings that take more are read in larger portions.
PORTION_BYTES: Final = 256 * 1024

Located = tuple[int, RecordLocation]


@dataclass(frozen=True, slots=True)
class Gathering:
    """The records of `[start, end)` of a segment, each with its dataset's id. `file_end`: where it ends in its file."""

    start: int
    end: int
    located: Sequence[Located]
    file_end: int


def gathered_path(segment_path: str) -> str:
    """The path of the gathered file of a segment."""
    return segment_path.removesuffix(SEGMENT_SUFFIX) + GATHERED_SUFFIX


def gathered_name(segment: str) -> str:
    """What seeds the checksums of gathered records, so that no record of the segment passes for one."""
    return segment + GATHERED_SUFFIX


def encode_gathering(
    records: Sequence[Record], kept: Sequence[Located], start: int, end: int, segment: str
) -> list[Buffer]:
    """The buffers of a gathering. `kept`: the records in the range whose rows are read from the segment."""
    parts = (_LOCATION.pack(dataset_id, *location[:6]) for dataset_id, location in kept)
    notes = _RANGE.pack(start, end, len(records), len(kept)), b"".join(parts)
    noted = [replace(each, notes=b"".join(notes[: 1 if number else 2])) for number, each in enumerate(records)]
    return [buffer for each in noted for buffer in encode(each, gathered_name(segment))]


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
    portion = PORTION_BYTES
    while data := os.pread(fd, portion, at):
        before = at
        for gathering in _decode(data, at, name):
            yield gathering
            at = gathering.file_end
        if at > before:
            continue
        if len(data) < portion:
            return
        portion *= 2


def _decode(data: bytes, at: int, name: str) -> Iterator[Gathering]:
    """The whole gatherings at the beginning of the data, which begins at the offset `at` of its file."""
    records = decode(data, name)
    for first in records:
        start, end, count, kept = _RANGE.unpack_from(first.notes)
        rest = list(islice(records, count - 1))
        if len(rest) < count - 1:
            return
        found = list(_kept(first.notes, kept))
        for each in (first, *rest):
            place = at, at + each.size
            found.append(
                (each.dataset_id, RecordLocation(start, end, each.tmin, each.tmax, each.rows, each.body_bytes, place))
            )
            at += each.size
        yield Gathering(start, end, found, at)


def _kept(notes: Buffer, count: int) -> Iterator[Located]:
    for dataset_id, *members in islice(_LOCATION.iter_unpack(memoryview(notes)[_RANGE.size :]), count):
        yield dataset_id, RecordLocation(*members)


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
