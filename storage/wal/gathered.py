"""Gathered records: the rows of a segment's small records once more, in few, in a file beside the segment.

Walking, checking and decoding a record costs as much for one row as for hundreds, so a query that meets thousands of
small ones reads these instead (docs/decisions/storage.md). They stand for all records of a range of the
segment. The file is nothing but a copy: it is not synced, it counts only as far as its checksums hold, and whoever
does without it finds the same rows in the segment. Pure, over bytes.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from storage.names import GATHERED_SUFFIX, SEGMENT_SUFFIX
from storage.wal.locations import RecordLocation
from storage.wal.records import Buffer, Record, decode, encode

# The notes of each gathered record: the range of the segment, its gathered records, and those of the
# segment that it does not hold. These follow in the first: dataset id, start, end, first and last time, rows, bodies.
_RANGE: Final = struct.Struct("<QQII")
_LOCATION: Final = struct.Struct("<7q")

Located = tuple[int, RecordLocation]


@dataclass(frozen=True, slots=True)
class GatheredRange:
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


def encode_gathered_range(
    records: Sequence[Record], kept: Sequence[Located], start: int, end: int, segment: str
) -> list[Buffer]:
    """The buffers of a gathered range. `kept`: the records in the range whose rows are read from the segment."""
    parts = (_LOCATION.pack(dataset_id, *location[:6]) for dataset_id, location in kept)
    notes = _RANGE.pack(start, end, len(records), len(kept)), b"".join(parts)
    noted = [replace(each, notes=b"".join(notes[: 1 if number else 2])) for number, each in enumerate(records)]
    return [buffer for each in noted for buffer in encode(each, gathered_name(segment))]


def decode_gathered_ranges(data: Buffer, at: int, name: str) -> Iterator[GatheredRange]:
    """The whole gathered ranges at the beginning of the data, which begins at the offset `at` of its file."""
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
        yield GatheredRange(start, end, found, at)


def _kept(notes: Buffer, count: int) -> Iterator[Located]:
    for dataset_id, *members in islice(_LOCATION.iter_unpack(memoryview(notes)[_RANGE.size :]), count):
        yield dataset_id, RecordLocation(*members)
