"""Results as Arrow streams and Parquet files: typed columns, for programs."""

import io
import struct
from collections.abc import Sequence
from typing import Final

import polars as pl

from query.output import interval_text

END_OF_STREAM: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
NUMERIC_DIGITS: Final = 38


def for_interchange(frame: pl.LazyFrame, types: Sequence[str]) -> pl.LazyFrame:
    """The columns as types that Arrow and Parquet readers share: intervals as text, 128-bit integers as decimals."""
    columns = zip(frame.collect_schema().items(), types, strict=True)
    return frame.select(_shared(pl.col(name), dtype, kind).alias(name) for (name, dtype), kind in columns)


def _shared(value: pl.Expr, dtype: pl.DataType, kind: str) -> pl.Expr:
    if kind == "interval":
        return interval_text(value)
    if isinstance(dtype, pl.Int128):
        return value.cast(pl.Decimal(NUMERIC_DIGITS, 0))
    return value.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null) else value


class ArrowStream:
    """The Arrow IPC streaming format (columnar specification, "IPC Streaming Format"): a schema, batches, an end.

    Strings are the large-offset kind that every Arrow implementation reads, not the newer string views.
    """

    def __init__(self, types: Sequence[str], frame: pl.LazyFrame) -> None:
        self._types = types
        self._empty = for_interchange(frame, types).collect_schema().to_frame()

    def begin(self) -> bytes:
        stream = _stream(self._empty)
        return stream[: _first_message_bytes(stream)]

    def rows(self, frame: pl.DataFrame) -> bytes:
        stream = _stream(for_interchange(frame.lazy(), self._types).collect())
        return stream[_first_message_bytes(stream) : -len(END_OF_STREAM)]

    def end(self) -> bytes:
        return END_OF_STREAM


def _stream(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_ipc_stream(out, compat_level=pl.CompatLevel.oldest())
    return out.getvalue()


def _first_message_bytes(stream: bytes) -> int:
    """The length of the schema message: continuation mark, length of the metadata, metadata; it has no body."""
    _, metadata_bytes = struct.unpack_from("<Ii", stream)
    return 8 + int(metadata_bytes)
