"""Results as Arrow streams and Parquet files: typed columns, for programs."""

import io
import struct
from typing import Final

import polars as pl

from storage.exactly import exactly

END_OF_STREAM: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
NUMERIC_DIGITS: Final = 38


def for_interchange(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The columns as types that Arrow and Parquet readers share."""
    return frame.select(_to_arrow_type(exactly(name), dtype) for name, dtype in frame.collect_schema().items())


def _to_arrow_type(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Int128):
        return value.cast(pl.Decimal(NUMERIC_DIGITS, 0))
    return value.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null) else value


class ArrowStream:
    """The Arrow IPC streaming format (columnar specification, "IPC Streaming Format"): a schema, batches, an end.

    Strings are the large-offset kind that every Arrow implementation reads, not the newer string views.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._empty = for_interchange(frame).collect_schema().to_frame()

    def begin(self) -> bytes:
        stream = _stream(self._empty)
        return stream[: _first_message_bytes(stream)]

    def rows(self, frame: pl.DataFrame) -> bytes:
        stream = _stream(for_interchange(frame.lazy()).collect())
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
