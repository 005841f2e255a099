"""What is published of each dataset's files as an Iceberg table: its snapshots, its manifests, and where they are.

Only maintenance of the leading host writes here (storage/lake/publication.py).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import datetime
from typing import Any

from models.base import connection, database, snapshot_transaction
from models.file import HOUR_NS, PLAIN_NAMES, File
from models.outdated_file import OUTDATED

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file, with all statistics, as its table sees it. `snapshot` None: it is not in the table yet.

    `replaces`: its rows were in other files before. `replaced_by`: the file that has its rows now.
    """

    file: File
    snapshot: int | None = None
    sequence: int | None = None
    removed_at: datetime | None = None
    replaces: bool = False
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest of the current snapshot: the hours that it covers, and its entry in the manifest list."""

    path: str
    hours: str
    entry: Json


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot as table metadata list it. `first_removed_at`: of the files that went with it."""

    sequence: int
    snapshot: Json
    list_path: str
    first_removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A published table. `location`: where its metadata is; `as_of`: what had been converted then is in it."""

    dataset_id: int
    location: str
    sequence: int
    schemas: Sequence[Json]
    metadata_path: str
    metadata: str
    as_of: datetime
    columns_dropped: int = 0
    time_column: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """One publication: everything that changes in the database together."""

    table: Table
    snapshots: Sequence[Snapshot]
    expired: Sequence[Snapshot]
    added: Mapping[str, tuple[int, int]]
    removed: Mapping[str, int]
    manifests: Sequence[tuple[Manifest, int]]
    ended: Mapping[str, int]


@contextmanager
def moment() -> Iterator[datetime]:
    """Everything read in the block is of one moment, which it gives."""
    with snapshot_transaction():
        yield database.execute_sql("SELECT now()").fetchone()[0]


def changed() -> list[int]:
    """The datasets whose files are not as their tables have them, except those with outdated files: they wait."""
    with connection():
        rows = database.execute_sql(
            "SELECT id FROM dataset WHERE (EXISTS (SELECT 1 FROM file WHERE dataset_id = dataset.id"
            "  AND added_snapshot IS NULL AND removed_snapshot IS NULL)"
            " OR EXISTS (SELECT 1 FROM file WHERE dataset_id = dataset.id AND removed_at IS NOT NULL"
            "  AND added_snapshot IS NOT NULL AND removed_snapshot IS NULL)"
            " OR EXISTS (SELECT 1 FROM lake_table WHERE dataset_id = dataset.id"
            "  AND lake_table.columns_dropped <> dataset.columns_dropped))"
            f" AND id NOT IN (SELECT dataset_id FROM file WHERE path IN ({OUTDATED})) ORDER BY id"
        )
        return [dataset_id for (dataset_id,) in rows.fetchall()]


def has_outdated_files(dataset_id: int) -> bool:
    """Whether the dataset has files that other engines cannot read as today's, or without the times of their rows."""
    rows = database.execute_sql(
        f"SELECT EXISTS (SELECT 1 FROM file WHERE dataset_id = %s AND path IN ({OUTDATED}))"
        " OR EXISTS (SELECT 1 FROM file JOIN dataset ON dataset.id = dataset_id WHERE dataset_id = %s"
        "  AND times_from IS NOT NULL AND removed_at IS NULL AND NOT jsonb_exists(stats, time_stored))",
        (dataset_id, dataset_id),
    )
    return bool(rows.fetchone()[0])


def changed_files(dataset_id: int) -> list[TableFile]:
    """The files that are not as the table has them, by time."""
    return _files(
        "dataset_id = %s AND ((added_snapshot IS NULL AND removed_snapshot IS NULL)"
        " OR (removed_at IS NOT NULL AND added_snapshot IS NOT NULL AND removed_snapshot IS NULL))",
        (dataset_id,),
    )


def published_files(dataset_id: int, first_hour: int, hours: int) -> list[TableFile]:
    """The files of these hours (since 1970, UTC) that the table has, by time."""
    return _files(
        "dataset_id = %s AND tmin >= %s AND tmin < %s AND added_snapshot IS NOT NULL AND removed_snapshot IS NULL",
        (dataset_id, first_hour * HOUR_NS, (first_hour + hours) * HOUR_NS),
    )


def _files(condition: str, values: Sequence[object]) -> list[TableFile]:
    rows = database.execute_sql(
        "SELECT added_snapshot, added_sequence, removed_at, replaces, replaced_by, stats, "
        f"{PLAIN_NAMES} FROM file WHERE {condition} ORDER BY tmin, path",
        values,
    )
    return [TableFile(replaced(File(*plain), stats=stats), *own) for *own, stats, plain in map(_split, rows.fetchall())]


def _split(row: Sequence[Any]) -> tuple[Any, ...]:
    return (*row[:6], row[6:])


def find(dataset_id: int) -> Table | None:
    """The dataset's table, if it is published."""
    with connection():
        row = database.execute_sql(
            "SELECT dataset_id, location, sequence, schemas, metadata_path, metadata, as_of, columns_dropped,"
            " time_column FROM lake_table WHERE dataset_id = %s",
            (dataset_id,),
        ).fetchone()
        return None if row is None else Table(*row)


def is_current(dataset_id: int) -> bool:
    """Whether the table has all files that the manifest has, and its dataset goes by the same time and columns."""
    with connection():
        rows = database.execute_sql(
            "SELECT NOT EXISTS (SELECT 1 FROM file WHERE dataset_id = %s AND added_snapshot IS NULL"
            "  AND removed_snapshot IS NULL)"
            " AND NOT EXISTS (SELECT 1 FROM file WHERE dataset_id = %s AND removed_at IS NOT NULL"
            "  AND added_snapshot IS NOT NULL AND removed_snapshot IS NULL)"
            " AND EXISTS (SELECT 1 FROM dataset JOIN lake_table ON dataset.id = dataset_id WHERE dataset_id = %s"
            "  AND dataset.time_column = lake_table.time_column"
            "  AND dataset.columns_dropped = lake_table.columns_dropped)",
            (dataset_id, dataset_id, dataset_id),
        )
        return bool(rows.fetchone()[0])


def snapshots(dataset_id: int) -> list[Snapshot]:
    """The snapshots that are kept, oldest first."""
    rows = database.execute_sql(
        "SELECT sequence, snapshot, list_path, first_removed_at FROM lake_snapshot WHERE dataset_id = %s"
        " ORDER BY sequence",
        (dataset_id,),
    )
    return [Snapshot(*row) for row in rows.fetchall()]


def manifests(dataset_id: int) -> list[Manifest]:
    """The manifests of the current snapshot."""
    rows = database.execute_sql(
        "SELECT path, hours, entry FROM lake_manifest WHERE dataset_id = %s AND until IS NULL ORDER BY path",
        (dataset_id,),
    )
    return [Manifest(*row) for row in rows.fetchall()]


def announce(paths: Sequence[str]) -> None:
    """These metadata files are about to be written. Until a publication refers to them they are garbage."""
    with connection():
        database.execute_sql(
            "INSERT INTO lake_garbage (path) SELECT unnest(%s::text[]) ON CONFLICT (path) DO UPDATE SET since = now()",
            (list(paths),),
        )


def commit(done: Commit) -> None:
    """Make the publication the table. Raises StorageUnavailable."""
    table = done.table
    with connection(), database.atomic():
        _replace_table(table)
        _mark(done.added, done.removed)
        oldest = min((each.sequence for each in done.snapshots), default=0)
        _keep_snapshots(table.dataset_id, done.snapshots, oldest)
        _keep_manifests(done, oldest)
        used = [table.metadata_path, *(each.list_path for each in done.snapshots)]
        used += [each.path for each, _ in done.manifests]
        database.execute_sql("DELETE FROM lake_garbage WHERE path = ANY(%s)", (used,))
        _discard([each.list_path for each in done.expired])


def _replace_table(table: Table) -> None:
    before = database.execute_sql(
        "SELECT metadata_path FROM lake_table WHERE dataset_id = %s FOR UPDATE", (table.dataset_id,)
    ).fetchone()
    database.execute_sql(
        "INSERT INTO lake_table"
        " (dataset_id, location, sequence, schemas, metadata_path, metadata, as_of, columns_dropped, time_column)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (dataset_id) DO UPDATE SET location = excluded.location,"
        " sequence = excluded.sequence, schemas = excluded.schemas, metadata_path = excluded.metadata_path,"
        " metadata = excluded.metadata, as_of = excluded.as_of, columns_dropped = excluded.columns_dropped,"
        " time_column = excluded.time_column",
        (
            table.dataset_id,
            table.location,
            table.sequence,
            json.dumps(list(table.schemas)),
            table.metadata_path,
            table.metadata,
            table.as_of,
            table.columns_dropped,
            table.time_column,
        ),
    )
    _discard([path for (path,) in [before] if before] if before else [])


def _mark(added: Mapping[str, tuple[int, int]], removed: Mapping[str, int]) -> None:
    database.execute_sql(
        "UPDATE file SET added_snapshot = said.snapshot, added_sequence = said.sequence"
        " FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS said (path, snapshot, sequence)"
        " WHERE file.path = said.path",
        (list(added), [snapshot for snapshot, _ in added.values()], [sequence for _, sequence in added.values()]),
    )
    database.execute_sql(
        "UPDATE file SET removed_snapshot = said.snapshot"
        " FROM unnest(%s::text[], %s::bigint[]) AS said (path, snapshot) WHERE file.path = said.path",
        (list(removed), list(removed.values())),
    )


def _keep_snapshots(dataset_id: int, kept: Sequence[Snapshot], oldest: int) -> None:
    database.execute_sql("DELETE FROM lake_snapshot WHERE dataset_id = %s AND sequence < %s", (dataset_id, oldest))
    for each in kept:
        database.execute_sql(
            "INSERT INTO lake_snapshot (dataset_id, sequence, snapshot, list_path, first_removed_at)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (dataset_id, each.sequence, json.dumps(each.snapshot), each.list_path, each.first_removed_at),
        )


def _keep_manifests(done: Commit, oldest: int) -> None:
    dataset_id = done.table.dataset_id
    for each, first in done.manifests:
        database.execute_sql(
            "INSERT INTO lake_manifest (dataset_id, path, hours, first, until, entry) VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (dataset_id, path) DO UPDATE SET first = least(lake_manifest.first, excluded.first),"
            " until = excluded.until, entry = excluded.entry",
            (dataset_id, each.path, each.hours, first, done.ended.get(each.path), json.dumps(each.entry)),
        )
    for path, until in done.ended.items():
        database.execute_sql(
            "UPDATE lake_manifest SET until = %s WHERE dataset_id = %s AND path = %s", (until, dataset_id, path)
        )
    gone = database.execute_sql(
        "DELETE FROM lake_manifest WHERE dataset_id = %s AND until <= %s RETURNING path", (dataset_id, oldest)
    )
    _discard([path for (path,) in gone.fetchall()])


def _discard(paths: Sequence[str]) -> None:
    database.execute_sql(
        "INSERT INTO lake_garbage (path) SELECT unnest(%s::text[]) ON CONFLICT (path) DO UPDATE SET since = now()",
        (list(paths),),
    )


def abandoned(location: str) -> list[int]:
    """The datasets of tables that are somewhere else than below the location, or that go by another time or are gone.

    A table's partitions are of the time that its dataset went by.
    """
    with connection():
        rows = database.execute_sql(
            "SELECT dataset_id FROM lake_table WHERE NOT starts_with(location, %s)"
            " OR NOT EXISTS (SELECT 1 FROM dataset"
            "  WHERE id = dataset_id AND dataset.time_column = lake_table.time_column)",
            (location,),
        )
        return [dataset_id for (dataset_id,) in rows.fetchall()]


def tables() -> list[tuple[int, str]]:
    """The dataset of each table and the path of its metadata."""
    with connection():
        return list(database.execute_sql("SELECT dataset_id, metadata_path FROM lake_table").fetchall())


def withdraw(dataset_id: int) -> None:
    """The table is published no more. If it is published again, it begins anew."""
    with connection(), database.atomic():
        for table, column in (
            ("lake_table", "metadata_path"),
            ("lake_snapshot", "list_path"),
            ("lake_manifest", "path"),
        ):
            gone = database.execute_sql(f"DELETE FROM {table} WHERE dataset_id = %s RETURNING {column}", (dataset_id,))
            _discard([path for (path,) in gone.fetchall()])
        database.execute_sql(
            "UPDATE file SET added_snapshot = NULL, added_sequence = NULL, removed_snapshot = NULL"
            " WHERE dataset_id = %s AND (added_snapshot IS NOT NULL OR removed_snapshot IS NOT NULL)",
            (dataset_id,),
        )


def garbage(before: datetime, most: int) -> list[str]:
    """At most so many metadata files that nothing refers to since then."""
    with connection():
        rows = database.execute_sql("SELECT path FROM lake_garbage WHERE since < %s LIMIT %s", (before, most))
        return [path for (path,) in rows.fetchall()]


def forget_garbage(paths: Sequence[str]) -> None:
    """They are gone from disk."""
    with connection():
        database.execute_sql("DELETE FROM lake_garbage WHERE path = ANY(%s)", (list(paths),))
