"""How big every dataset is, in one look at the manifest."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.base import connection, database


@dataclass(frozen=True, slots=True)
class Size:
    """What a dataset has in live Parquet files."""

    tenant: str
    dataset: str
    files: int
    rows: int
    bytes: int


def largest(most: int) -> list[Size]:
    """The datasets by their bytes on disk, at most so many."""
    with connection():
        rows = database.execute_sql(
            "SELECT dataset.tenant, dataset.name, count(file.path), coalesce(sum(file.rows), 0)::bigint,"
            " coalesce(sum(file.bytes), 0)::bigint AS bytes"
            " FROM dataset LEFT JOIN file ON file.dataset_id = dataset.id AND file.removed_at IS NULL"
            " GROUP BY dataset.id ORDER BY bytes DESC, dataset.id LIMIT %s",
            (most,),
        )
        return [Size(*row) for row in rows.fetchall()]


@dataclass(frozen=True, slots=True)
class Entry:
    """A live file as the manifest has it."""

    path: str
    rows: int
    bytes: int


def live() -> list[Entry]:
    """Every live file."""
    with connection():
        rows = database.execute_sql("SELECT path, rows, bytes FROM file WHERE removed_at IS NULL ORDER BY path")
        return [Entry(*row) for row in rows.fetchall()]


def removed() -> set[str]:
    """The files that are removed and may still be on disk."""
    with connection():
        rows = database.execute_sql("SELECT path FROM file WHERE removed_at IS NOT NULL")
        return {path for (path,) in rows.fetchall()}


def give_up(paths: Sequence[str]) -> int:
    """Take files out of the manifest whose events are lost, so that queries do not stumble; return how many."""
    with connection():
        rows = database.execute_sql(
            "UPDATE file SET removed_at = now() WHERE path = ANY(%s) AND removed_at IS NULL RETURNING path",
            (list(paths),),
        )
        return len(rows.fetchall())
