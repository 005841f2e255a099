"""A dataset as one statement sees it: its visible columns, the files to read, and its line in EXPLAIN."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from columns import POLARS_TYPES, ColumnType
from query.plan.conditions import Conditions
from query.plan.environment import Schema, schema_of
from query.process.messages import Source
from storage.read.contents import Column, Snapshot


@dataclass(frozen=True, slots=True)
class DatasetView:
    """A dataset as one statement sees it: the `visible` columns of `source`, and the `conditions` of its scans.

    `narrowed`: what text indexes and the order of rows leave of the snapshot, once that is known.
    `answered_files`: so many files are not read because the manifest knows what is asked of them.

    Above the binder a column has the name that it was sent under; here, in conditions and below, the stored one.
    """

    source: Source
    visible: frozenset[str]
    conditions: tuple[Conditions, ...] = ()
    narrowed: Snapshot | None = None
    answered_files: int = 0

    @property
    def schema(self) -> Schema:
        """The schema that the binder resolves names in."""
        columns = [(column.name, POLARS_TYPES[column.type]) for column in self._columns]
        return replace(schema_of(columns, self._json_names), stored=tuple(self.columns))

    @property
    def part(self) -> Snapshot:
        """The part of the source's snapshot that is in the time range."""
        whole, start, end = self.source.snapshot, self.source.start_ns, self.source.end_ns
        return whole if self.source.permitted_tags is None else whole.within(start, end)

    @property
    def snapshot(self) -> Snapshot:
        """The files and segments to read."""
        return self.narrowed or self.part.relevant(self.conditions)

    @property
    def columns(self) -> list[str]:
        return [column.stored for column in self._columns]

    @property
    def json_columns(self) -> frozenset[str]:
        return frozenset(column.stored for column in self._columns if column.type is ColumnType.JSON)

    @property
    def _json_names(self) -> frozenset[str]:
        return frozenset(column.name for column in self._columns if column.type is ColumnType.JSON)

    @property
    def _columns(self) -> list[Column]:
        return [column for column in self.source.snapshot.schema.columns if column.stored in self.visible]

    @property
    def explanation(self) -> str:
        """Its line in EXPLAIN. Sizes would tell a reader under row-level security of hidden rows."""
        if self.source.permitted_tags is not None:
            return "the rows that you may see"
        selected, whole = self.snapshot, self.source.snapshot
        parts = [f"{len(selected.files)} of {_count_text(len(whole.files), 'file')}"]
        if selected.segments:
            parts.append(f"{_count_text(len(selected.segments), 'segment')} not yet converted")
        parts.append(_count_text(scan_size([selected])["bytes"], "byte"))
        names = {condition.column for conditions in self.conditions for condition in conditions}
        if self.answered_files:
            parts.append(f"{_count_text(self.answered_files, 'file')} answered by the manifest")
        if len(selected.files) + self.answered_files < len(whole.files):
            chosen = sorted(column.name for column in self._columns if column.stored in names & selected.columns)
            parts.append(f"chosen by {', '.join(chosen)}")
        if selected.ranges:
            parts.append(_ranges_text(selected))
        if whole.has_files_outside:
            parts.append("its other files are outside of the time range")
        return ", ".join(parts)


def _count_text(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ranges_text(snapshot: Snapshot) -> str:
    files = [file for file in snapshot.files if file.path in snapshot.ranges]
    rows = sum(snapshot.rows_of(file) for file in files)
    whole = _count_text(sum(file.rows for file in files), "row")
    return f"by text indexes {rows} of {whole} of {_count_text(len(files), 'file')}"


def scan_size(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """How many files and segments, and how many bytes of them."""
    return {
        "files": sum(len(snapshot.files) + len(snapshot.segments) for snapshot in snapshots),
        "bytes": sum(snapshot.bytes_of(file) for snapshot in snapshots for file in snapshot.files)
        + sum(segment.size for snapshot in snapshots for segment in snapshot.segments),
    }
