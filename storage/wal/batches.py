"""The rows of many Arrow IPC streams of one schema in one DataFrame, of the wanted columns only. Pure, over bytes.

Source: the Arrow columnar format ("Encapsulated message format", "IPC streaming format"). Streams that begin with the
same schema message are read as one stream, because opening a stream costs more than reading a small stream's rows.
"""

import io
import struct
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import polars as pl

from storage.exactly import exactly

Buffer = bytes | bytearray | memoryview

CONTINUATION: Final = b"\xff\xff\xff\xff"
END: Final = CONTINUATION + bytes(4)
# A message begins with the mark and the length of its metadata, padding included.
PREFIX: Final = struct.Struct("<4si")
# The reader gets this much at once. More is slower, since it leaves the processor's cache.
PORTION_BYTES: Final = 400 * 1024


class Streams:
    """Streams that begin with the same schema, in the order in which they are added. Not for two threads at once."""

    def __init__(self, schema: bytes, wanted: Collection[str] | None = None) -> None:
        """`wanted`: the names of columns to read, None: all. If the streams have none of them, one other is read."""
        columns = columns_of(schema)
        self._schema = schema
        self._names = names_in(schema, wanted)
        self._is_whole = len(self._names) == len(columns)
        self._streams: list[memoryview] = []
        self._bytes = 0
        self._parts: list[pl.DataFrame] = []

    def add(self, data: Buffer, start: int, end: int) -> None:
        """Add the stream `data[start:end]`. The caller must not change it before `rows` is called."""
        if self._bytes and self._bytes + end - start > PORTION_BYTES:
            self._read()
        self._streams.append(memoryview(data)[start:end])
        self._bytes += end - start

    def rows(self) -> pl.DataFrame:
        """The rows of all added streams, in one piece: the wanted columns, in the schema's order."""
        self._read()
        if not self._parts:
            return _empty(self._schema).select(map(exactly, self._names))
        return pl.concat(self._parts, rechunk=True)

    def _read(self) -> None:
        if self._streams:
            streams, self._streams, self._bytes = self._streams, [], 0
            batches = [stream[len(self._schema) : -len(END)] for stream in streams]
            whole = streams[0] if len(streams) == 1 else b"".join((self._schema, *batches, END))
            self._parts.append(read_stream(whole, None if self._is_whole else self._names))


def schema_bytes(data: Buffer, start: int, end: int) -> bytes | None:
    """The first message of the stream `data[start:end]`, its schema; None if the stream is not of the form we write.

    A schema message has no body. The streams that we write end with a mark, which the format leaves optional.
    """
    if end - start <= PREFIX.size + len(END):
        return None
    mark, length = PREFIX.unpack_from(data, start)
    first = start + PREFIX.size + length
    if mark != CONTINUATION or first > end - len(END) or data[end - len(END) : end] != END:
        return None
    return bytes(data[start:first])


def names_in(schema: bytes, wanted: Collection[str] | None) -> list[str]:
    """The columns to read of streams that begin with the schema: the wanted ones (None: all), one other if none is."""
    columns = columns_of(schema)
    return [name for name in columns if wanted is None or name in wanted] or list(columns)[:1]


@lru_cache(maxsize=256)
def columns_of(schema: bytes) -> Mapping[str, pl.DataType]:
    """The names and types of the columns of streams that begin with the schema."""
    return MappingProxyType(dict(_empty(schema).schema))


def _empty(schema: bytes) -> pl.DataFrame:
    return read_stream(schema + END)


def read_stream(stream: Buffer, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of one stream as Polars reads it."""
    return pl.read_ipc_stream(io.BytesIO(stream), columns=None if columns is None else list(columns))
