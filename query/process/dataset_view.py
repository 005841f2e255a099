"""A dataset as one statement sees it: which columns, which of its files, and what EXPLAIN tells of that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from columns import POLARS_TYPES, ColumnType
from query.plan.conditions import Conditions
from query.plan.environment import Schema, schema_of
from query.process.messages import Source
from storage.read.snapshot import Column, Snapshot


@dataclass(frozen=True, slots=True)
class DatasetView:
    """A dataset as one statement sees it: of `source` the columns `visible`, and rows for `conditions` of its scans.

    Above the binder a column has the name that it was sent under; here, in conditions and below, the stored one.
    """

    source: Source
    visible: frozenset[str]
    conditions: tuple[Conditions, ...] = ()

    @property
    def schema(self) -> Schema:
        """What the binder knows of it."""
        columns = [(each.name, POLARS_TYPES[each.type]) for each in self._columns]
        return replace(schema_of(columns, self._json_names), stored=tuple(self.columns))

    @property
    def part(self) -> Snapshot:
        """Of the source's snapshot what is in the time range."""
        whole, start, end = self.source.snapshot, self.source.start_ns, self.source.end_ns
        return whole if self.source.only is None else whole.within(start, end)

    @property
    def snapshot(self) -> Snapshot:
        """What is to be read for it."""
        return self.part.relevant(self.conditions)

    @property
    def columns(self) -> list[str]:
        return [each.stored for each in self._columns]

    @property
    def json_columns(self) -> frozenset[str]:
        return frozenset(each.stored for each in self._columns if each.type is ColumnType.JSON)

    @property
    def _json_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self._columns if each.type is ColumnType.JSON)

    @property
    def _columns(self) -> list[Column]:
        return [each for each in self.source.snapshot.schema.columns if each.stored in self.visible]

    @property
    def told(self) -> str:
        """What EXPLAIN says of it. Sizes would tell a narrowed reader of rows that are not theirs."""
        if self.source.only is not None:
            return "the rows that you may see"
        read, whole = self.snapshot, self.source.snapshot
        parts = [f"{len(read.files)} of {_counted(len(whole.files), 'file')}"]
        if read.segments:
            parts.append(f"{_counted(len(read.segments), 'segment')} not yet converted")
        parts.append(_counted(scanned([read])["bytes"], "byte"))
        names = {each.column for conditions in self.conditions for each in conditions}
        if len(read.files) < len(whole.files):
            chosen = sorted(each.name for each in self._columns if each.stored in names & read.columns)
            parts.append(f"chosen by {', '.join(chosen)}")
        if whole.has_files_outside:
            parts.append("its other files are outside of the time range")
        return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def scanned(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """How many files and segments, and how many bytes of them."""
    return {
        "files": sum(len(each.files) + len(each.segments) for each in snapshots),
        "bytes": sum(part.bytes for each in snapshots for part in each.files)
        + sum(part.size for each in snapshots for part in each.segments),
    }
