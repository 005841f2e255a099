"""Parquet files: written whole, durable before anybody is told of them, never changed. Knows no database."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from models.file import HOUR_NS, File
from storage.names import PARQUET_SUFFIX, UNFINISHED_SUFFIX, Layout, unique
from storage.segments import make_directory, sync_directory
from storage.times import UNIT_NS, span

# Level 3 costs 1.7 times the CPU for no smaller files on telemetry (docs/decisions/storage.md).
ZSTD_LEVEL: Final = 1
ROW_GROUP_ROWS: Final = 65_536


def by_hour(rows: pl.DataFrame, time_column: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each hour (hours since 1970, UTC), sorted by time."""
    dtype = rows.schema[time_column]
    if not isinstance(dtype, pl.Datetime):
        raise TypeError(f"the time column {time_column!r} is {dtype}")
    hour = pl.col(time_column).to_physical().floordiv(HOUR_NS // UNIT_NS[dtype.time_unit])
    ordered = rows.sort(time_column, maintain_order=True)
    for (key,), part in ordered.group_by(hour.alias("\0hour"), maintain_order=True):
        yield int(str(key)), part


def write(
    layout: Layout, directory: str, dataset_id: int, rows: pl.DataFrame, time_column: str, level: int = 0
) -> File:
    """The rows as a new file in `directory` (below the data directory), durable on return. Raises OSError."""
    path = f"{directory}/{unique()}{PARQUET_SUFFIX}"
    target = layout.root / path
    unfinished = target.with_suffix(UNFINISHED_SUFFIX)
    make_directory(target.parent)
    try:
        rows.write_parquet(unfinished, compression="zstd", compression_level=ZSTD_LEVEL, row_group_size=ROW_GROUP_ROWS)
        sync_file(unfinished)
        unfinished.rename(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)
    tmin, tmax = span(rows, time_column)
    return File(path, dataset_id, tmin, tmax, rows.height, target.stat().st_size, level)


def sync_file(path: Path) -> None:
    """Make the file's content durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
