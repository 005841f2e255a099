"""What each sender stored in a dataset, in buckets of five minutes that are kept for a day.

Workers add what they counted every few seconds: a worker that is killed takes its last ones along. Exact numbers of all
senders together are in dataset_totals.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from models.base import connection, database

BUCKET_SECONDS: Final = 300
KEPT_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Sender:
    """An identity that stores events: `id` is the name of a user or the id of a key."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """The five minutes from `begins` of one sender to one dataset."""

    dataset_id: int
    sender: Sender
    begins: datetime


@dataclass(slots=True)
class Sent:
    """Stored events, bytes of their decompressed bodies, requests, and when the latest of these came."""

    latest: datetime
    events: int = 0
    body_bytes: int = 0
    requests: int = 0

    def add(self, latest: datetime, events: int, body_bytes: int, requests: int) -> None:
        """As many again."""
        self.latest = max(self.latest, latest)
        self.events += events
        self.body_bytes += body_bytes
        self.requests += requests


@dataclass(frozen=True, slots=True)
class Counted:
    """A bucket as it is kept. `name`: of the sender, for people; None for a key that is deleted."""

    sender: Sender
    name: str | None
    begins: datetime
    sent: Sent


def bucket_of(at: datetime) -> datetime:
    """The beginning of the bucket of an instant.

    >>> bucket_of(datetime(2026, 1, 2, 3, 14, 59, tzinfo=UTC)).isoformat()
    '2026-01-02T03:10:00+00:00'
    """
    return datetime.fromtimestamp(at.timestamp() // BUCKET_SECONDS * BUCKET_SECONDS, UTC)


def add(counted: Iterable[tuple[Bucket, Sent]]) -> None:
    """Add to what is kept, all or nothing. A dataset that is gone takes none."""
    rows = [
        (
            bucket.dataset_id,
            bucket.sender.kind,
            bucket.sender.id,
            bucket.begins,
            sent.events,
            sent.body_bytes,
            sent.requests,
            sent.latest,
        )
        for bucket, sent in counted
    ]
    if not rows:
        return
    with connection():
        # In one order, so that no two workers wait for each other.
        database.execute_sql(
            "INSERT INTO sender_count (dataset_id, kind, sender, begins, events, body_bytes, requests, latest)"
            " SELECT added.* FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::timestamptz[], %s::bigint[],"
            " %s::bigint[], %s::bigint[], %s::timestamptz[])"
            " AS added (dataset_id, kind, sender, begins, events, body_bytes, requests, latest)"
            " JOIN dataset ON dataset.id = added.dataset_id"
            " ORDER BY added.dataset_id, added.begins, added.kind, added.sender"
            " ON CONFLICT (dataset_id, begins, kind, sender) DO UPDATE SET"
            " events = sender_count.events + excluded.events,"
            " body_bytes = sender_count.body_bytes + excluded.body_bytes,"
            " requests = sender_count.requests + excluded.requests,"
            " latest = greatest(sender_count.latest, excluded.latest)",
            tuple(map(list, zip(*rows, strict=True))),
        )


def find(tenant: str, dataset_id: int, since: datetime) -> list[Counted]:
    """The buckets of the dataset that end after the instant, the oldest first."""
    with connection():
        rows = database.execute_sql(
            "SELECT counted.kind, counted.sender,"
            " CASE WHEN counted.kind = 'api_key' THEN api_key.name ELSE counted.sender END, counted.begins,"
            " counted.latest, counted.events, counted.body_bytes, counted.requests"
            " FROM sender_count AS counted LEFT JOIN api_key"
            " ON counted.kind = 'api_key' AND api_key.key_id = counted.sender AND api_key.tenant_id = %s"
            " WHERE counted.dataset_id = %s AND counted.begins > %s::timestamptz - make_interval(secs => %s)"
            " ORDER BY counted.begins, counted.kind, counted.sender",
            (tenant, dataset_id, since, BUCKET_SECONDS),
        ).fetchall()
    return [Counted(Sender(kind, id_), name, begins, Sent(*sent)) for kind, id_, name, begins, *sent in rows]


def expire() -> int:
    """Forget the buckets that are older than a day; return how many."""
    with connection():
        rows = database.execute_sql(
            "DELETE FROM sender_count WHERE begins < now() - make_interval(secs => %s) RETURNING 1",
            (KEPT_SECONDS + BUCKET_SECONDS,),
        ).fetchall()
    return len(rows)
