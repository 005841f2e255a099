"""A snapshot: everything that has to be read for a dataset and time range, as plain values that can be pickled. Knows
no database, of which `storage.read.snapshot` makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from columns import ColumnType
from models.values.column import Column as Column
from models.values.column import Schema as Schema
from models.values.file import File as File
from storage.context import Gap
from storage.files.object_cache import Cache
from storage.files.row_range import RowRange
from storage.files.statistics import Condition, choose
from storage.wal.segments import SegmentRef


@dataclass(frozen=True)
class Snapshot:
    """One moment of a dataset. `start`, `end`: half-open, ns since 1970, None: unbounded. `root`: the directory or URL
    that the files' paths begin at; `cache`: where copies of them are kept, if they are objects. `columns`: those
    whose statistics the files carry, as stored. `has_files_outside`: the dataset has files, and none of them in the
    range. `time_conditions`: alternatives, one of which each row has to satisfy that anybody wants, as far as they are
    about columns of nanoseconds. `times_from`: as of `Dataset`. `ranges`: of these files, by path, only these rows are
    read. `gaps`: hosts whose unconverted events are in no segment of it."""

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
    time_conditions: tuple[tuple[Condition, ...], ...] = ()
    times_from: str | None = None
    ranges: Mapping[str, tuple[RowRange, ...]] = field(default_factory=dict, hash=False)
    gaps: tuple[Gap, ...] = ()

    def has_times(self, file: File) -> bool:
        """Whether the file's times are those of the time column. Others are not known before its rows are read."""
        return self.times_from is None or self.time_column in file.stats

    def is_whole(self, file: File) -> bool:
        """Whether all rows of the file are in the range and read."""
        if not self.has_times(file) or file.path in self.ranges:
            return False
        return (self.start is None or file.tmin >= self.start) and (self.end is None or file.tmax < self.end)

    def rows_of(self, file: File) -> int:
        """How many rows of the file are read."""
        ranges = self.ranges.get(file.path)
        return file.rows if ranges is None else sum(each.rows for each in ranges)

    def bytes_of(self, file: File) -> int:
        """About how many bytes they take."""
        return file.bytes if file.path not in self.ranges else file.bytes * self.rows_of(file) // file.rows

    def within(self, start: int | None, end: int | None) -> "Snapshot":
        """The part of `[start, end)` of a snapshot that is not bounded."""
        files = tuple(
            each
            for each in self.files
            if not self.has_times(each) or ((start is None or each.tmax >= start) and (end is None or each.tmin < end))
        )
        return replace(self, start=start, end=end, files=files)

    def relevant(self, alternatives: Sequence[Sequence[Condition]]) -> "Snapshot":
        """The snapshot without the files in which no event satisfies all conditions of any alternative.

        The other files, and the segments, still have events that do not satisfy them. Conditions on columns that are
        not in `columns` are ignored, because the files do not carry their statistics.
        """
        known = [[each for each in conditions if each.column in self.columns] for conditions in alternatives]
        files = tuple(self._choose(known)) if all(known) and known else self.files
        return replace(self, files=files, time_conditions=self._on_nanoseconds(alternatives))

    def _choose(self, alternatives: Sequence[Sequence[Condition]]) -> list[File]:
        # A file that lacks the time column is none without times.
        chosen = {each.path for each in choose([file for file in self.files if self.has_times(file)], alternatives)}
        return [each for each in self.files if each.path in chosen or not self.has_times(each)]

    def _on_nanoseconds(self, alternatives: Sequence[Sequence[Condition]]) -> tuple[tuple[Condition, ...], ...]:
        times = {each.stored for each in self.schema.columns if each.type is ColumnType.TIMESTAMP_NS}
        on_times = tuple(tuple(each for each in conditions if each.column in times) for conditions in alternatives)
        return on_times if all(on_times) else ()
