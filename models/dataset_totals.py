"""The totals of datasets: events and bytes that were ever ingested, that Parquet files hold, and that were deleted."""

from dataclasses import dataclass

from models.base import connection, database


@dataclass(frozen=True, slots=True)
class Total:
    """Of one dataset, at one moment: events and bytes of their bodies ever ingested and still there; bytes stored, and
    those of them that are text indexes.

    `first` and `last`: the earliest and latest event still there, ns since 1970; None without events.
    """

    ingested_events: int
    ingested_body_bytes: int
    deleted_stored_bytes: int
    events: int
    body_bytes: int
    stored_bytes: int
    index_bytes: int
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """Of one dataset and day: events, bytes of their bodies, bytes stored; all of what is still there."""

    events: int
    body_bytes: int
    stored_bytes: int


def total(dataset_id: int) -> Total:
    """The dataset's total. Call it in the transaction that also says which segments are converted."""
    with connection():
        ingested = database.execute_sql(
            "SELECT events, body_bytes, deleted_stored_bytes FROM dataset_total WHERE dataset_id = %s", (dataset_id,)
        ).fetchone()
        present = database.execute_sql(
            "SELECT coalesce(sum(rows), 0)::bigint, coalesce(sum(body_bytes), 0)::bigint,"
            " coalesce(sum(bytes), 0)::bigint, coalesce(sum(index_bytes), 0)::bigint, min(tmin), max(tmax)"
            " FROM file WHERE dataset_id = %s AND removed_at IS NULL",
            (dataset_id,),
        ).fetchone()
    return Total(*(ingested or (0, 0, 0)), *present)


def between(dataset_id: int, start: int, end: int) -> Day:
    """What the files have of `[start, end)` (ns since 1970), which are full hours: no file spans two."""
    with connection():
        row = database.execute_sql(
            "SELECT coalesce(sum(rows), 0)::bigint, coalesce(sum(body_bytes), 0)::bigint,"
            " coalesce(sum(bytes), 0)::bigint"
            " FROM file WHERE dataset_id = %s AND removed_at IS NULL AND tmin >= %s AND tmin < %s",
            (dataset_id, start, end),
        ).fetchone()
    return Day(*row)
