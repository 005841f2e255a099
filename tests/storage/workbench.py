"""What the tests of the storage share: a storage on a real directory and database, with short words for its use."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from models import dataset
from models.dataset import Dataset
from storage.cluster.host import NAME_FILE
from storage.context import Layout
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep.conversion import convert_all
from storage.write.arrival import Arrival
from storage.write.engine import Storage

KINDS = {bool: ColumnType.BOOL, int: ColumnType.INT64, float: ColumnType.FLOAT64, str: ColumnType.UTF8} | {
    datetime: ColumnType.TIMESTAMP_NS
}
LISTS = {int: ColumnType.LIST_INT64, float: ColumnType.LIST_FLOAT64, str: ColumnType.LIST_UTF8}
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def batch_of(**columns: list[object]) -> Batch:
    """A batch of one-typed columns; the type is that of the first value."""
    kinds = {name: _kind(next(v for v in values if v is not None)) for name, values in columns.items()}
    return Batch(
        tuple(Field(name, kind) for name, kind in kinds.items()),
        tuple(pl.Series(name, columns[name], dtype=POLARS_TYPES[kind]) for name, kind in kinds.items()),
        len(next(iter(columns.values()))),
    )


def _kind(value: object) -> ColumnType:
    """As decoders say it: lists without elements are of text."""
    if not isinstance(value, list):
        return KINDS[type(value)]
    return LISTS[next((type(each) for each in value if each is not None), str)]


class Bench:
    """A storage with one dataset, `app`, in the database and directory of the test."""

    def __init__(self, root: Path, url: str | None = None) -> None:
        self.layout = Layout(root, url=url)
        # Processes of the product that are started on this directory are of the same host.
        (root / NAME_FILE).write_text(self.layout.node)
        self.storage = Storage(self.layout, flush_seconds=60)
        self.app = dataset.create("default", "app")

    def append(self, at: datetime = NOON, target: Dataset | None = None, **columns: list[object]) -> None:
        self.storage.append(target or self.app, batch_of(**columns), Arrival(at, "192.0.2.1", "curl/8", body_bytes=10))

    def seal(self) -> None:
        """What a restart does: the worker lets go of its segment."""
        self.storage.close()
        self.storage = Storage(self.layout, flush_seconds=60)

    def convert(self) -> int:
        self.seal()
        return convert_all(self.layout)

    def rows(self, start: int | None = None, end: int | None = None) -> pl.DataFrame:
        return scan(take_snapshot(self.layout, self.app, start, end)).collect()
