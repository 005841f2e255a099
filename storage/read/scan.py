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
    """Something in the snapshot is no longer where it was: take a new one and start again."""

    code = "snapshot_expired"


def scan(snapshot: Snapshot, tails: UnconvertedRows | None = None, small: SmallFiles | None = None) -> pl.LazyFrame:
    """The events of the snapshot's range, one per row, with the columns of its schema, as stored, in its order.

    Whoever scans more than once keeps an `UnconvertedRows`, and perhaps a `SmallFiles`, and passes it. Raises
    SnapshotExpired. A file in an object store is not looked for: if it is gone, collecting the frame raises
    FileNotFoundError, and a new snapshot is needed too.
    """
    tails = tails or UnconvertedRows()
    tails.forget(snapshot.staged)
    wanted = {column.stored: POLARS_TYPES[column.type] for column in snapshot.schema.columns}
    kept, files = small.split(snapshot, partial(_decoded, snapshot, wanted)) if small else ([], snapshot.files)
    frames = _files(snapshot, files, wanted) if files else []
    frames += [_conform(rows.lazy(), rows.schema, wanted) for rows in kept]
    frames += _staged(snapshot, tails, wanted) if snapshot.staged else []
    if not frames:
        return pl.LazyFrame(schema=wanted)
    return _in_range(pl.concat(frames), snapshot, wanted)


def _decoded(snapshot: Snapshot, wanted: dict[str, pl.DataType], files: Sequence[File]) -> pl.DataFrame:
    """All rows of the files, in their order."""
    frames = _files(snapshot, files, wanted)
    if len(frames) > 1:
        # Copies of objects are scanned apart from objects.
        frames = [frame for file in files for frame in _files(snapshot, [file], wanted)]
    return pl.concat(frames).collect()


def _files(snapshot: Snapshot, files: Sequence[File], wanted: dict[str, pl.DataType]) -> list[pl.LazyFrame]:
    copies: Mapping[str, Path] = {}
    if "://" not in snapshot.root:
        missing = next((each.path for each in files if not os.path.exists(f"{snapshot.root}/{each.path}")), None)
        if missing is not None:
            raise SnapshotExpired(f"the file {os.path.basename(missing)} is gone")
    elif snapshot.cache is not None:
        copies = snapshot.cache.obtain(files, partial(read_object, snapshot.root))
    places = apart(files, copies, lambda path: f"{snapshot.root}/{path}")
    return [scan_files(each, wanted) for each in places]


def _staged(snapshot: Snapshot, tails: UnconvertedRows, wanted: dict[str, pl.DataType]) -> list[pl.LazyFrame]:
    """The rows of the segments, read when the frame is collected: only then it is known which columns are wanted.

    Behind a barrier that no condition passes: Polars would have to write each down for a source of ours, and cannot if
    there is a function in it. A segment that is gone by then raises FileNotFoundError.
    """
    for each in snapshot.staged:
        if not os.path.exists(each.path):
            raise SnapshotExpired(f"the segment {each.path} is gone")
    rows = register_io_source(partial(_read_staged, snapshot, tails, wanted), schema=wanted, is_pure=True)
    barrier = rows.map_batches(
        _unchanged, predicate_pushdown=False, slice_pushdown=False, projection_pushdown=True, streamable=True
    )
    return [barrier]


def _unchanged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def _read_staged(
    snapshot: Snapshot,
    tails: UnconvertedRows,
    wanted: dict[str, pl.DataType],
    columns: list[str] | None,
    predicate: pl.Expr | None,
    most_rows: int | None,
    _: int | None,
) -> Iterator[pl.DataFrame]:
    """What Polars asks a source for. Conditions and limits do not pass the barrier."""
    if predicate is not None or most_rows is not None:
        raise InternalError("a condition has passed the barrier")
    chosen = wanted if columns is None else {name: wanted[name] for name in columns}
    dataset_id, start, end = snapshot.schema.dataset_id, snapshot.start, snapshot.end
    for rows in tails.read(dataset_id, snapshot.staged, start, end, chosen):
        yield _conform(rows, rows.schema, chosen)


def _conform(rows: Rows, present: pl.Schema, wanted: dict[str, pl.DataType]) -> Rows:
    """The rows under the wanted schema: those of its columns that they lack are null."""
    lacking = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in wanted.items() if name not in present]
    return rows.with_columns(lacking).select(
        exactly(name) if present.get(name, dtype) == dtype else exactly(name).cast(dtype)
        for name, dtype in wanted.items()
    )


def _in_range(rows: pl.LazyFrame, snapshot: Snapshot, wanted: dict[str, pl.DataType]) -> pl.LazyFrame:
    dtype = wanted[snapshot.time_column]
    if not isinstance(dtype, pl.Datetime):
        raise TypeError(f"the time column {snapshot.time_column!r} is {dtype}")
    conditions = within(snapshot.time_column, dtype, snapshot.start, snapshot.end)
    return rows.filter(*conditions) if conditions else rows
