"""Publication: a dataset's files, as one snapshot of PostgreSQL has them, become the newest snapshots of its table.

There is no second commit protocol. Metadata files are written first, under names that nobody knows; then one
transaction makes them the table. A manifest covers an hour, or a day that is past, and is written again only when its
files change. The process may be killed between any two steps: what is not committed is garbage, and is swept.
"""

import hashlib
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from secrets import randbits
from typing import Final

from models import column, dataset, lake
from models.dataset import Dataset
from models.file import HOUR_NS
from models.lake import Commit, Manifest, Snapshot, Table, TableFile
from storage.context import Layout
from storage.lake import manifests, metadata_files
from storage.lake.lineage import Step, passed_by, steps
from storage.lake.manifests import Entry, Status
from storage.lake.table_metadata import (
    Definition,
    document,
    encoded,
    kept,
    milliseconds,
    needed_schemas,
    next_schemas,
    snapshot_json,
)
from storage.lake.table_schema import Json, partition_fields
from storage.names import unique

logger = logging.getLogger(__name__)

# Metadata that nobody refers to any more stays as long as a removed file, and at least so long.
GARBAGE_SECONDS: Final = 600.0
MOST_SWEPT: Final = 1000
# Files of a snapshot that is listed stay on disk for at least so long after somebody was told of it.
MARGIN: Final = timedelta(seconds=60)
DAY_HOURS: Final = 24
_SNAPSHOT_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a table and its dataset at one moment, which `as_of` is."""

    definition: Definition
    as_of: datetime
    table: Table | None
    snapshots: Sequence[Snapshot]
    manifests: Sequence[Manifest]
    changed: Sequence[TableFile]

    @property
    def differs(self) -> bool:
        """Whether the table is not as the dataset is: its files, or that a column of it was dropped."""
        is_dropped = self.table is not None and self.table.columns_dropped != self.definition.target.columns_dropped
        return bool(self.changed) or is_dropped


@dataclass(slots=True)
class Draft:
    """A publication under way: the table as it will be, and the files that have to be written for it."""

    state: State
    layout: manifests.Layout
    path: str
    manifests: dict[str, Manifest]
    contents: dict[str, dict[str, TableFile]]
    snapshots: list[Snapshot]
    written: dict[str, bytes] = field(default_factory=dict)
    added: dict[str, tuple[int, int]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    made: dict[str, tuple[Manifest, int]] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)


def publish_all(layout: Layout, grace_seconds: float) -> None:
    """Publish every dataset that has changed. Raises StorageUnavailable, OSError."""
    for dataset_id in lake.abandoned(f"{metadata_files.base_location(layout)}/"):
        lake.withdraw(dataset_id)
    for dataset_id in lake.changed():
        publish(layout, dataset_id, grace_seconds)


def publish(layout: Layout, dataset_id: int, grace_seconds: float) -> bool:
    """Publish the dataset as it is now; False: there is nothing new, or a file has to be rewritten first."""
    state = _state(layout, dataset_id)
    if state is None or not state.differs:
        return False
    draft = _draft(layout, state)
    planned = steps(state.changed, is_first=state.table is None)
    draft.removed |= {each.file.path: 0 for each in passed_by(state.changed, planned)}
    for step in planned:
        _take(draft, step)
    commit = _commit(draft, timedelta(seconds=grace_seconds) - MARGIN)
    lake.announce(list(draft.written))
    metadata_files.put(layout, draft.written)
    lake.commit(commit)
    logger.debug("published %d snapshots of dataset %d", len(planned), dataset_id)
    return True


def _state(layout: Layout, dataset_id: int) -> State | None:
    with lake.moment() as as_of:
        targets = dataset.find_many([dataset_id])
        if not targets or lake.has_outdated_files(dataset_id):
            return None
        table = lake.find(dataset_id)
        return State(
            define(layout, targets[0]),
            as_of,
            table,
            lake.snapshots(dataset_id),
            lake.manifests(dataset_id),
            lake.changed_files(dataset_id),
        )


def define(layout: Layout, target: Dataset) -> Definition:
    """The table of the dataset, as far as its files do not matter."""
    location = f"{metadata_files.base_location(layout)}/{metadata_files.table_path(target)}"
    return Definition(target, column.schema(target.id), column.dropped(target.id), location)


def _draft(layout: Layout, state: State) -> Draft:
    """The table as it is, with the files of every hour or day that will change."""
    definition = state.definition
    target, schema = definition.target, definition.schema
    today = milliseconds(state.as_of) // 86_400_000
    changed_hours = {hours_of(each.file.tmin, today) for each in state.changed}
    past = {each.hours for each in state.manifests if _covering(each.hours, today) != each.hours}
    changed_hours |= {_covering(each, today) for each in past}
    # What is published changes by us alone, so this may be another moment.
    with lake.moment():
        contents = {
            hours: {each.file.path: each for each in lake.published_files(target.id, *_span(hours))}
            for hours in changed_hours
        }
    schemas = next_schemas(state.table.schemas if state.table else (), schema)
    base = definition.location.removesuffix(f"/{metadata_files.table_path(target)}")
    return Draft(
        state,
        manifests.Layout(schema, schemas[-1], partition_fields(target, schema), base),
        metadata_files.table_path(target),
        {each.hours: each for each in state.manifests},
        contents,
        list(state.snapshots),
    )


def hours_of(tmin: int, today: int) -> str:
    """What the manifest of a file of that time covers: its hour, or its day if that is before yesterday.

    >>> hours_of(49 * 3_600_000_000_000, 3), hours_of(30 * 3_600_000_000_000, 3)
    ('49+1', '24+24')
    """
    hour = tmin // HOUR_NS
    day = hour // DAY_HOURS
    return f"{hour}+1" if day >= today - 1 else f"{day * DAY_HOURS}+{DAY_HOURS}"


def _span(hours: str) -> tuple[int, int]:
    first, _, count = hours.partition("+")
    return int(first), int(count)


def _covering(hours: str, today: int) -> str:
    """What covers these hours today."""
    return hours_of(_span(hours)[0] * HOUR_NS, today)


def _take(draft: Draft, step: Step) -> None:
    """Add the snapshot that does the step."""
    before = draft.snapshots[-1] if draft.snapshots else None
    sequence = 1 + (before.sequence if before else 0)
    snapshot = 1 + randbits(_SNAPSHOT_BITS)
    today = milliseconds(draft.state.as_of) // 86_400_000
    added = _by_hours(step.added, today)
    touched = added.keys() | _by_hours(step.removed, today).keys()
    # Hours of a day that is past become one manifest, with whatever is published next.
    touched |= {_covering(hours, today) for hours in draft.manifests} - draft.manifests.keys()
    _end_empty(draft, sequence)
    removed = {each.file.path for each in step.removed}
    for hours in sorted(touched):
        _write_manifest(draft, hours, added.get(hours, []), removed, (snapshot, sequence), today)
    _mark(draft, step, snapshot, sequence)
    content = manifests.manifest_list(
        [each.entry for each in draft.manifests.values()], snapshot, _id(before), sequence
    )
    list_path = f"{draft.path}/snap-{sequence}-{unique()}.avro"
    draft.written[list_path] = content
    at_ms = max(milliseconds(draft.state.as_of), before.snapshot["timestamp-ms"] if before else 0)
    described = snapshot_json(
        snapshot,
        _id(before),
        at_ms,
        f"{draft.layout.data_location}/{list_path}",
        draft.layout.schema_json["schema-id"],
        summary(step, [each.entry for each in draft.manifests.values()]),
    )
    removed_at = min((each.removed_at for each in step.removed if each.removed_at is not None), default=None)
    draft.snapshots.append(Snapshot(sequence, described, list_path, removed_at))


def _id(snapshot: Snapshot | None) -> int | None:
    return None if snapshot is None else int(snapshot.snapshot["snapshot-id"])


def _end_empty(draft: Draft, sequence: int) -> None:
    """Manifests that tell only of files that went with an earlier snapshot."""
    for hours, each in list(draft.manifests.items()):
        if not each.entry["added_files_count"] + each.entry["existing_files_count"]:
            draft.ended[each.path] = sequence
            del draft.manifests[hours]


def _by_hours(files: Iterable[TableFile], today: int) -> dict[str, list[TableFile]]:
    found: dict[str, list[TableFile]] = {}
    for each in files:
        found.setdefault(hours_of(each.file.tmin, today), []).append(each)
    return found


def _write_manifest(
    draft: Draft, hours: str, added: Sequence[TableFile], removed: Collection[str], number: tuple[int, int], today: int
) -> None:
    """The manifest of these hours in the snapshot of that id and sequence number."""
    snapshot, sequence = number
    live = draft.contents.setdefault(hours, {})
    gone = [live.pop(path) for path in live.keys() & removed]
    entries = [_existing(each) for each in live.values()]
    entries += [Entry(Status.ADDED, each, snapshot, sequence) for each in added]
    entries += [Entry(Status.DELETED, each, snapshot, each.sequence or 0) for each in gone]
    live |= {each.file.path: replace(each, snapshot=snapshot, sequence=sequence) for each in added}
    for replaced in [key for key in draft.manifests if _covering(key, today) == hours]:
        draft.ended[draft.manifests.pop(replaced).path] = sequence
    if entries:
        content = manifests.manifest(sorted(entries, key=_order), draft.layout)
        path = f"{draft.path}/m-{hours.replace('+', '-')}-{hashlib.sha256(content).hexdigest()[:32]}.avro"
        location = f"{draft.layout.data_location}/{path}"
        entry = manifests.list_entry(entries, location, len(content), sequence, snapshot, draft.layout)
        entry["live_bytes"] = sum(each.file.bytes for each in live.values())
        draft.written[path] = content
        draft.manifests[hours] = Manifest(path, hours, entry)
        draft.made[path] = draft.manifests[hours], sequence


def _existing(each: TableFile) -> Entry:
    return Entry(Status.EXISTING, each, each.snapshot or 0, each.sequence or 0)


def _order(entry: Entry) -> tuple[int, str]:
    return entry.file.file.tmin, entry.file.file.path


def _mark(draft: Draft, step: Step, snapshot: int, sequence: int) -> None:
    draft.added |= {each.file.path: (snapshot, sequence) for each in step.added}
    draft.removed |= {each.file.path: snapshot for each in step.removed}


def summary(step: Step, entries: Iterable[Json]) -> dict[str, str]:
    """What a snapshot did, and what is in the table since (Iceberg spec, "Optional Snapshot Summary Fields")."""
    listed = list(entries)
    counts = {
        "added-data-files": len(step.added),
        "added-records": sum(each.file.rows for each in step.added),
        "added-files-size": sum(each.file.bytes for each in step.added),
        "deleted-data-files": len(step.removed),
        "deleted-records": sum(each.file.rows for each in step.removed),
        "removed-files-size": sum(each.file.bytes for each in step.removed),
        "total-data-files": sum(each["added_files_count"] + each["existing_files_count"] for each in listed),
        "total-records": sum(each["added_rows_count"] + each["existing_rows_count"] for each in listed),
        "total-files-size": sum(each["live_bytes"] for each in listed),
        "total-delete-files": 0,
        "total-position-deletes": 0,
        "total-equality-deletes": 0,
    }
    return {"operation": step.operation.value} | {name: str(count) for name, count in counts.items()}


def _commit(draft: Draft, grace: timedelta) -> Commit:
    state, definition = draft.state, draft.state.definition
    listed = kept(draft.snapshots, state.as_of, grace)
    known = [*(state.table.schemas if state.table else ()), draft.layout.schema_json]
    schemas = needed_schemas(list({each["schema-id"]: each for each in known}.values()), listed)
    metadata = encoded(document(definition, schemas, listed, state.as_of))
    path = f"{draft.path}/{listed[-1].sequence if listed else 0:05}-{unique()}.metadata.json"
    draft.written[path] = metadata
    table = Table(
        definition.target.id,
        definition.location,
        draft.snapshots[-1].sequence if draft.snapshots else 0,
        schemas,
        path,
        metadata.decode(),
        state.as_of,
        definition.target.columns_dropped,
        definition.target.time_column,
    )
    expired = [each for each in draft.snapshots if each not in listed]
    return Commit(table, listed, expired, draft.added, draft.removed, list(draft.made.values()), draft.ended)


def tend(layout: Layout) -> None:
    """Withdraw tables whose metadata is not here, as after a backup was restored. Raises StorageUnavailable."""
    for dataset_id in [number for number, path in lake.tables() if not metadata_files.exists(layout, path)]:
        lake.withdraw(dataset_id)


def withdraw_all() -> None:
    """Publish nothing any more."""
    for dataset_id, _ in lake.tables():
        lake.withdraw(dataset_id)


def sweep_metadata(layout: Layout, grace_seconds: float, *, now: datetime | None = None) -> int:
    """Delete metadata files that nothing has referred to for longer than the grace; return how many."""
    before = (now or datetime.now(UTC)) - timedelta(seconds=max(grace_seconds, GARBAGE_SECONDS))
    paths = lake.garbage(before, MOST_SWEPT)
    if paths:
        metadata_files.remove(layout, paths)
        lake.forget_garbage(paths)
    return len(paths)
