"""The manifest: which Parquet files hold a dataset's events, and until when a removed one stays on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from peewee import BigIntegerField, SmallIntegerField, TextField
from playhouse.postgres_ext import BinaryJSONField, DateTimeTZField

from models.base import Table, connection

HOUR_NS: Final = 3_600 * 10**9


class FileRow(Table):
    path = TextField(primary_key=True)
    dataset_id = BigIntegerField()
    tmin = BigIntegerField()
    tmax = BigIntegerField()
    rows = BigIntegerField()
    bytes = BigIntegerField()
    level = SmallIntegerField()
    stats = BinaryJSONField()
    removed_at = DateTimeTZField(null=True)

    class Meta:
        table_name = "file"


Bounds = tuple[str | float | bool | None, str | float | bool | None, int]


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file: path below the data directory; first and last time in it (ns since 1970, both inclusive)."""

    path: str
    dataset_id: int
    tmin: int
    tmax: int
    rows: int
    bytes: int
    level: int = 0
    stats: dict[str, Bounds] = field(default_factory=dict, hash=False)


def insert(files: Sequence[File]) -> None:
    """Make the files live. Call it inside the transaction that takes their events from where they were."""
    for file in files:
        FileRow.create(
            path=file.path,
            dataset_id=file.dataset_id,
            tmin=file.tmin,
            tmax=file.tmax,
            rows=file.rows,
            bytes=file.bytes,
            level=file.level,
            stats=file.stats,
        )


def find(dataset_id: int, start: int | None, end: int | None) -> list[File]:
    """The live files that may hold events in `[start, end)` (ns since 1970; None: unbounded), by time."""
    chosen = (FileRow.dataset_id == dataset_id) & FileRow.removed_at.is_null()
    if start is not None:
        # No file spans two hours, which bounds tmin from below too and keeps this one short index range.
        chosen &= (FileRow.tmax >= start) & (FileRow.tmin >= start - HOUR_NS)
    if end is not None:
        chosen &= FileRow.tmin < end
    with connection():
        rows = FileRow.select().where(chosen).order_by(FileRow.tmin, FileRow.path)
        return [_file(row) for row in rows]


def _file(row: FileRow) -> File:
    return File(row.path, row.dataset_id, row.tmin, row.tmax, row.rows, row.bytes, row.level, row.stats)
