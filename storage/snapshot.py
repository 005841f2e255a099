"""A snapshot: everything that has to be read for a dataset and time range, as plain values that can be pickled."""

from collections.abc import Sequence
from dataclasses import dataclass

from models import column, file, segment
from models.base import connection, database
from models.column import Schema
from models.dataset import Dataset
from models.file import File
from storage.cache import Cache
from storage.names import Layout
from storage.segments import Staged, stage
from storage.statistics import Condition, choose


@dataclass(frozen=True)
class Snapshot:
    """One moment of a dataset. `start`, `end`: half-open, ns since 1970, None: unbounded. `root`: the directory or URL
    that the files' paths begin at; `cache`: where copies of them are kept, if they are objects."""

    root: str
    schema: Schema
    time_column: str
    start: int | None
    end: int | None
    files: tuple[File, ...]
    staged: tuple[Staged, ...]
    cache: Cache | None = None


def take(
    layout: Layout,
    dataset: Dataset,
    start: int | None = None,
    end: int | None = None,
    conditions: Sequence[Condition] = (),
) -> Snapshot:
    """What holds the dataset's events of `[start, end)`, each event once. Raises StorageUnavailable.

    Files that cannot have an event that satisfies all `conditions` are left out; the others, and the segments, still
    have events that do not.

    Staging is listed before the manifest is read: a segment that is converted in between is then known as both
    listed and converted, and read from its files. In the other order its events would be in neither.
    """
    staged = stage(layout.staging)
    with connection(), database.atomic():
        database.execute_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        schema = column.schema(dataset.id)
        files = file.find(dataset.id, start, end, sorted({each.column for each in conditions}))
        converted = segment.converted([each.name for each in staged])
    return Snapshot(
        root=layout.url or str(layout.root),
        schema=schema,
        time_column=dataset.time_column,
        start=start,
        end=end,
        files=tuple(choose(files, conditions)),
        staged=tuple(each for each in staged if each.name not in converted and each.size),
        cache=Cache.of(layout),
    )
