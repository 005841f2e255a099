"""Rows as messages of the PostgreSQL protocol, a frame at a time: lengths and values into the bytes that Polars wrote.

Polars' CSV writer joins the texts of all columns faster than anything else at hand; between them it leaves room for
lengths, which NumPy fills in, as it does values that are no text. What was measured: docs/decisions/pgwire.md.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from errors import InternalError

Integers = NDArray[np.int64]
Buffer = NDArray[np.uint8]

LENGTH_BYTES: Final = 4
COUNT_BYTES: Final = 2
KIND_BYTES: Final = 1
# The writer wants a separator; it is one byte of the room for a length.
SEPARATOR: Final = "\0"
HEAD_BYTES: Final = KIND_BYTES + LENGTH_BYTES
NULL_LENGTH: Final = -1
_NULL_CELL: Final = NULL_LENGTH.to_bytes(LENGTH_BYTES, signed=True)
# Values that are longer on average are copied one by one: all at once, each byte takes 24 more for its place.
LONG_BYTES: Final = 64
_ROOMS: Final = pl.Series("rooms", ["\0" * size for size in range(64)])


class Cells(Protocol):
    """The values of a column. `texts`: what is written, null for null; zeros where `place` puts something else."""

    @property
    def texts(self) -> pl.Series: ...
    def place(self, out: Buffer, at: Integers) -> None: ...


@dataclass(frozen=True, slots=True)
class Texts:
    """Values that are text."""

    texts: pl.Series

    def place(self, out: Buffer, at: Integers) -> None:
        """They are there."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Values of one size, big-endian: whatever stands at the place of a null is left out."""

    texts: pl.Series
    values: NDArray[Any]

    @classmethod
    def of(cls, values: NDArray[Any], column: pl.Series) -> "Fixed":
        return cls(room(np.full(len(values), values.dtype.itemsize), column), values)

    def place(self, out: Buffer, at: Integers) -> None:
        is_null = null_mask(self.texts)
        rows = slice(None) if is_null is None else ~is_null
        put(out, at[rows], self.values[rows])


@dataclass(frozen=True, slots=True)
class Bytes:
    """Values of any bytes, one after another in `content`."""

    texts: pl.Series
    content: Buffer

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> "Bytes":
        given = [b"" if value is None else value for value in values]
        nulls = pl.Series([None if value is None else 0 for value in values], dtype=pl.Int8)
        sizes = np.fromiter(map(len, given), np.int64, len(given))
        return cls(room(sizes, nulls), np.frombuffer(b"".join(given), np.uint8))

    def place(self, out: Buffer, at: Integers) -> None:
        sizes = byte_sizes(self.texts)
        before = np.cumsum(sizes) - sizes
        if self.content.size > LONG_BYTES * len(sizes):
            for start, first, size in zip(at.tolist(), before.tolist(), sizes.tolist(), strict=True):
                out[start : start + size] = self.content[first : first + size]
            return
        out[np.repeat(at - before, sizes) + np.arange(self.content.size)] = self.content


def room(sizes: NDArray[Any], values: pl.Series) -> pl.Series:
    """As many zero bytes for each value; null for null."""
    made = _zeros(sizes)
    if not values.null_count():
        return made
    return pl.select(pl.when(values.is_not_null()).then(made)).to_series()


def _zeros(sizes: NDArray[Any]) -> pl.Series:
    longest = int(sizes.max(initial=0))
    if longest == int(sizes.min(initial=longest)):
        return pl.Series(["\0" * longest]).new_from_index(0, len(sizes))
    if longest < len(_ROOMS):
        return _ROOMS.gather(pl.Series(sizes, dtype=pl.UInt32))
    return pl.Series(["\0" * int(size) for size in sizes], dtype=pl.String)


def null_mask(values: pl.Series) -> NDArray[np.bool_] | None:
    """Which values are null; None if none is. Polars takes its way of expressions to tell which, not how many."""
    return values.is_null().to_numpy() if values.null_count() else None


def byte_sizes(texts: pl.Series) -> Integers:
    """The bytes of each text; 0 for null."""
    return _sizes_of([texts])[0]


def _sizes_of(columns: Sequence[pl.Series]) -> list[Integers]:
    """The same of several columns: Polars is asked once, which has a price of its own."""
    sizes = _side_by_side(columns).select(pl.all().str.len_bytes().fill_null(0).cast(pl.Int64))
    return [each.to_numpy() for each in sizes.get_columns()]


def _side_by_side(columns: Sequence[pl.Series]) -> pl.DataFrame:
    return pl.DataFrame([column.alias(str(at)) for at, column in enumerate(columns)])


def put(out: Buffer, at: Integers, values: NDArray[Any]) -> None:
    """Copy each value's bytes to its place. Places need no alignment: every byte begins a window."""
    if at.size:
        size = values.dtype.itemsize
        window: NDArray[Any] = np.ndarray((out.size - size + 1,), values.dtype, buffer=out.data, strides=(1,))
        window[at] = values


def rows_of_cells(kind: bytes, cells: Sequence[Cells]) -> tuple[Buffer, Integers]:
    """A message for each row, of the number of its columns and each value behind its length (null: -1), as DataRow and
    binary COPY have it; and where each message begins."""
    head = kind.decode() + "\0" * (LENGTH_BYTES + COUNT_BYTES + LENGTH_BYTES - len(SEPARATOR))
    texts = [each.texts for each in cells]
    out = _written(head, "\0" * (LENGTH_BYTES - 2 * len(SEPARATOR)), texts)
    sizes = _sizes_of(texts)
    fixed = HEAD_BYTES + COUNT_BYTES + LENGTH_BYTES * len(cells)
    starts = _framed(out, np.add.reduce(sizes) + np.full(len(sizes[0]), fixed))
    put(out, starts + HEAD_BYTES, np.full(len(starts), len(cells), ">u2"))
    at = starts + HEAD_BYTES + COUNT_BYTES
    for each, size in zip(cells, sizes, strict=True):
        is_null = null_mask(each.texts)
        shown = size if is_null is None else np.where(is_null, NULL_LENGTH, size)
        put(out, at, shown.astype(">i4"))
        each.place(out, at + LENGTH_BYTES)
        at = at + LENGTH_BYTES + size
    return out, starts


def row_of_texts(kind: bytes, values: Sequence[str | None]) -> bytes:
    """The message of one row whose values are all text."""
    cells = [_NULL_CELL if value is None else _cell(value.encode()) for value in values]
    content = len(cells).to_bytes(COUNT_BYTES) + b"".join(cells)
    return kind + (LENGTH_BYTES + len(content)).to_bytes(LENGTH_BYTES) + content


def _cell(content: bytes) -> bytes:
    return len(content).to_bytes(LENGTH_BYTES) + content


def rows_of_lines(kind: bytes, lines: pl.Series) -> tuple[Buffer, Integers]:
    """A message for each line, and where each begins."""
    out = _written(kind.decode() + "\0" * (LENGTH_BYTES - len(SEPARATOR)), "", [lines])
    return out, _framed(out, byte_sizes(lines) + HEAD_BYTES)


def _framed(out: Buffer, sizes: Integers) -> Integers:
    """Where each message of these sizes begins, with its length put in, which does not count the kind."""
    ends = np.cumsum(sizes)
    if out.size != (ends[-1] if ends.size else 0):
        raise InternalError("rows were written with other lengths than their values have")
    starts = ends - sizes
    put(out, starts + KIND_BYTES, (sizes - KIND_BYTES).astype(">u4"))
    return starts


def _written(head: str, gap: str, columns: Sequence[pl.Series]) -> Buffer:
    """`head` and the columns' texts of each row, one after another; between columns `gap` within two separators."""
    parts = [pl.lit(head)]
    for at in range(len(columns)):
        parts += [pl.col(str(at))] if at == 0 else [pl.lit(gap), pl.col(str(at))]
    frame = _side_by_side(columns).select(part.alias(f"part {at}") for at, part in enumerate(parts))
    written = io.BytesIO()
    frame.write_csv(
        written, include_header=False, separator=SEPARATOR, line_terminator="", quote_style="never", null_value=""
    )
    return np.frombuffer(written.getbuffer(), np.uint8)
