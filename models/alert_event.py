"""The history of alerts: changes of their state, one row each. Evaluations that change nothing leave none."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from peewee import FloatField, TextField
from playhouse.postgres_ext import DateTimeTZField
from ulid import ULID

from models.base import Table, connection


class Kind(StrEnum):
    TRIGGERED = "triggered"
    RESOLVED = "not-triggered"
    DISABLED = "disabled"
    ENABLED = "enabled"
    FAILED = "failed"
    RECOVERED = "recovered"


class AlertEvent(Table):
    id = TextField(primary_key=True)
    alert_id = TextField()
    at = DateTimeTZField()
    kind = TextField()
    value = FloatField(null=True)
    detail = TextField(null=True)


@dataclass(frozen=True, slots=True)
class Event:
    """`value` is what was compared with the threshold; `detail` says why, of failures and disabling."""

    at: datetime
    kind: Kind
    value: float | None = None
    detail: str | None = None


@connection()
def record(alert_id: str, event: Event) -> None:
    AlertEvent.insert(
        id=str(ULID()), alert_id=alert_id, at=event.at, kind=event.kind, value=event.value, detail=event.detail
    ).execute()


@connection()
def latest(alert_id: str, limit: int) -> list[Event]:
    """The newest first."""
    rows = AlertEvent.select().where(AlertEvent.alert_id == alert_id).order_by(AlertEvent.id.desc()).limit(limit)
    return [Event(row.at, Kind(row.kind), row.value, row.detail) for row in rows]


@connection()
def forget(before: datetime) -> int:
    """Remove older events; return how many."""
    return AlertEvent.delete().where(AlertEvent.at < before).execute()
