"""The gathered file of a segment: what queries read instead of some of it, in ranges of the segment.

A gathered range has the rows of the segment's small records once more, in few, since walking, checking and decoding a
record costs as much for one row as for hundreds; and the checksums of each column of large records, so that a query
reads only the columns that it needs (docs/decisions/storage.md). It is written after all of its range was
synced. The file is nothing but a copy: it is not synced, it counts only as far as its checksums hold, and whoever
does without it finds the same rows in the segment. Pure, over bytes.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from storage.names import GATHERED_SUFFIX, SEGMENT_SUFFIX
from storage.wal.column_checksums import CheckedColumns
from storage.wal.locations import RecordLocation
from storage.wal.records import Buffer, Record, decode, encode

# A range is a record whose payload is its table, and then its gathered records. The table: the range of the segment,
# how many records are gathered, how many are referred to, and how many schemas those have; then these parts.
_RANGE: Final = struct.Struct("<QQIII")
# A record: dataset id, start, end, first and last time, rows, bodies; where its columns begin, its schema, the bytes
# of its message and of its checksums, all 0 if its columns have none.
_RECORD: Final = struct.Struct("<7q4I")
_SCHEMA: Final = struct.Struct("<I")
# The dataset of the table, which is none.
_NO_DATASET: Final = 0

Located = tuple[int, RecordLocation]


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record, with its dataset's id, whose rows are read from the segment, by columns if those were checked."""

    dataset_id: int
    location: RecordLocation
    columns: CheckedColumns | None


@dataclass(frozen=True, slots=True)
class GatheredRange:
    """The records of `[start, end)` of a segment, each with its dataset's id. `file_end`: where it ends in its file.

    `columns`: of records of the segment. `is_copied`: whether some of the records have the rows of others.
    """

    start: int
    end: int
    located: Sequence[Located]
    columns: Mapping[RecordLocation, CheckedColumns]
    is_copied: bool
    file_end: int


def gathered_path(segment_path: str) -> str:
    """The path of the gathered file of a segment."""
    return segment_path.removesuffix(SEGMENT_SUFFIX) + GATHERED_SUFFIX


def gathered_name(segment: str) -> str:
    """What seeds the checksums of gathered records, so that none of the segment, or of another form, passes for one."""
    return f"{segment}{GATHERED_SUFFIX}2"


def encode_gathered_range(
    records: Sequence[Record], kept: Sequence[KeptRecord], start: int, end: int, segment: str
) -> list[Buffer]:
    """The buffers of a gathered range. `kept`: the records in the range whose rows are read from the segment."""
    schemas = {each.columns.schema: 0 for each in kept if each.columns}
    numbers = {schema: number for number, schema in enumerate(schemas)}
    parts: list[Buffer] = [_RANGE.pack(start, end, len(records), len(kept), len(schemas))]
    parts += [_encode_kept(each, numbers) for each in kept]
    for schema in schemas:
        parts += (_SCHEMA.pack(len(schema)), schema)
    for each in kept:
        parts += (each.columns.message, each.columns.checksums) if each.columns else ()
    table = Record(_NO_DATASET, 0, 0, 0, 0, b"".join(parts))
    return [buffer for each in (table, *records) for buffer in encode(each, gathered_name(segment))]


def _encode_kept(record: KeptRecord, schemas: Mapping[bytes, int]) -> bytes:
    columns = record.columns
    of_columns = (0, 0, 0, 0)
    if columns:
        of_columns = columns.body, schemas[columns.schema], len(columns.message), len(columns.checksums)
    return _RECORD.pack(record.dataset_id, *record.location[:6], *of_columns)


def decode_gathered_ranges(data: Buffer, at: int, name: str) -> Iterator[GatheredRange]:
    """The whole gathered ranges at the beginning of the data, which begins at the offset `at` of its file."""
    records = decode(data, name)
    for table in records:
        # Its columns outlive the data.
        payload = bytes(table.payload)
        start, end, count, _, _ = _RANGE.unpack_from(payload)
        copied = list(islice(records, count))
        if len(copied) < count:
            return
        located, columns = _decode_kept(payload)
        at += table.size
        for each in copied:
            place = at, at + each.size
            located.append(
                (each.dataset_id, RecordLocation(start, end, each.tmin, each.tmax, each.rows, each.body_bytes, place))
            )
            at += each.size
        yield GatheredRange(start, end, located, columns, bool(copied), at)


def _decode_kept(table: bytes) -> tuple[list[Located], dict[RecordLocation, CheckedColumns]]:
    kept, schemas = _RANGE.unpack_from(table)[3:]
    at = _RANGE.size + kept * _RECORD.size
    entries = _RECORD.iter_unpack(memoryview(table)[_RANGE.size : at])
    found: list[bytes] = []
    for _ in range(schemas):
        first = at + _SCHEMA.size
        at = first + _SCHEMA.unpack_from(table, at)[0]
        found.append(table[first:at])
    located: list[Located] = []
    columns: dict[RecordLocation, CheckedColumns] = {}
    for dataset_id, start, end, tmin, tmax, rows, body_bytes, body, schema, message, checksums in entries:
        location = RecordLocation(start, end, tmin, tmax, rows, body_bytes)
        located.append((dataset_id, location))
        if message:
            middle, last = at + message, at + message + checksums
            columns[location] = CheckedColumns(found[schema], body, table[at:middle], table[middle:last])
            at = last
    return located, columns
