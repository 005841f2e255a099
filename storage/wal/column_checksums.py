"""Checksums of the columns of a record, each by itself, so that a column is read and verified without the others.

They stand in the gathered file beside the segment (storage/wal/gathered.py). Pure, over bytes; what reads by them is
storage/wal/column_reading.py.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from isal import isal_zlib

from storage.wal.batch_layout import ColumnArrays, UnknownLayout, Words, column_arrays, find_words, numbers_at
from storage.wal.batches import CONTINUATION, END, PREFIX, Buffer, columns_of, schema_bytes

# Texts of a batch take none, one or more buffers, so messages of one schema have several lengths.
MOST_LAYOUTS: Final = 256


class CheckedColumns(NamedTuple):
    """What is known of a record whose payload is one record batch.

    `body`: where the columns begin, from the record's first byte on. `message`: the batch's metadata. `checksums`: an
    unsigned integer of 32 bits for each column.
    """

    schema: bytes
    body: int
    message: Buffer
    checksums: Buffer


class ColumnChecker:
    """Computes checksums of columns; remembers how payloads are laid out. Not for two threads at once."""

    def __init__(self) -> None:
        self._words: dict[tuple[bytes, int], Words] = {}

    def check(self, payload: Buffer, offset: int) -> CheckedColumns | None:
        """The checksums of a payload that begins so far behind its record's first byte.

        None if it has another form than that of one uncompressed record batch, as Polars writes it, of columns of our
        types.
        """
        schema = schema_bytes(payload, 0, len(payload))
        if schema is None or len(payload) < len(schema) + PREFIX.size:
            return None
        mark, size = PREFIX.unpack_from(payload, len(schema))
        body = len(schema) + PREFIX.size + size
        if mark != CONTINUATION or size <= 0 or body > len(payload):
            return None
        message, columns = bytes(payload[len(schema) : body]), memoryview(payload)[body : -len(END)]
        try:
            bounds = self._bounds(schema, message)
        except UnknownLayout:
            return None
        if bounds[-1] != len(columns):
            return None
        checksums = [isal_zlib.crc32(columns[start:end]) for start, end in pairwise(bounds)]
        return CheckedColumns(schema, offset + body, message, struct.pack(f"<{len(checksums)}I", *checksums))

    def _bounds(self, schema: bytes, message: bytes) -> list[int]:
        """Where in the body the columns begin, and the last one ends. Raises UnknownLayout.

        If messages of one length were ever laid out in two ways, checksums would be of other bytes than the reader
        verifies, and it would read the records whole.
        """
        key = schema, len(message)
        if key not in self._words:
            if len(self._words) == MOST_LAYOUTS:
                self._words.clear()
            self._words[key] = find_words(message)
        words = self._words[key]
        offsets = numbers_at(message, words.buffers)[::2]
        firsts = _first_buffers(schema, numbers_at(message, words.variadic), len(offsets))
        bounds = [*(offsets[first] for first in firsts), *numbers_at(message, words.body_bytes)]
        if bounds[0] or bounds != sorted(bounds):
            raise UnknownLayout("the columns are not one behind the other")
        return bounds


@lru_cache(maxsize=256)
def arrays_of(schema: bytes) -> list[ColumnArrays]:
    """The arrays of the columns of streams that begin with the schema. Raises UnknownLayout."""
    return column_arrays(columns_of(schema).values())


@lru_cache(maxsize=256)
def _first_buffers(schema: bytes, texts: Sequence[int], buffers: int) -> list[int]:
    """The number of each column's first buffer, where arrays of views have so many buffers of texts."""
    arrays, counts = arrays_of(schema), iter(texts)
    if len(texts) != sum(each.views for each in arrays):
        raise UnknownLayout("the arrays of views are not those of the columns")
    sizes = [each.buffers + sum(next(counts) for _ in range(each.views)) for each in arrays]
    if sum(sizes) != buffers:
        raise UnknownLayout("the buffers are not those of the columns")
    return list(accumulate(sizes[:-1], initial=0))
