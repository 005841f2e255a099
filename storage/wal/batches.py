"""The rows of many Arrow IPC streams of one schema in one frame, of the wanted columns only. Pure, over bytes.

A reader spends 1 to 2 µs on every column of every record batch, which in small frames is many times what their rows
cost (docs/decisions/storage.md). So buffers of one column are put one after the other here, and the reader gets few
batches. What is of no layout that we know is left to the reader.
"""

import io
import struct
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import polars as pl

from storage.wal.arrow import CONTINUATION, END, PREFIX, Buffer, record_batch, schema_bytes
from storage.wal.layouts import Kind, Layouts, kind_of

# What is handed to the reader at once. More is slower, since it leaves the processor's cache.
PORTION_BYTES: Final = 400 * 1024
# A batch of so many rows is not joined with others: what that costs for each text is more than the reader costs for it.
MANY_ROWS: Final = 128
# A view: the text's length, and of one that is longer than this its beginning, its buffer and where it is in that.
VIEW_BYTES: Final = 16
LONGEST_INLINE: Final = 12
WHOLE: Final = 2**128 - 1
_SHIFT: Final = struct.Struct("<8xII")
_NO_SHIFT: Final = (0, 0)
PREFIX_BYTES: Final = PREFIX.size
END_BYTES: Final = len(END)

# A record batch among others in the same bytes: where its body begins, its rows, its numbers, those of its buffers of
# data, and which of these are each column's (`BatchLayout`).
Part = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]


class Streams:
    """Streams that begin with the same schema, in the order in which they are added. Not for two threads at once."""

    def __init__(self, schema: bytes, wanted: Collection[str] | None = None) -> None:
        """`wanted`: names of columns, None: all. If there is none of them, another one has the rows."""
        columns = columns_of(schema)
        names = [name for name in columns if wanted is None or name in wanted] or list(columns)[:1]
        self._schema = schema
        self._names = tuple(names)
        self._is_whole = len(names) == len(columns)
        self._joined = Joined(schema, self._names) if is_worth_joining(columns, names) else None
        self._others: list[memoryview] = []
        self._others_bytes = 0
        self._parts: list[pl.DataFrame] = []

    def add(self, data: Buffer, start: int, end: int) -> None:
        """The stream `data[start:end]`, which stays as it is until the rows are asked for."""
        if self._joined is not None and self._joined.add(data, start, end):
            self._read_others()
            if self._joined.bytes >= PORTION_BYTES:
                self._read_joined()
            return
        self._read_joined()
        if self._others_bytes and self._others_bytes + end - start > PORTION_BYTES:
            self._read_others()
        self._others.append(memoryview(data)[start:end])
        self._others_bytes += end - start

    def rows(self) -> pl.DataFrame:
        """The rows of all that were added, in one piece: the wanted columns, in the schema's order."""
        self._read_joined()
        self._read_others()
        if not self._parts:
            return _empty(self._schema).select(self._names)
        return pl.concat(self._parts, rechunk=True)

    def _read_joined(self) -> None:
        rows = self._joined.read() if self._joined is not None else None
        if rows is not None:
            self._parts.append(rows)

    def _read_others(self) -> None:
        if self._others:
            streams, self._others, self._others_bytes = self._others, [], 0
            batches = [each[len(self._schema) : -END_BYTES] for each in streams]
            stream = streams[0] if len(streams) == 1 else b"".join((self._schema, *batches, END))
            self._parts.append(read_stream(stream, None if self._is_whole else self._names))


def is_worth_joining(columns: Mapping[str, pl.DataType], names: Collection[str]) -> bool:
    """The reader takes the longer the more columns there are, and we the more are wanted, if we can at all."""
    return 2 * len(names) <= len(columns) and all(kind_of(columns[name]) for name in names)


class Joined:
    """What was added of streams of one batch each, all of whose wanted columns are of a kind that we know."""

    def __init__(self, schema: bytes, names: tuple[str, ...]) -> None:
        self.bytes = 0
        self._skipped = len(schema)
        self._schema, self._layouts = _form(schema, names)
        dtypes = columns_of(schema)
        self._kinds = [kind for name in names if (kind := kind_of(dtypes[name]))]
        self._batches: list[Buffer] = []
        self._parts: list[Part] = []
        self._data: Buffer = b""
        self._open()

    def _open(self) -> None:
        self._rows: list[int] = []
        self._columns = [Gathered(kind, place, len(self._kinds)) for place, kind in enumerate(self._kinds)]

    def add(self, data: Buffer, start: int, end: int) -> bool:
        """Take the stream `data[start:end]`, which begins with the schema; False, and nothing taken, if we cannot."""
        at = start + self._skipped
        mark, size = PREFIX.unpack_from(data, at)
        at += PREFIX_BYTES
        layout = self._layouts.of(data, at, size) if mark == CONTINUATION and size > 0 else None
        if layout is None:
            return False
        numbers = layout.numbers.unpack_from(data, at)
        if at + size + numbers[0] + END_BYTES != end:
            return False
        rows = numbers[1]
        if data is not self._data:
            self._gather()
            self._data = data
        if rows >= MANY_ROWS:
            self._close()
        self._parts.append((at + size, rows, numbers, layout.data.unpack_from(data, at), layout.shares))
        if rows >= MANY_ROWS:
            self._close()
        return True

    def _gather(self) -> None:
        """Take from the source what its parts have of each column."""
        if self._parts:
            self.bytes += sum(column.add(self._data, self._parts) for column in self._columns)
            self._rows += [rows for _, rows, *_ in self._parts]
            self._parts = []

    def _close(self) -> None:
        """End the batch that was being joined."""
        self._gather()
        if not self._rows:
            return
        rows = sum(self._rows)
        nodes: list[int] = []
        buffers: list[Sequence[Buffer]] = []
        for column in self._columns:
            nodes += (rows, column.nulls)
            buffers += column.buffers(self._rows)
        variadic = [len(column.data) for column in self._columns if column.kind.has_views]
        self._batches += record_batch(rows, nodes, buffers, variadic)
        self._open()

    def read(self) -> pl.DataFrame | None:
        """The rows of what was added since the last time, if anything was."""
        self._close()
        self.bytes, batches, self._batches = 0, self._batches, []
        return read_stream(b"".join((self._schema, *batches, END))) if batches else None


class Gathered:
    """One column of several batches: pieces of its buffers, as they will be in one batch."""

    __slots__ = ("_filled", "_nulls_at", "_place", "_validity", "_validity_at", "_values", "data", "kind", "nulls")

    def __init__(self, kind: Kind, place: int, columns: int) -> None:
        """`place`: which of the wanted columns it is, and how many these are."""
        self.kind = kind
        self.nulls = 0
        self.data: list[list[Buffer]] = []
        self._place = place
        self._validity_at = 2 + 2 * place
        self._nulls_at = 2 + 2 * columns + place
        self._validity: list[Buffer] = []
        self._values: list[Buffer] = []
        # Bytes in the last buffer of data, if more may be appended to it.
        self._filled = 0

    def add(self, data: Buffer, parts: Sequence[Part]) -> int:
        """What the parts have of the column; how many bytes that is."""
        nulls_at, values_at, bits = self._nulls_at, self._validity_at + 1, self.kind.bits
        nulls = sum([numbers[nulls_at] for _, _, numbers, *_ in parts])
        self._validity += self._bitmaps(data, parts) if nulls else [b""] * len(parts)
        self.nulls += nulls
        starts = [(body + numbers[values_at], (rows * bits + 7) // 8) for body, rows, numbers, *_ in parts]
        values = [data[at : at + size] for at, size in starts]
        if not self.kind.has_views:
            self._values += values
            return sum(map(len, values))
        texts = self._texts(data, parts)
        is_moved = any(shift != _NO_SHIFT for shift, _ in texts)
        shifts = [_SHIFT.pack(*shift) * part[1] for (shift, _), part in zip(texts, parts, strict=True)]
        self._values += [shifted(b"".join(values), b"".join(shifts))] if is_moved else values
        return sum(map(len, values)) + sum(size for _, size in texts)

    def _bitmaps(self, data: Buffer, parts: Sequence[Part]) -> list[Buffer]:
        """Which values there are; nothing where all are."""
        validity_at, nulls_at = self._validity_at, self._nulls_at
        starts = [(body + numbers[validity_at], rows, numbers[nulls_at]) for body, rows, numbers, *_ in parts]
        return [data[at : at + (rows + 7) // 8] if nulls else b"" for at, rows, nulls in starts]

    def _texts(self, data: Buffer, parts: Sequence[Part]) -> list[tuple[tuple[int, int], int]]:
        """Take the parts' buffers of data; for each part the shift of its views, and how many bytes that were."""
        found = []
        for body, _, _, numbers, shares in parts:
            first, last = shares[self._place]
            if first == last:
                found.append((_NO_SHIFT, 0))
                continue
            pieces = [data[body + numbers[n] : body + numbers[n] + numbers[n + 1]] for n in range(first, last, 2)]
            found.append((self._append(pieces), sum(map(len, pieces))))
        return found

    def _append(self, pieces: Sequence[Buffer]) -> tuple[int, int]:
        """Put a batch's buffers of data behind those that are there: after how many buffers, how far in the last."""
        if len(pieces) == 1 and self._filled:
            shift = len(self.data) - 1, self._filled
            self.data[-1].append(pieces[0])
        else:
            shift = len(self.data), 0
            self.data += [[piece] for piece in pieces]
        self._filled = shift[1] + len(pieces[0]) if len(pieces) == 1 else 0
        return shift

    def buffers(self, rows: Sequence[int]) -> list[Sequence[Buffer]]:
        """Validity, values and data, of batches with so many rows each."""
        validity = [joined_bits(self._validity, rows)] if self.nulls else []
        values = [joined_bits(self._values, rows)] if self.kind.bits == 1 else self._values
        return [validity, values, *self.data]


def shifted(views: bytes, shifts: bytes) -> bytes:
    """The views after other buffers: to each whose text is in a buffer its shift is added, a view without a text.

    All are computed with at once, as one number of 128 bits for each.
    """
    ones, low, bound = _lanes(len(views) // VIEW_BYTES)
    number = int.from_bytes(views, "little")
    # In each lane 1 if the length is more than what fits: the sum then reaches the 32nd bit. What stands in the place
    # of a null must not overflow into the next lane: no buffer is so long that an offset has its highest bit.
    is_long = (((number & low) + bound) >> 31) & ones & ~(number >> (8 * VIEW_BYTES - 1))
    return (number + (int.from_bytes(shifts, "little") & is_long * WHOLE)).to_bytes(len(views), "little")


@lru_cache(maxsize=16)
def _lanes(count: int) -> tuple[int, int, int]:
    """In each of so many lanes of 128 bits: 1, the bits of a length, and what the least too long one lacks to 2^31."""
    ones = int.from_bytes((b"\1" + bytes(VIEW_BYTES - 1)) * count, "little")
    return ones, ones * 0xFFFFFFFF, ones * (2**31 - 1 - LONGEST_INLINE)


def joined_bits(pieces: Sequence[Buffer], counts: Sequence[int]) -> bytes:
    """Bitmaps of so many bits, least first, as one; an empty one stands for ones."""
    texts = [
        format(int.from_bytes(piece, "little") & ((1 << count) - 1), f"0{count}b") if piece else "1" * count
        for piece, count in zip(reversed(pieces), reversed(counts), strict=True)
    ]
    return int("".join(texts), 2).to_bytes((sum(counts) + 7) // 8, "little")


@lru_cache(maxsize=256)
def columns_of(schema: bytes) -> Mapping[str, pl.DataType]:
    """The names and types of the columns of streams that begin with the schema."""
    return MappingProxyType(dict(_empty(schema).schema))


def _empty(schema: bytes) -> pl.DataFrame:
    return read_stream(schema + END)


@lru_cache(maxsize=32)
def _form(schema: bytes, names: tuple[str, ...]) -> tuple[bytes, Layouts]:
    """The schema of those columns only, and what is known of the streams."""
    columns = columns_of(schema)
    stream = io.BytesIO()
    pl.DataFrame(schema={name: columns[name] for name in names}).write_ipc_stream(stream, compression="uncompressed")
    own = schema_bytes(stream.getvalue(), 0, stream.tell()) or b""
    order = list(columns)
    return own, Layouts(list(columns.values()), [order.index(name) for name in names])


def read_stream(stream: Buffer, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of one stream as Polars reads it."""
    return pl.read_ipc_stream(io.BytesIO(stream), columns=None if columns is None else list(columns))
