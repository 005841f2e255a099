"""Columns of records read by themselves, verified, and put together as one stream of record batches."""

import heapq
import os
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

import numpy as np
from isal import isal_zlib

from storage.wal.batch_layout import UnknownLayout
from storage.wal.batch_messages import PORTION_BYTES, BatchMessages
from storage.wal.batches import END, columns_of
from storage.wal.column_checksums import CheckedColumns

_CHECKSUM: Final = np.dtype("<u4")

# Where a record begins in its file, and its columns.
Checked = tuple[int, CheckedColumns]


class ColumnDamaged(Exception):
    """The bytes of a column are not those that its checksum was computed of."""


def read_columns(records: Sequence[Checked], wanted: Sequence[str], fd: int) -> Iterator[bytes]:
    """Streams with the rows of the records, in their order, and the wanted columns only.

    `records`: of one schema, in the file that is open as `fd`. `wanted`: names that the schema has; the streams must be
    read with just these columns. Raises ColumnDamaged.
    """
    schema = records[0][1].schema
    columns = [number for number, name in enumerate(columns_of(schema)) if name in wanted]
    by_length: dict[int, list[int]] = {}
    for number, (_, each) in enumerate(records):
        by_length.setdefault(len(each.message), []).append(number)
    alike = [_read_alike(records, numbers, columns, fd) for numbers in by_length.values()]
    portion: list[bytes] = []
    size = 0
    for _, batch in heapq.merge(*alike, key=itemgetter(0)):
        portion.append(batch)
        size += len(batch)
        if size >= PORTION_BYTES:
            yield b"".join((schema, *portion, END))
            portion, size = [], 0
    yield b"".join((schema, *portion, END))


def _read_alike(
    records: Sequence[Checked], numbers: Sequence[int], columns: Sequence[int], fd: int
) -> Iterator[tuple[int, bytes]]:
    """The batches of those records, whose messages are of one length, each with its first record's number."""
    alike = [records[number] for number in numbers]
    try:
        messages = BatchMessages(records[0][1].schema, [each.message for _, each in alike])
    except UnknownLayout as error:
        raise ColumnDamaged(f"a message of unknown layout: {error}") from error
    bodies = np.array([at + each.body for at, each in alike])[:, None]
    starts, ends = ((bodies + each[:, columns]).T.tolist() for each in (messages.starts, messages.ends))
    checksums = np.frombuffer(b"".join(each.checksums for _, each in alike), _CHECKSUM)
    extents = list(zip(starts, ends, checksums.reshape(len(alike), -1)[:, columns].T.tolist(), strict=True))

    def read(start: int, end: int) -> list[list[bytes]]:
        return [
            [_read_column(fd, *each) for each in zip(*(facts[start:end] for facts in column), strict=True)]
            for column in extents
        ]

    yield from messages.batches(columns, read, numbers)


def _read_column(fd: int, start: int, end: int, checksum: int) -> bytes:
    data = os.pread(fd, end - start, start)
    if len(data) != end - start or isal_zlib.crc32(data) != checksum:
        raise ColumnDamaged(f"the {end - start} bytes of a column at {start} are damaged")
    return data
