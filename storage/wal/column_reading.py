"""Columns of records read by themselves, verified, and put together as one stream of smaller record batches.

Many records at once. The messages of record batches of one schema and one length are the rows of a matrix of numbers.
"""

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from storage.wal.batch_layout import UnknownLayout, Words, find_words
from storage.wal.batches import END, Buffer, columns_of
from storage.wal.column_checksums import CheckedColumns, arrays_of

Numbers = NDArray[np.int64]

_CHECKSUM: Final = np.dtype("<u4")


class ColumnDamaged(Exception):
    """The bytes of a column are not those that its checksum was computed of."""


def read_columns(records: Sequence[tuple[int, CheckedColumns]], wanted: Sequence[str], fd: int) -> bytes:
    """One stream of the records' batches with the bytes of the wanted columns only, which are some of the schema's.

    `records`: of one schema, each with where it begins in the file that is open as `fd`. Raises ColumnDamaged.
    """
    schema = records[0][1].schema
    names = list(columns_of(schema))
    places = [names.index(name) for name in names if name in wanted]
    by_length: dict[int, list[int]] = {}
    for number, (_, each) in enumerate(records):
        by_length.setdefault(len(each.message), []).append(number)
    batches: list[bytes] = [b""] * len(records)
    for numbers in by_length.values():
        for number, batch in zip(numbers, _read_alike([records[each] for each in numbers], places, fd), strict=True):
            batches[number] = batch
    return b"".join((schema, *batches, END))


def _read_alike(records: Sequence[tuple[int, CheckedColumns]], places: Sequence[int], fd: int) -> list[bytes]:
    """The batches of records whose messages are of one length."""
    try:
        messages = _Messages(records[0][1].schema, [each.message for _, each in records])
    except UnknownLayout as error:
        raise ColumnDamaged(f"a message of unknown layout: {error}") from error
    bodies = np.array([at + each.body for at, each in records])[:, None]
    starts, ends = (bodies + each[:, places] for each in (messages.starts, messages.ends))
    checksums = np.frombuffer(b"".join(each.checksums for _, each in records), _CHECKSUM)
    expected = checksums.reshape(len(records), -1)[:, places]
    found = [messages.projected(places)]
    for extents in zip(starts.T.tolist(), ends.T.tolist(), expected.T.tolist(), strict=True):
        found.append([_read_column(fd, *each) for each in zip(*extents, strict=True)])
    return [b"".join(parts) for parts in zip(*found, strict=True)]


def _read_column(fd: int, start: int, end: int, checksum: int) -> bytes:
    data = os.pread(fd, end - start, start)
    if len(data) != end - start or isal_zlib.crc32(data) != checksum:
        raise ColumnDamaged(f"the {end - start} bytes of a column at {start} are damaged")
    return data


class _Messages:
    """Messages of one schema and one length, a row each in all arrays.

    `starts`, `ends`: where the bytes of each column (in the schema's order) are in the body.
    """

    def __init__(self, schema: bytes, messages: Sequence[Buffer]) -> None:
        """Raises UnknownLayout."""
        buffers, views = _buffers_of(schema)
        self._words: Numbers = np.frombuffer(b"".join(messages), "<i8").reshape(len(messages), -1)
        self._where = find_words(bytes(messages[0]))
        _require_alike(self._words, self._where)
        variadic = self._words[:, self._where.variadic]
        if variadic.shape[1] != len(views):
            raise UnknownLayout(f"{variadic.shape[1]} arrays of views, not {len(views)}")
        self._counts = buffers + variadic @ views
        self._firsts = np.cumsum(self._counts, axis=1) - self._counts
        self.starts, self.ends = self._extents()

    def _extents(self) -> tuple[Numbers, Numbers]:
        offsets = self._words[:, self._where.buffers][:, ::2]
        if (self._counts.sum(axis=1) != offsets.shape[1]).any():
            raise UnknownLayout("the buffers are not those of the columns")
        starts = np.take_along_axis(offsets, self._firsts, axis=1)
        bounds = np.column_stack((starts, self._words[:, self._where.body_bytes]))
        if starts[:, 0].any() or (np.diff(bounds, axis=1) < 0).any():
            raise UnknownLayout("the columns are not one behind the other")
        return starts, bounds[:, 1:]

    def projected(self, columns: Sequence[int]) -> list[bytes]:
        """The messages for bodies that have the bytes of these columns only, ascending, one behind the other.

        They still tell of the other columns, whose buffers are not there: a reader has to ask for these columns.
        """
        sizes = (self.ends - self.starts)[:, columns]
        moves = np.cumsum(sizes, axis=1) - sizes - self.starts[:, columns]
        words = self._words.copy()
        offsets = words[:, self._where.buffers][:, ::2]
        numbers = np.arange(offsets.shape[1])
        for place, column in enumerate(columns):
            first, count = self._firsts[:, column, None], self._counts[:, column, None]
            offsets += moves[:, place, None] * ((numbers >= first) & (numbers < first + count))
        words[:, self._where.body_bytes] = sizes.sum(axis=1, keepdims=True)
        return [row.tobytes() for row in words]


@lru_cache(maxsize=256)
def _buffers_of(schema: bytes) -> tuple[Numbers, Numbers]:
    """How many buffers each column has without those of texts, and a row for each array of views, 1 at its column."""
    arrays = arrays_of(schema)
    owners = [number for number, each in enumerate(arrays) for _ in range(each.views)]
    return np.array([each.buffers for each in arrays]), np.eye(len(arrays), dtype=np.int64)[owners]


def _require_alike(words: Numbers, where: Words) -> None:
    """Raise UnknownLayout unless all messages are the same but for their numbers."""
    is_fixed = np.ones(words.shape[1], dtype=bool)
    for each in where:
        is_fixed[each] = False
    if (words[:, is_fixed] != words[0, is_fixed]).any():
        raise UnknownLayout("messages of one length are laid out in two ways")
