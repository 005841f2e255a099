"""A snapshot as a LazyFrame. Pure reading: no database, so it may run in a process of its own."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from columns import POLARS_TYPES
from errors import InternalError
from models.file import File
from storage.parquet import apart, scan_files
from storage.smallfiles import SmallFiles
from storage.snapshot import Snapshot
from storage.store import read_object
from storage.tails import Tails
from storage.times import within


class SnapshotExpired(InternalError):
    """Something in the snapshot is no longer where it was: take a new one and start again."""

    code = "snapshot_expired"


def scan(snapshot: Snapshot, tails: Tails | None = None, small: SmallFiles | None = None) -> pl.LazyFrame:
    """The events of the snapshot's range, one per row, with the columns of its schema in its order.

    Whoever scans more than once keeps a `Tails`, and perhaps a `SmallFiles`, and passes it. Raises SnapshotExpired. A
    file in an object store is not looked for: if it is gone, collecting the frame raises FileNotFoundError, and a new
    snapshot is needed too.
    """
    wanted = {column.name: POLARS_TYPES[column.type] for column in snapshot.schema.columns}
    kept, files = small.split(snapshot, partial(_decoded, snapshot, wanted)) if small else ([], snapshot.files)
    frames = _files(snapshot, files, wanted) if files else []
    frames += [_conform(rows, wanted) for rows in (*kept, *_staged(snapshot, tails or Tails()))]
    if not frames:
        return pl.LazyFrame(schema=wanted)
    return _in_range(pl.concat(frames), snapshot, wanted)


def unconverted(snapshot: Snapshot, tails: Tails) -> list[pl.DataFrame]:
    """The rows of the snapshot's segments as they were sent, some of which may be outside its range.

    As long as there are no others, the frames are the same objects each time. Raises SnapshotExpired.
    """
    return _staged(snapshot, tails)


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


def _staged(snapshot: Snapshot, tails: Tails) -> list[pl.DataFrame]:
    try:
        return tails.read(snapshot.schema.dataset_id, snapshot.staged, snapshot.start, snapshot.end)
    except FileNotFoundError as error:
        raise SnapshotExpired(f"the segment {error.filename} is gone") from error


def _conform(rows: pl.DataFrame, wanted: dict[str, pl.DataType]) -> pl.LazyFrame:
    """The rows under the current schema, which has every column they have."""
    present = rows.schema
    return rows.lazy().select(
        _column(name, dtype, present[name]) if name in present else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in wanted.items()
    )


def _column(name: str, wanted: pl.DataType, present: pl.DataType) -> pl.Expr:
    return pl.col(name) if wanted == present else pl.col(name).cast(wanted)


def _in_range(rows: pl.LazyFrame, snapshot: Snapshot, wanted: dict[str, pl.DataType]) -> pl.LazyFrame:
    dtype = wanted[snapshot.time_column]
    if not isinstance(dtype, pl.Datetime):
        raise TypeError(f"the time column {snapshot.time_column!r} is {dtype}")
    conditions = within(snapshot.time_column, dtype, snapshot.start, snapshot.end)
    return rows.filter(*conditions) if conditions else rows
