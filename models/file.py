"""The manifest: which Parquet files hold a dataset's events, and until when a removed one stays on disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import datetime
from typing import Any, Final

from peewee import BigIntegerField, BooleanField, IntegerField, ModelSelect, SmallIntegerField, TextField
from playhouse.postgres_ext import BinaryJSONField, DateTimeTZField

from models.base import Table, connection, database
from models.values.file import HOUR_NS as HOUR_NS
from models.values.file import Bounds as Bounds
from models.values.file import File as File


class FileRow(Table):
    path = TextField(primary_key=True)
    dataset_id = BigIntegerField()
    tmin = BigIntegerField()
    tmax = BigIntegerField()
    rows = BigIntegerField()
    bytes = BigIntegerField()
    body_bytes = BigIntegerField()
    level = SmallIntegerField()
    format = SmallIntegerField()
    widened = IntegerField()
    index_start = BigIntegerField()
    index_bytes = BigIntegerField()
    stats = BinaryJSONField()
    created_at = DateTimeTZField()
    removed_at = DateTimeTZField(null=True)
    replaces = BooleanField(default=False)
    replaced_by = TextField(null=True)

    class Meta:
        table_name = "file"


PLAIN: Final = (
    FileRow.path,
    FileRow.dataset_id,
    FileRow.tmin,
    FileRow.tmax,
    FileRow.rows,
    FileRow.bytes,
    FileRow.body_bytes,
    FileRow.level,
    FileRow.format,
    FileRow.widened,
    FileRow.index_start,
    FileRow.index_bytes,
)
PLAIN_NAMES: Final = ", ".join(each.column_name for each in PLAIN)


@dataclass(frozen=True, slots=True)
class CompactionCandidate:
    """Small live files of one directory and level. `newest`: when the last of them was made.

    `first`, `last`: the least and greatest time that one of them begins at, ns since 1970.
    """

    dataset_id: int
    directory: str
    level: int
    count: int
    newest: datetime
    first: int = 0
    last: int = 0


def insert(files: Sequence[File], now: datetime, *, replaces: bool = False) -> None:
    """Make the files live. Call it inside the transaction that removes their events from where they were.

    `replaces`: these events were in other files before.
    """
    for file in files:
        FileRow.create(
            path=file.path,
            dataset_id=file.dataset_id,
            tmin=file.tmin,
            tmax=file.tmax,
            rows=file.rows,
            bytes=file.bytes,
            body_bytes=file.body_bytes,
            level=file.level,
            format=file.format,
            widened=file.widened,
            index_start=file.index_start,
            index_bytes=file.index_bytes,
            stats=file.stats,
            replaces=replaces,
            created_at=now,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which live files are wanted: those that may hold events of the dataset in `[start, end)` (ns since 1970; None:
    unbounded), with the statistics of `columns`. Of files that lack the column `lacking` the times are not known."""

    dataset_id: int
    start: int | None
    end: int | None
    columns: Sequence[str] = ()
    lacking: str | None = None

    @property
    def statement(self) -> tuple[str, list[str | int]]:
        """`SELECT` of what `from_row` reads, with its values.

        Written out, because every query comes by here, and Peewee takes longer to write it than PostgreSQL to answer.
        """
        in_range, bounds = "true", list[str | int]()
        if self.start is not None:
            # No file spans two hours, which bounds tmin from below too and keeps this one short index range.
            in_range += " AND tmax >= %s AND tmin >= %s"
            bounds += [self.start, self.start - HOUR_NS]
        if self.end is not None:
            in_range += " AND tmin < %s"
            bounds.append(self.end)
        if self.lacking is not None:
            in_range = f"({in_range} OR NOT jsonb_exists(stats, %s))"
            bounds.append(self.lacking)
        statistics = ", jsonb_extract_path(stats, %s)" * len(self.columns)
        condition = f"dataset_id = %s AND removed_at IS NULL AND {in_range}"
        return f"SELECT {PLAIN_NAMES}{statistics} FROM file WHERE {condition}", [
            *self.columns,
            self.dataset_id,
            *bounds,
        ]

    @property
    def width(self) -> int:
        """How many columns it selects."""
        return len(PLAIN) + len(self.columns)

    def from_row(self, row: Sequence[Any]) -> File:
        """The file of a row of the statement, which may have more behind it."""
        statistics = zip(self.columns, row[len(PLAIN) :], strict=False)
        # A file that lacks the column has no bounds for it.
        return File(*(*row[: len(PLAIN)], {name: tuple(bounds) for name, bounds in statistics if bounds}))


def find(
    dataset_id: int, start: int | None, end: int | None, columns: Sequence[str] = (), lacking: str | None = None
) -> list[File]:
    """The live files of a selection, by time."""
    wanted = Selection(dataset_id, start, end, columns, lacking)
    statement, values = wanted.statement
    with connection():
        rows = database.execute_sql(f"{statement} ORDER BY tmin, path", values)
        return [wanted.from_row(row) for row in rows.fetchall()]


def is_any_live(dataset_id: int) -> bool:
    """True when the dataset has a file of whatever time."""
    with connection():
        condition = (FileRow.dataset_id == dataset_id) & FileRow.removed_at.is_null()
        return bool(FileRow.select().where(condition).exists())


def _tuples(query: "ModelSelect[FileRow]") -> Iterator[tuple[Any, ...]]:
    return iter(query.tuples())


def compaction_candidates(smaller_than_bytes: int) -> list[CompactionCandidate]:
    """The directories and levels with two or more live files that are smaller than that, fullest first."""
    with connection():
        rows = database.execute_sql(
            # Most files are alone in their hour for good; the paths of the others only are looked at.
            "WITH small AS NOT MATERIALIZED (SELECT * FROM file WHERE removed_at IS NULL AND bytes < %s), crowded AS ("
            " SELECT dataset_id, tmin / %s AS hour, level FROM small GROUP BY 1, 2, 3 HAVING count(*) > 1)"
            " SELECT small.dataset_id, regexp_replace(path, '/[^/]*$', '') AS directory, small.level, count(*),"
            " max(created_at), min(tmin), max(tmin) FROM small JOIN crowded ON crowded.dataset_id = small.dataset_id"
            " AND crowded.hour = small.tmin / %s AND crowded.level = small.level"
            " GROUP BY 1, 2, 3 HAVING count(*) > 1 ORDER BY 4 DESC, 2",
            (smaller_than_bytes, HOUR_NS, HOUR_NS),
        )
        return [CompactionCandidate(*row) for row in rows.fetchall()]


def candidate_files(candidate: CompactionCandidate, smaller_than_bytes: int) -> list[File]:
    """The live files of the candidate's directory, of any level, smaller than that, by time, with all statistics.

    Files of directories below it do not count.
    """
    with connection():
        query = (
            FileRow.select(*PLAIN, FileRow.stats)
            .where(
                (FileRow.dataset_id == candidate.dataset_id)
                & FileRow.removed_at.is_null()
                & FileRow.tmin.between(candidate.first - HOUR_NS, candidate.last + HOUR_NS)
                & (FileRow.bytes < smaller_than_bytes)
            )
            .order_by(FileRow.tmin, FileRow.path)
        )
        files = [replaced(File(*row[:-1]), stats=row[-1]) for row in _tuples(query)]
    return [each for each in files if each.directory == candidate.directory]


def lacking(dataset_id: int, name: str, most: int) -> list[File]:
    """Live files in which no row has the stored column, the largest first, at most so many, with all statistics."""
    with connection():
        rows = database.execute_sql(
            f"SELECT {PLAIN_NAMES}, stats FROM file WHERE dataset_id = %s AND removed_at IS NULL"
            " AND NOT jsonb_exists(stats, %s) ORDER BY bytes DESC, path LIMIT %s",
            (dataset_id, name, most),
        )
        return [replaced(File(*row[:-1]), stats=row[-1]) for row in rows.fetchall()]


def replace(old: Sequence[File], new: Sequence[File], now: datetime) -> bool:
    """Put `new`, at least one, in the place of `old`, in one transaction.

    False: one of them is not live any more; nothing changed.
    """
    with connection(), database.atomic() as transaction:
        removed = (
            FileRow.update(removed_at=now, replaced_by=new[0].path)
            .where(FileRow.path.in_([each.path for each in old]) & FileRow.removed_at.is_null())
            .execute()
        )
        if removed != len(old):
            transaction.rollback()
            return False
        insert(new, now, replaces=True)
        return True


def expire(dataset_id: int, before: int, now: datetime) -> int:
    """Remove the dataset's files whose every event is older than `before` (ns since 1970); return how many."""
    with connection(), database.atomic():
        removed = database.execute_sql(
            "UPDATE file SET removed_at = %s WHERE dataset_id = %s AND removed_at IS NULL AND tmax < %s"
            " RETURNING bytes",
            (now, dataset_id, before),
        ).fetchall()
        if removed:
            database.execute_sql(
                "UPDATE dataset_total SET deleted_stored_bytes = deleted_stored_bytes + %s WHERE dataset_id = %s",
                (sum(size for (size,) in removed), dataset_id),
            )
        return len(removed)


def removed_before(moment: datetime, most: int) -> list[str]:
    """The paths of files that were removed before `moment` and may still be on disk, at most so many."""
    with connection():
        return [row.path for row in FileRow.select(FileRow.path).where(FileRow.removed_at < moment).limit(most)]


def forget(paths: Sequence[str]) -> None:
    """Drop the rows of files that are gone from disk, unless a table still lists them."""
    with connection():
        database.execute_sql(
            'DELETE FROM "file" WHERE path = ANY(%s) AND removed_at IS NOT NULL'
            " AND (added_snapshot IS NULL OR removed_snapshot IS NOT NULL"
            " OR dataset_id NOT IN (SELECT dataset_id FROM lake_table))",
            (list(paths),),
        )


def known(paths: Sequence[str]) -> set[str]:
    """The paths among these that the manifest has, live or removed."""
    with connection():
        return {row.path for row in FileRow.select(FileRow.path).where(FileRow.path.in_(list(paths)))}
