"""Where the metadata of a record batch has its numbers, and which of its buffers are each column's. Pure, over bytes.

Sources: the Arrow columnar format ("Encapsulated message format", "Variadic buffers"), Message.fbs, and FlatBuffers: a
table begins with the distance back to its list of slots, which says where each field is. What is not laid out as
Polars writes it is refused.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import polars as pl

WORD_BYTES: Final = 8
# A message's mark and the length of its metadata.
_PREFIX_BYTES: Final = 8
_UNSIGNED: Final = struct.Struct("<I")
_SIGNED: Final = struct.Struct("<i")
_SLOT: Final = struct.Struct("<H")
# Message.fbs: fields by their order in their tables, and a type by its number.
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_ROWS, _NODES, _BUFFERS, _COMPRESSION, _VARIADIC = range(5)
_RECORD_BATCH: Final = 3
# Every array has a bitmap of validity and one more buffer; arrays of views have buffers of texts besides.
_ARRAY_BUFFERS: Final = 2
_FLAT: Final = frozenset({pl.Boolean(), pl.Int64(), pl.Float64(), pl.Date()})


class UnknownLayout(Exception):
    """A message that is not laid out as Polars writes those of uncompressed columns of our types."""


class Words(NamedTuple):
    """Which words (of 8 bytes) of a message hold numbers: single ones, pairs of length and count of nulls, pairs of
    offset in the body and length, and counts of buffers of texts, one for each array of views."""

    body_bytes: slice
    rows: slice
    nodes: slice
    buffers: slice
    variadic: slice


class ColumnArrays(NamedTuple):
    """How many buffers a column has, without those of texts, and how many arrays of views."""

    buffers: int
    views: int


def column_arrays(dtypes: Iterable[pl.DataType]) -> list[ColumnArrays]:
    """The arrays of columns of those types. Raises UnknownLayout."""
    columns = [list(_has_views(dtype)) for dtype in dtypes]
    return [ColumnArrays(_ARRAY_BUFFERS * len(arrays), sum(arrays)) for arrays in columns]


def _has_views(dtype: pl.DataType) -> Iterator[bool]:
    """For each array of a column, whether it has views."""
    if isinstance(dtype, pl.List):
        yield False
        yield from _has_views(dtype.inner)  # type: ignore[arg-type]
    elif dtype in _FLAT or isinstance(dtype, pl.Datetime):
        yield False
    elif dtype == pl.String():
        yield True
    else:
        raise UnknownLayout(f"a column of {dtype}")


def find_words(message: bytes) -> Words:
    """Where the numbers of the message are. Raises UnknownLayout."""
    metadata = message[_PREFIX_BYTES:]
    outer = _fields(metadata, _target(metadata, 0), 4)
    if metadata[outer[_HEADER_TYPE]] != _RECORD_BATCH:
        raise UnknownLayout("no record batch")
    batch = _fields(metadata, _target(metadata, outer[_HEADER]), 5)
    if batch[_COMPRESSION] or not (outer[_BODY_LENGTH] and batch[_ROWS]):
        raise UnknownLayout("a record batch that is compressed or empty")
    nodes, buffers = _vector(metadata, batch[_NODES], 2), _vector(metadata, batch[_BUFFERS], 2)
    return Words(
        _words(outer[_BODY_LENGTH], 1), _words(batch[_ROWS], 1), nodes, buffers, _vector(metadata, batch[_VARIADIC], 1)
    )


def numbers_at(message: bytes, words: slice) -> tuple[int, ...]:
    """The numbers in those words."""
    return struct.unpack_from(f"<{words.stop - words.start}q", message, words.start * WORD_BYTES)


def _fields(metadata: bytes, table: int, count: int) -> list[int]:
    """Where the first `count` fields of the table are; 0 for one that is not there."""
    slots = table - _SIGNED.unpack_from(metadata, table)[0]
    known = _SLOT.unpack_from(metadata, slots)[0] // _SLOT.size - 2
    found = [_SLOT.unpack_from(metadata, slots + _SLOT.size * (2 + field))[0] for field in range(min(known, count))]
    return [table + offset if offset else 0 for offset in found] + [0] * (count - len(found))


def _target(metadata: bytes, at: int) -> int:
    return at + int(_UNSIGNED.unpack_from(metadata, at)[0])


def _vector(metadata: bytes, field: int, item_words: int) -> slice:
    if not field:
        return slice(0, 0)
    at = _target(metadata, field)
    return _words(at + _UNSIGNED.size, item_words * _UNSIGNED.unpack_from(metadata, at)[0])


def _words(at: int, count: int) -> slice:
    if at % WORD_BYTES:
        raise UnknownLayout(f"a number at {at}")
    first = (_PREFIX_BYTES + at) // WORD_BYTES
    return slice(first, first + count)
