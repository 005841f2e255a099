"""A snapshot as a LazyFrame. Pure reading: no database, so it may run in a process of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl
from polars.io.plugins import register_io_source

from columns import POLARS_TYPES
from errors import InternalError
from models.file import File
from storage.exactly import exactly
from storage.files.parquet import apart, scan_files
from storage.files.store import read_object
from storage.read.small_files import SmallFiles
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.times import within

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


class SnapshotExpired(InternalError):
    """A file or segment of the snapshot is gone. The caller takes a new snapshot and starts again."""

    code = "snapshot_expired"


def scan(
    snapshot: Snapshot, unconverted: UnconvertedRows | None = None, small: SmallFiles | None = None
) -> pl.LazyFrame:
    """The events of the snapshot's range, one per row, with the columns of its schema, as stored, in its order.

    A caller that scans more than once keeps an `UnconvertedRows`, and perhaps a `SmallFiles`, and passes them. Raises
    SnapshotExpired. The scan does not check whether a file in an object store exists: if it is gone, collecting the
    frame raises FileNotFoundError, and the caller needs a new snapshot too.
    """
    unconverted = unconverted or UnconvertedRows()
    unconverted.forget(snapshot.segments)
    schema = {column.stored: POLARS_TYPES[column.type] for column in snapshot.schema.columns}
    decoded, files = small.split(snapshot, partial(_decode, snapshot, schema)) if small else ([], snapshot.files)
    inner, edges = _split_at_edges(snapshot, files)
    frames = _scan_files(snapshot, inner, schema) if inner else []
    bounded = _scan_files(snapshot, edges, schema) if edges else []
    bounded += [_conform(rows.lazy(), rows.schema, schema) for rows in decoded]
    bounded += _scan_segments(snapshot, unconverted, schema) if snapshot.segments else []
    frames += [_in_range(pl.concat(bounded), snapshot, schema)] if bounded else []
    return pl.concat(frames) if frames else pl.LazyFrame(schema=schema)


def _split_at_edges(snapshot: Snapshot, files: Sequence[File]) -> tuple[list[File], list[File]]:
    """The files that are all in the range, and those that reach beyond it.

    A condition on the time costs every file its statistics, its time column and a filter; by the manifest most files
    need none of that (docs/decisions/storage.md).
    """
    start, end = snapshot.start, snapshot.end
    inner: list[File] = []
    edges: list[File] = []
    for file in files:
        is_inside = (start is None or file.tmin >= start) and (end is None or file.tmax < end)
        (inner if is_inside else edges).append(file)
    return inner, edges


def _decode(snapshot: Snapshot, schema: dict[str, pl.DataType], files: Sequence[File]) -> pl.DataFrame:
    """All rows of the files, in their order."""
    frames = _scan_files(snapshot, files, schema)
    if len(frames) > 1:
        # Copies of objects are scanned apart from objects.
        frames = [frame for file in files for frame in _scan_files(snapshot, [file], schema)]
    return pl.concat(frames).collect()


def _scan_files(snapshot: Snapshot, files: Sequence[File], schema: dict[str, pl.DataType]) -> list[pl.LazyFrame]:
    copies: Mapping[str, Path] = {}
    if "://" not in snapshot.root:
        missing = next((each.path for each in files if not os.path.exists(f"{snapshot.root}/{each.path}")), None)
        if missing is not None:
            raise SnapshotExpired(f"the file {os.path.basename(missing)} is gone")
    elif snapshot.cache is not None:
        copies = snapshot.cache.obtain(files, partial(read_object, snapshot.root))
    whole = [file for file in files if file.path not in snapshot.ranges]
    groups = apart(whole, copies, partial(_location, snapshot))
    parts = [part for file in files for part in _scan_ranges(snapshot, file, copies, schema)]
    return [*(scan_files(each, schema) for each in groups), *parts]


def _location(snapshot: Snapshot, path: str) -> str:
    return f"{snapshot.root}/{path}"


def _scan_ranges(
    snapshot: Snapshot, file: File, copies: Mapping[str, Path], schema: dict[str, pl.DataType]
) -> Iterator[pl.LazyFrame]:
    """The ranges of rows that are needed of a file of which not all are."""
    for each in snapshot.ranges.get(file.path, ()):
        (places,) = apart([file], copies, partial(_location, snapshot))
        yield scan_files(places, schema).slice(each.start, each.rows)


def _scan_segments(
    snapshot: Snapshot, unconverted: UnconvertedRows, schema: dict[str, pl.DataType]
) -> list[pl.LazyFrame]:
    """The rows of the segments. They are read when the frame is collected, since only then the columns are known.

    A barrier keeps conditions away from the source: Polars would have to serialize them, and cannot serialize a
    condition with a function in it. If a segment is gone by then, collecting raises FileNotFoundError.
    """
    for segment in snapshot.segments:
        if not os.path.exists(segment.path):
            raise SnapshotExpired(f"the segment {segment.path} is gone")
    rows = register_io_source(partial(_read_segments, snapshot, unconverted, schema), schema=schema, is_pure=True)
    barrier = rows.map_batches(
        _pass_through, predicate_pushdown=False, slice_pushdown=False, projection_pushdown=True, streamable=True
    )
    return [barrier]


def _pass_through(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def _read_segments(
    snapshot: Snapshot,
    unconverted: UnconvertedRows,
    schema: dict[str, pl.DataType],
    columns: list[str] | None,
    predicate: pl.Expr | None,
    most_rows: int | None,
    _: int | None,
) -> Iterator[pl.DataFrame]:
    """The source as Polars calls it. Conditions and limits do not pass the barrier."""
    if predicate is not None or most_rows is not None:
        raise InternalError("a condition has passed the barrier")
    projection = schema if columns is None else {name: schema[name] for name in columns}
    dataset_id, start, end = snapshot.schema.dataset_id, snapshot.start, snapshot.end
    for rows in unconverted.read(dataset_id, snapshot.segments, start, end, projection):
        yield _conform(rows, rows.schema, projection)


def _conform(rows: Rows, present: pl.Schema, schema: dict[str, pl.DataType]) -> Rows:
    """The rows with the columns of the schema; columns that the rows lack are null."""
    lacking = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in schema.items() if name not in present]
    return rows.with_columns(lacking).select(
        exactly(name) if present.get(name, dtype) == dtype else exactly(name).cast(dtype)
        for name, dtype in schema.items()
    )


def _in_range(rows: pl.LazyFrame, snapshot: Snapshot, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    dtype = schema[snapshot.time_column]
    if not isinstance(dtype, pl.Datetime):
        raise TypeError(f"the time column {snapshot.time_column!r} is {dtype}")
    conditions = within(snapshot.time_column, dtype, snapshot.start, snapshot.end)
    return rows.filter(*conditions) if conditions else rows
