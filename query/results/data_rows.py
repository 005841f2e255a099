"""Result rows as the PostgreSQL protocol sends them: DataRow messages, in blocks.

A block is a head, the length and the number of rows in four bytes each, and whole messages: whoever passes them on
never stands in the middle of one when a query is ended. What was measured: docs/decisions/pgwire.md.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from query.results.cells import cells_of, texts_of
from query.results.row_bytes import Buffer, Integers, row_of_texts, rows_of_cells

BLOCK: Final = struct.Struct("<II")
# A worker sends a block when it has all of it: small enough that the client reads while the next ones are made.
BLOCK_BYTES: Final = 128 * 1024
# So few rows are written one by one: whole columns have a price of their own, three times that of these rows.
FEW_ROWS: Final = 64


class DataRows:
    """DataRow messages. `binary` says which columns are; nothing: none of them, one value: it is that of all."""

    def __init__(self, types: Sequence[str], binary: Sequence[bool], zone: str = "") -> None:
        self._types, self._zone = types, zone
        self._binary = list(binary) * len(types) if len(binary) == 1 else list(binary) or [False] * len(types)

    def begin(self) -> bytes:
        return b""

    def rows(self, frame: pl.DataFrame) -> bytes:
        if frame.height <= FEW_ROWS and frame.estimated_size() <= BLOCK_BYTES and not any(self._binary):
            rows = [row_of_texts(b"D", row) for row in texts_of(frame, self._types, self._zone).iter_rows()]
            return block(b"".join(rows), len(rows))
        return blocks(*rows_of_cells(b"D", cells_of(frame, self._types, self._binary, self._zone)))

    def end(self) -> bytes:
        return b""


def blocks(messages: Buffer, starts: Integers) -> bytes:
    """Messages of one row each, which begin at `starts`, in blocks."""
    size = len(messages)
    firsts = np.unique(np.searchsorted(starts, np.arange(0, size, BLOCK_BYTES))).tolist()
    pieces: list[bytes | memoryview] = []
    for first, last in pairwise([*firsts, len(starts)]):
        if first < last:
            content = messages[starts[first] : starts[last] if last < len(starts) else size].data
            pieces += [BLOCK.pack(len(content), last - first), content]
    return b"".join(pieces)


def block(content: bytes, rows: int = 0) -> bytes:
    """A block of whole messages, of so many rows."""
    return BLOCK.pack(len(content), rows) + content
