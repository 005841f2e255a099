"""Result rows as the PostgreSQL protocol sends them: DataRow messages, in blocks.

A block is a head, the length and the number of rows in four bytes each, and whole messages: whoever passes them on
never stands in the middle of one when a query is ended. What was measured: docs/decisions/pgwire.md.
"""

import struct
from collections.abc import Sequence
from typing import Final

import polars as pl

from query.results.cells import binary_bytes, text_bytes, unsigned, with_length
from storage.exactly import exactly

BLOCK: Final = struct.Struct("<II")
COUNT: Final = struct.Struct("!h")
# The length of a message counts itself.
LENGTH_BYTES: Final = 4


class DataRows:
    """DataRow messages. `binary` says which columns are; nothing: none of them, one value: it is that of all."""

    def __init__(self, types: Sequence[str], binary: Sequence[bool]) -> None:
        self._types = types
        self._binary = list(binary) * len(types) if len(binary) == 1 else list(binary) or [False] * len(types)

    def begin(self) -> bytes:
        return b""

    def rows(self, frame: pl.DataFrame) -> bytes:
        return block(messages(b"D", joined_cells(frame, self._types, self._binary)), frame.height)

    def end(self) -> bytes:
        return b""


def joined_cells(frame: pl.DataFrame, types: Sequence[str], binary: Sequence[bool]) -> pl.Series:
    """Each row as the number of its columns and their cells, as DataRow and binary COPY have it."""
    columns = zip(frame.schema.items(), types, binary, strict=True)
    # Step by step: within one select the bytes of a value would be made once for each use of them.
    values = frame.select(
        (binary_bytes if is_binary else text_bytes)(exactly(name), dtype, type_name).alias(str(position))
        for position, ((name, dtype), type_name, is_binary) in enumerate(columns)
    )
    cells = values.select(with_length(pl.col(name)).alias(name) for name in values.columns)
    rows = pl.lit(COUNT.pack(frame.width)) + pl.col("0")
    for position in range(1, frame.width):
        rows = rows + pl.col(str(position))
    return cells.select(rows.alias("row")).to_series()


def messages(kind: bytes, bodies: pl.Series) -> bytes:
    """Messages of one kind with these bodies."""
    body = pl.col(bodies.name)
    framed = pl.lit(kind) + unsigned(body.bin.size() + LENGTH_BYTES, 4) + body
    return b"".join(bodies.to_frame().select(framed).to_series().to_list())


def block(content: bytes, rows: int) -> bytes:
    """A block of whole messages; of no rows if they are about something else."""
    return BLOCK.pack(len(content), rows) + content
