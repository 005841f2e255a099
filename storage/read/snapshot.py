"""A snapshot: everything that has to be read for a dataset and time range, as plain values that can be pickled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from models import column, file
from models.column import Column as Column
from models.column import Schema
from models.dataset import Dataset
from models.file import File
from storage.context import Layout
from storage.files.object_cache import Cache
from storage.files.row_range import RowRange
from storage.files.statistics import Condition, choose
from storage.read.listing import list_unconverted
from storage.wal.segments import SegmentRef


@dataclass(frozen=True)
class Snapshot:
    """One moment of a dataset. `start`, `end`: half-open, ns since 1970, None: unbounded. `root`: the directory or URL
    that the files' paths begin at; `cache`: where copies of them are kept, if they are objects. `columns`: those
    whose statistics the files carry, as stored. `has_files_outside`: the dataset has files, and none of them in the
    range. `ranges`: of these files, by path, only these rows are needed."""

    root: str
    schema: Schema
    time_column: str
    start: int | None
    end: int | None
    files: tuple[File, ...]
    segments: tuple[SegmentRef, ...]
    columns: frozenset[str] = frozenset()
    cache: Cache | None = None
    has_files_outside: bool = False
    ranges: Mapping[str, tuple[RowRange, ...]] = field(default_factory=dict, hash=False)

    def within(self, start: int | None, end: int | None) -> "Snapshot":
        """The part of `[start, end)` of a snapshot that is not bounded."""
        files = tuple(
            each for each in self.files if (start is None or each.tmax >= start) and (end is None or each.tmin < end)
        )
        return replace(self, start=start, end=end, files=files)

    def relevant(self, alternatives: Sequence[Sequence[Condition]]) -> "Snapshot":
        """The snapshot without the files in which no event satisfies all conditions of any alternative.

        The other files, and the segments, still have events that do not satisfy them. Conditions on columns that are
        not in `columns` are ignored, because the files do not carry their statistics.
        """
        known = [[each for each in conditions if each.column in self.columns] for conditions in alternatives]
        return replace(self, files=tuple(choose(self.files, known))) if all(known) and known else self


def take_snapshot(
    layout: Layout,
    dataset: Dataset,
    start: int | None = None,
    end: int | None = None,
    columns: Iterable[str] = (),
) -> Snapshot:
    """The files and segments with the dataset's events of `[start, end)`. Raises StorageUnavailable, HostMissing.

    Each event is in exactly one of them. Rows of a lookup dataset have no time, so the range does not apply to it.
    The files carry the statistics of `columns`, so that a query can skip some of them.
    """
    if dataset.is_lookup:
        start = end = None
    with list_unconverted(layout) as segments:
        schema = column.schema(dataset.id)
        names = set(columns)
        stored_names = sorted(each.stored for each in schema.columns if each.name in names)
        files = file.find(dataset.id, start, end, stored_names)
        is_bounded = start is not None or end is not None
        has_files_outside = is_bounded and not files and file.is_any_live(dataset.id)
    return Snapshot(
        root=layout.url or str(layout.root),
        schema=schema,
        time_column=dataset.time_column,
        start=start,
        end=end,
        files=tuple(files),
        segments=segments,
        columns=frozenset(stored_names),
        cache=Cache.of(layout),
        has_files_outside=has_files_outside,
    )
