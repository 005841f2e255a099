"""A snapshot as a LazyFrame. Pure reading: no database, so it may run in a process of its own."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl
from polars.io.plugins import register_io_source

from columns import POLARS_TYPES
from errors import InternalError
from models.values.file import File
from storage.exactly import exactly
from storage.files.file_schema import SERIES_HASH, nanosecond_columns
from storage.files.parquet import apart, scan_files, scan_range
from storage.files.row_order import identity_columns, series_hash
from storage.files.statistics import COMPARES, Condition
from storage.files.store import read_object
from storage.read.contents import Snapshot
from storage.read.small_files import SmallFiles
from storage.read.unconverted_rows import UnconvertedRows
from storage.times import within
from storage.write.event_time import complete_times

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)
Complete = Callable[[pl.LazyFrame], pl.LazyFrame]


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
    return _scan(snapshot, unconverted or UnconvertedRows(), small, _same)


def scan_series(
    snapshot: Snapshot, unconverted: UnconvertedRows | None = None, small: SmallFiles | None = None
) -> pl.LazyFrame:
    """The same for a metrics dataset, with the hash of each row's series as the last column, `SERIES_HASH`.

    Files have it; where rows are not in files yet it is computed. Rows of two files, or of none, are of one series if
    their metric names and labels are equal, whatever their hashes (storage/files/row_order.py).
    """
    columns = identity_columns(snapshot.schema, [each.stored for each in snapshot.schema.columns])
    return _scan(snapshot, unconverted or UnconvertedRows(), small, partial(_with_hash, columns))


def _with_hash(columns: Mapping[str, str], rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.with_columns(series_hash(columns).alias(SERIES_HASH))


def _same(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows


def _scan(
    snapshot: Snapshot, unconverted: UnconvertedRows, small: SmallFiles | None, complete: Complete
) -> pl.LazyFrame:
    """`complete` adds what today's files have beside the columns of the schema, if anything."""
    unconverted.forget(snapshot.segments)
    schema = {column.stored: POLARS_TYPES[column.type] for column in snapshot.schema.columns}
    decoded, files = small.split(snapshot, partial(_decode, snapshot, schema)) if small else ([], snapshot.files)
    without_times = [each for each in files if not snapshot.has_times(each)]
    inner, edges = _split_at_edges(snapshot, [each for each in files if snapshot.has_times(each)])
    frames = _scan_files(_without_range(snapshot), inner, schema, complete) if inner else []
    bounded = _scan_files(snapshot, edges, schema, complete) if edges else []
    others = [_conform(rows.lazy(), rows.schema, schema) for rows in decoded]
    others += _scan_files(_unbounded(snapshot), without_times, schema, _same) if without_times else []
    others += _scan_segments(snapshot, unconverted, schema) if snapshot.segments else []
    bounded += [complete(complete_times(each, schema, snapshot.time_column, snapshot.times_from)) for each in others]
    frames += [_in_range(pl.concat(bounded), snapshot, schema)] if bounded else []
    return pl.concat(frames) if frames else complete(pl.LazyFrame(schema=schema))


def _split_at_edges(snapshot: Snapshot, files: Sequence[File]) -> tuple[list[File], list[File]]:
    """The files that are all in the range, and those that reach beyond it.

    A condition on the time costs every file its statistics, its time column and a filter; by the manifest most files
    need none of that (docs/decisions/text-index.md).
    """
    start, end = snapshot.start, snapshot.end
    inner: list[File] = []
    edges: list[File] = []
    for file in files:
        is_inside = (start is None or file.tmin >= start) and (end is None or file.tmax < end)
        (inner if is_inside else edges).append(file)
    return inner, edges


def _without_range(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, start=None, end=None)


def _plain_conditions(snapshot: Snapshot, schema: dict[str, pl.DataType]) -> list[pl.Expr]:
    """What a wanted row satisfies, in terms of the integers that times of nanoseconds are in files."""
    time = snapshot.time_column
    bounds = [(">=", snapshot.start), ("<", snapshot.end)] if nanosecond_columns({time: schema[time]}) else []
    conditions = [_holds(Condition(time, operation, bound)) for operation, bound in bounds if bound is not None]
    if snapshot.time_conditions:
        conditions.append(pl.any_horizontal(pl.all_horizontal(map(_holds, each)) for each in snapshot.time_conditions))
    return conditions


def _holds(condition: Condition) -> pl.Expr:
    return COMPARES[condition.operation](exactly(condition.column), pl.lit(condition.value, dtype=pl.Int64()))


def _decode(snapshot: Snapshot, schema: dict[str, pl.DataType], files: Sequence[File]) -> pl.DataFrame:
    """All rows of the files, in their order."""
    unbounded = _unbounded(snapshot)
    frames = _scan_files(unbounded, files, schema, _same)
    if len(frames) > 1:
        # Copies of objects are scanned apart from objects, and files of one format from those of another.
        frames = [frame for file in files for frame in _scan_files(unbounded, [file], schema, _same)]
    return pl.concat(frames).collect()


def _unbounded(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, start=None, end=None, time_conditions=(), ranges={})


def _scan_files(
    snapshot: Snapshot, files: Sequence[File], schema: dict[str, pl.DataType], complete: Complete
) -> list[pl.LazyFrame]:
    copies: Mapping[str, Path] = {}
    if "://" not in snapshot.root:
        missing = next((each.path for each in files if not os.path.exists(f"{snapshot.root}/{each.path}")), None)
        if missing is not None:
            raise SnapshotExpired(f"the file {os.path.basename(missing)} is gone")
    elif snapshot.cache is not None:
        copies = snapshot.cache.obtain(files, partial(read_object, snapshot.root))
    conditions = _plain_conditions(snapshot, schema)
    hashed = schema if complete is _same else {**schema, SERIES_HASH: pl.Int64()}
    groups = apart([each for each in files if each.path not in snapshot.ranges], copies, partial(_location, snapshot))
    frames = [
        scan_files(each, hashed, conditions) if each.format else complete(scan_files(each, schema)) for each in groups
    ]
    for file in files:
        # The numbers of rows count before any condition.
        for each in snapshot.ranges.get(file.path, ()):
            (group,) = apart([file], copies, partial(_location, snapshot))
            rows = scan_range(group, hashed if group.format else schema, each)
            frames.append(rows if group.format else complete(rows))
    return frames


def _location(snapshot: Snapshot, path: str) -> str:
    return f"{snapshot.root}/{path}"


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
    # Headers of records tell the time column's times, of which some may not be known yet.
    bounds = (None, None) if snapshot.times_from else (snapshot.start, snapshot.end)
    for rows in unconverted.read(snapshot.schema.dataset_id, snapshot.segments, *bounds, projection):
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
