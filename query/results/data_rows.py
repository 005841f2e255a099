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

from query.results.cells import cells_of
from query.results.row_bytes import Buffer, Integers, rows_of_cells

BLOCK: Final = struct.Struct("<II")
# A worker sends a block when it has all of it: small enough that the client reads while the next ones are made.
BLOCK_BYTES: Final = 128 * 1024


class DataRows:
    """DataRow messages. `binary` says which columns are; nothing: none of them, one value: it is that of all."""

    def __init__(self, types: Sequence[str], binary: Sequence[bool]) -> None:
        self._types = types
        self._binary = list(binary) * len(types) if len(binary) == 1 else list(binary) or [False] * len(types)

    def begin(self) -> bytes:
        return b""

    def rows(self, frame: pl.DataFrame) -> bytes:
        return blocks(*rows_of_cells(b"D", cells_of(frame, self._types, self._binary)))

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


def block(content: bytes) -> bytes:
    """A block of whole messages that are not about rows."""
    return BLOCK.pack(len(content), 0) + content
