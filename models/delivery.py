"""Deliveries: notices on their way to targets, and the log of those that arrived or were given up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from peewee import IntegerField, TextField
from playhouse.postgres_ext import DateTimeTZField, JSONField
from ulid import ULID

from models.base import Table, connection, database

# While a target is unreachable, this many notices per alert wait for it. When it is back, it gets these and no flood.
MOST_PENDING: Final = 20
SUPERSEDED: Final = "superseded by later notices while the target was away"


class DeliveryRow(Table):
    id = TextField(primary_key=True)
    alert_id = TextField()
    target_id = TextField()
    kind = TextField()
    notice = JSONField()
    created_at = DateTimeTZField()
    attempts = IntegerField()
    last_attempt_at = DateTimeTZField(null=True)
    last_status = IntegerField(null=True)
    last_error = TextField(null=True)
    next_attempt_at = DateTimeTZField(null=True)
    delivered_at = DateTimeTZField(null=True)
    lease = TextField(null=True)
    leased_until = DateTimeTZField(null=True)

    class Meta:
        table_name = "delivery"


@dataclass(frozen=True, slots=True)
class Delivery:
    """`next_attempt_at` None: delivered, if there is a `delivered_at`, else given up."""

    id: str
    alert_id: str
    target_id: str
    kind: str
    notice: Mapping[str, object]
    created_at: datetime
    attempts: int
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str | None
    next_attempt_at: datetime | None
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt went. `status` is the receiver's; `next_at` None after a failure: no further attempt."""

    at: datetime
    status: int | None
    error: str | None
    next_at: datetime | None


@connection()
def enqueue(alert_id: str, targets: Sequence[str], kind: str, notice: Mapping[str, object], now: datetime) -> None:
    """A delivery to each target, due at once. A reminder of what is still pending there is not queued again."""
    for target_id in targets:
        pending = (DeliveryRow.alert_id == alert_id) & (DeliveryRow.target_id == target_id)
        pending &= DeliveryRow.next_attempt_at.is_null(False)
        ids = DeliveryRow.select(DeliveryRow.id, DeliveryRow.kind).where(pending).order_by(DeliveryRow.id.desc())
        waiting = list(ids)
        if waiting and waiting[0].kind == kind:
            continue
        DeliveryRow.insert(
            id=str(ULID()),
            alert_id=alert_id,
            target_id=target_id,
            kind=kind,
            notice=dict(notice),
            created_at=now,
            attempts=0,
            next_attempt_at=now,
        ).execute()
        surplus = [row.id for row in waiting[MOST_PENDING - 1 :]]
        if surplus:
            DeliveryRow.update(next_attempt_at=None, last_error=SUPERSEDED).where(DeliveryRow.id.in_(surplus)).execute()


@connection()
def release_all(holder: str) -> None:
    """Give back what claims hold whose ids begin so: their process has ended. Whether it delivered, nobody knows."""
    database.execute_sql(
        "UPDATE delivery SET lease = NULL, leased_until = NULL WHERE starts_with(lease, %s)",
        (holder,),
    )


@connection()
def claim(claim_id: str, now: datetime, leased_until: datetime, limit: int) -> list[Delivery]:
    """Take deliveries that are due, the oldest first, and of one alert to one target only the first.

    So that `triggered` never overtakes `resolved`, however long the target was away.
    """
    cursor = database.execute_sql(
        "UPDATE delivery SET lease = %s, leased_until = %s WHERE id IN ("
        " SELECT id FROM delivery AS d"
        " WHERE next_attempt_at <= %s AND (leased_until IS NULL OR leased_until <= %s)"
        " AND NOT EXISTS (SELECT FROM delivery AS o WHERE o.alert_id = d.alert_id AND o.target_id = d.target_id"
        "  AND o.next_attempt_at IS NOT NULL AND o.id < d.id)"
        " ORDER BY next_attempt_at LIMIT %s FOR UPDATE SKIP LOCKED) RETURNING id",
        (claim_id, leased_until, now, now, limit),
    )
    ids = [delivery_id for (delivery_id,) in cursor.fetchall()]
    if not ids:
        return []
    return [_delivery(row) for row in DeliveryRow.select().where(DeliveryRow.id.in_(ids)).order_by(DeliveryRow.id)]


@connection()
def note(delivery_id: str, claim_id: str, attempt: Attempt) -> None:
    """Log an attempt. After a success nothing more is due."""
    is_claimed = (DeliveryRow.id == delivery_id) & (DeliveryRow.lease == claim_id)
    DeliveryRow.update(
        attempts=DeliveryRow.attempts + 1,
        last_attempt_at=attempt.at,
        last_status=attempt.status,
        last_error=attempt.error,
        next_attempt_at=attempt.next_at,
        delivered_at=attempt.at if attempt.error is None else None,
        lease=None,
        leased_until=None,
    ).where(is_claimed).execute()


@connection()
def log(alert_id: str, limit: int) -> list[Delivery]:
    """The newest first."""
    rows = DeliveryRow.select().where(DeliveryRow.alert_id == alert_id).order_by(DeliveryRow.id.desc()).limit(limit)
    return [_delivery(row) for row in rows]


@connection()
def forget(before: datetime) -> int:
    """Remove deliveries that were created before and are not pending; return how many."""
    done = DeliveryRow.next_attempt_at.is_null() & (DeliveryRow.created_at < before)
    return DeliveryRow.delete().where(done).execute()


def _delivery(row: DeliveryRow) -> Delivery:
    return Delivery(**{name: getattr(row, name) for name in Delivery.__dataclass_fields__})
