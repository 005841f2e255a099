"""The results of queries as bytes: which formats there are, and a frame streamed in one of them.

Works in the query process, one bounded piece at a time; knows nothing of HTTP or of how the frame came to be.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Final, Protocol, cast

import polars as pl

from query.results import csv_rows, json_rows
from query.results.columnar import ArrowStream, for_interchange
from query.results.copy_rows import CopyRows
from query.results.data_rows import DataRows
from query.results.options import Copy, Format, Options

MIB: Final = 1024 * 1024
# Rows that Polars gathers before it hands them over, and bytes that are rendered at once: they bound the memory of
# an export of any length. Larger pieces are not faster (docs/decisions/query-processes.md).
BATCH_ROWS: Final = 32_768
PIECE_BYTES: Final = 4 * MIB
# Bytes that are kept back until it is known that the plan does not panic, or that the answer is larger than this.
HELD_BYTES: Final = 256 * 1024


class ResultColumn(Protocol):
    """A column of a result: its name, and its PostgreSQL type (`int8`, `numeric`, `jsonb`, `text[]`)."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


class Renderer(Protocol):
    """Bytes before the rows, for some rows, and after them. `rows` is called in order, with non-empty frames."""

    def begin(self) -> bytes: ...
    def rows(self, frame: pl.DataFrame) -> bytes: ...
    def end(self) -> bytes: ...


def stream(
    frame: pl.LazyFrame,
    columns: Sequence[ResultColumn],
    options: Options,
    emit: Callable[[bytes], None],
    zone: str = "",
    optimizations: pl.QueryOptFlags | None = None,
) -> int | None:
    """Run `frame` and give its bytes to `emit`, in order, as they come; returns how many rows it has, if it knows.

    `columns` describe the frame's, in order. Rows of the PostgreSQL protocol have instants in text on the clock of the
    session's `zone` (nothing: UTC); HTTP's formats have them in UTC. `optimizations` None: all of Polars' own. What the
    plan raises while it runs passes through; whatever was emitted before is then not a whole document.
    """
    allowed = optimizations or pl.QueryOptFlags()
    if options.format is Format.PARQUET:
        sink = cast(IO[bytes], _Emitter(emit))
        for_interchange(frame).sink_parquet(sink, compression="zstd", engine="streaming", optimizations=allowed)
        return None
    head = _ResultHead(emit)
    try:
        count = _render(_renderer(options, columns, frame, zone), partial(_stream_batches, frame, allowed), head)
    except pl.exceptions.PanicException:
        if not head.drop():
            raise
        count = _render(_renderer(options, columns, frame, zone), partial(_in_memory, frame), head)
    head.release()
    return count


def _renderer(options: Options, columns: Sequence[ResultColumn], frame: pl.LazyFrame, zone: str) -> Renderer:
    names, types = [column.name for column in columns], [column.type for column in columns]
    match options.format:
        case Format.JSON:
            return json_rows.Array(names, types, fields=options.fields, send_null=options.send_null)
        case Format.NDJSON:
            return json_rows.Lines(names, types, fields=options.fields, send_null=options.send_null)
        case Format.CSV:
            return csv_rows.Csv(names, types, escape_formulas=options.escape_formulas)
        case Format.DATA_ROWS:
            return DataRows(types, options.binary, zone)
        case Format.COPY:
            return CopyRows(names, types, options.copy or Copy(), zone)
        case _:
            return ArrowStream(frame)


Rows = Callable[[pl.DataFrame], None]


def _render(renderer: Renderer, run: Callable[[Rows], None], emit: Callable[[bytes], None]) -> int:
    count = 0

    def rows(batch: pl.DataFrame) -> None:
        nonlocal count
        count += batch.height
        for piece in _pieces(batch):
            emit(renderer.rows(piece))

    emit(renderer.begin())
    run(rows)
    emit(renderer.end())
    return count


def _stream_batches(frame: pl.LazyFrame, optimizations: pl.QueryOptFlags, rows: Rows) -> None:
    """The rows in order, batch by batch. Polars' other way, `collect_batches`, keeps a panic of its threads to itself:
    the rows that came before it would pass for the whole answer (Polars 2.1)."""
    frame.sink_batches(
        rows, engine="streaming", chunk_size=BATCH_ROWS, maintain_order=True, optimizations=optimizations
    )


def _in_memory(frame: pl.LazyFrame, rows: Rows) -> None:
    """The same rows by Polars' other engine, for a plan at which the streaming one panics."""
    rows(frame.collect(engine="in-memory"))


def _pieces(batch: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """A batch in non-empty frames of about PIECE_BYTES at most."""
    if batch.height:
        rows = max(1, batch.height * PIECE_BYTES // max(PIECE_BYTES, int(batch.estimated_size())))
        yield from batch.iter_slices(rows)


class _ResultHead:
    """Keeps the first bytes back, so that a small answer can begin anew when its plan fails."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self._emit = emit
        self._kept: list[bytes] | None = []
        self._size = 0

    def __call__(self, data: bytes) -> None:
        if self._kept is None:
            self._emit(data)
            return
        self._kept.append(data)
        self._size += len(data)
        if self._size > HELD_BYTES:
            self.release()

    def release(self) -> None:
        """Emits what is kept, and from now on everything at once."""
        pieces, self._kept = self._kept or [], None
        for data in pieces:
            self._emit(data)

    def drop(self) -> bool:
        """Forgets what is kept; False when something has been emitted already."""
        if self._kept is None:
            return False
        self._kept, self._size = [], 0
        return True


class _Emitter(io.RawIOBase):
    """The file that Polars' Parquet writer sees: every write goes out at once, nothing is kept."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self._emit = emit

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        piece = bytes(data)
        self._emit(piece)
        return len(piece)
