"""Which write-ahead segments have become Parquet files. The row and the files' rows appear in one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from peewee import TextField
from playhouse.postgres_ext import DateTimeTZField

from models import file, idempotency_record
from models.base import Table, connection, database


class SegmentRow(Table):
    name = TextField(primary_key=True)
    node = TextField()
    converted_at = DateTimeTZField()

    class Meta:
        table_name = "segment"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one dataset got from one segment: events, and the bytes of the bodies they came in."""

    dataset_id: int
    events: int
    body_bytes: int


def converted(names: Iterable[str]) -> set[str]:
    """The names among these whose segments are converted."""
    with connection():
        rows = database.execute_sql("SELECT name FROM segment WHERE name = ANY(%s)", (list(names),))
        return {name for (name,) in rows.fetchall()}


def switch(
    name: str,
    node: str,
    files: Sequence[file.File],
    ingested: Sequence[Ingested],
    claims: Mapping[bytes, int] = MappingProxyType({}),
) -> list[str] | None:
    """Replace the segment with the files, in one transaction.

    `claims`: those of the requests that brought the events, each with its number of events. They are completed.

    Returns the paths of files whose dataset was deleted meanwhile, which are not made live; None if the segment
    had been converted before, and then nothing has changed.
    """
    with connection(), database.atomic():
        if not _claim(name, node):
            return None
        alive = _hold([each.dataset_id for each in ingested])
        live = [each for each in files if each.dataset_id in alive]
        file.insert(live, datetime.now(UTC))
        for each in ingested:
            _count(each)
        idempotency_record.complete(claims)
        return [each.path for each in files if each.dataset_id not in alive]


def _claim(name: str, node: str) -> bool:
    """The primary key decides between two converters; the later one waits here for the earlier one's commit."""
    inserted = database.execute_sql(
        "INSERT INTO segment (name, node) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING name", (name, node)
    )
    return inserted.fetchone() is not None


def _hold(dataset_ids: Sequence[int]) -> set[int]:
    """Lock the datasets against deletion until the transaction ends; return the ids of those that exist."""
    rows = database.execute_sql(
        "SELECT id FROM dataset WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", (list(dataset_ids),)
    )
    return {dataset_id for (dataset_id,) in rows.fetchall()}


def _count(ingested: Ingested) -> None:
    database.execute_sql(
        "UPDATE dataset_total SET events = events + %s, body_bytes = body_bytes + %s WHERE dataset_id = %s",
        (ingested.events, ingested.body_bytes, ingested.dataset_id),
    )


def converted_before(node: str, moment: datetime) -> list[str]:
    """The node's segments that were converted before `moment`, without those of which another host keeps a copy.

    That host learns from the row here that its copy is not needed.
    """
    with connection():
        rows = database.execute_sql(
            "SELECT name FROM segment WHERE node = %s AND converted_at < %s"
            " AND NOT EXISTS (SELECT FROM segment_copy c WHERE c.segment = name)",
            (node, moment),
        )
        return [name for (name,) in rows.fetchall()]


def forget(names: Sequence[str]) -> None:
    """Drop the rows of segments whose files are gone for good. With a file still there its events would come twice."""
    with connection():
        SegmentRow.delete().where(SegmentRow.name.in_(list(names))).execute()
