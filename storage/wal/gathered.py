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
from typing import Final

from storage.names import GATHERED_SUFFIX, SEGMENT_SUFFIX
from storage.wal.column_checksums import CheckedColumns
from storage.wal.locations import RecordLocation
from storage.wal.records import Buffer, Record, decode_first, encode

# A range is a record whose payload is its table, and then its gathered records. The table: the range of the segment,
# how many records are gathered, how many are referred to, and how many schemas those have; then these parts.
_RANGE: Final = struct.Struct("<QQIII")
# A record: dataset id, start, end, first and last time, rows, bodies; where its columns begin, its schema, the bytes
# of its message and of its checksums, all 0 if its columns have none. A gathered record's start and end: how far
# behind the table's end it is in the file.
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
class GatheredRecord:
    """A record with the rows of small ones, and its columns if those were checked."""

    record: Record
    columns: CheckedColumns | None


@dataclass(frozen=True, slots=True)
class GatheredRange:
    """The records of `[start, end)` of a segment, each with its dataset's id. `file_end`: where it ends in its file.

    `columns`: of those records whose columns were checked. `is_copied`: whether some have the rows of others.
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
    gathered: Sequence[GatheredRecord], kept: Sequence[KeptRecord], start: int, end: int, segment: str
) -> list[Buffer]:
    """The buffers of a gathered range. `kept`: the records in the range whose rows are read from the segment."""
    entries = [*kept, *_placed(gathered)]
    columns = [each.columns for each in entries if each.columns]
    numbers = {schema: number for number, schema in enumerate(dict.fromkeys(each.schema for each in columns))}
    parts: list[Buffer] = [_RANGE.pack(start, end, len(gathered), len(kept), len(numbers))]
    parts += [_encode_entry(each, numbers) for each in entries]
    for schema in numbers:
        parts += (_SCHEMA.pack(len(schema)), schema)
    for each in columns:
        parts += (each.message, each.checksums)
    table = Record(_NO_DATASET, 0, 0, 0, 0, b"".join(parts))
    records = [table, *(each.record for each in gathered)]
    return [buffer for record in records for buffer in encode(record, gathered_name(segment))]


def _placed(gathered: Sequence[GatheredRecord]) -> Iterator[KeptRecord]:
    """The records with where they are behind the table's end."""
    at = 0
    for each in gathered:
        record, end = each.record, at + each.record.size
        times = record.tmin, record.tmax
        location = RecordLocation(at, end, *times, record.rows, record.body_bytes)
        yield KeptRecord(record.dataset_id, location, each.columns)
        at = end


def _encode_entry(record: KeptRecord, schemas: Mapping[bytes, int]) -> bytes:
    columns = record.columns
    of_columns = (0, 0, 0, 0)
    if columns:
        of_columns = columns.body, schemas[columns.schema], len(columns.message), len(columns.checksums)
    return _RECORD.pack(record.dataset_id, *record.location[:6], *of_columns)


def decode_gathered_ranges(data: Buffer, at: int, file_bytes: int, name: str) -> Iterator[GatheredRange]:
    """The gathered ranges of which the whole table is in the data, which begins at the offset `at` of its file.

    Whoever reads a gathered record verifies it.
    """
    view, begin = memoryview(data), at
    while at - begin < len(view) and (table := decode_first(view[at - begin :], name)) is not None:
        # The columns outlive the data.
        found = _decode_table(bytes(table.payload), at + table.size)
        at = found.file_end
        if at > file_bytes:
            return
        yield found


def _decode_table(table: bytes, table_end: int) -> GatheredRange:
    start, end, gathered, kept, schemas = _RANGE.unpack_from(table)
    at = _RANGE.size + (kept + gathered) * _RECORD.size
    entries = _RECORD.iter_unpack(memoryview(table)[_RANGE.size : at])
    names: list[bytes] = []
    for _ in range(schemas):
        first = at + _SCHEMA.size
        at = first + _SCHEMA.unpack_from(table, at)[0]
        names.append(table[first:at])
    located: list[Located] = []
    columns: dict[RecordLocation, CheckedColumns] = {}
    file_end = table_end
    for number, (dataset_id, *place, body, schema, message, checksums) in enumerate(entries):
        location = RecordLocation(*place)
        if number >= kept:
            file_end = table_end + location.end
            location = location._replace(start=start, end=end, gathered=(table_end + location.start, file_end))
        located.append((dataset_id, location))
        if message:
            middle, last = at + message, at + message + checksums
            columns[location] = CheckedColumns(names[schema], body, table[at:middle], table[middle:last])
            at = last
    return GatheredRange(start, end, located, columns, gathered > 0, file_end)
