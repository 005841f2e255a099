"""How alerts look in answers: whole, in the list, their history and their deliveries."""

from datetime import UTC, datetime
from typing import Final

from models.alert import Alert, Status
from models.alert_event import Event
from models.delivery import Delivery
from web.times import rfc3339

VERSION: Final = "v2"
SECONDS_PER_MINUTE: Final = 60
# Muted until somebody says otherwise: no date that anybody would mean.
INDEFINITE: Final = datetime(9999, 12, 31, tzinfo=UTC)


def summary(alert: Alert, now: datetime) -> dict[str, object]:
    """What the list shows. Older clients read the severity capitalised here, and only here."""
    members: dict[str, object] = {
        **alert.content.extra,
        "id": alert.origin.id,
        "title": alert.content.title,
        "created": rfc3339(alert.origin.created_at),
        "alertType": "threshold",
        "severity": alert.content.severity.capitalize(),
        "state": alert.status.state.value,
        "notificationState": _notification_state(alert.status, now),
        "tags": alert.content.tags,
        "datasets": [alert.content.dataset],
    }
    if alert.status.last_triggered_at is not None:
        members["lastTriggeredAt"] = rfc3339(alert.status.last_triggered_at)
    return members


def as_object(alert: Alert, now: datetime) -> dict[str, object]:
    return {
        **summary(alert, now),
        "version": VERSION,
        "author": alert.origin.author.name,
        "modified": rfc3339(alert.origin.modified_at),
        "severity": alert.content.severity,
        "query": alert.content.query,
        "queryType": alert.content.query_type,
        "thresholdConfig": {"operator": alert.content.operator, "value": alert.content.threshold},
        "evalConfig": {
            "rollingWindow": {
                "evalStart": _duration(alert.content.window_seconds),
                "evalEnd": "now",
                "evalFrequency": alert.content.frequency_seconds // SECONDS_PER_MINUTE,
            }
        },
        "notificationConfig": {"interval": alert.content.notify_seconds // SECONDS_PER_MINUTE},
        "targets": list(alert.content.targets),
        "disabledReason": alert.status.disabled_reason,
        "lastValue": alert.status.last_value,
        "lastError": alert.status.last_error,
        "lastEvaluatedAt": rfc3339(alert.status.last_evaluated_at),
        "lastTriggeredAt": rfc3339(alert.status.last_triggered_at),
        "lastNotifiedAt": rfc3339(alert.status.last_notified_at),
        "nextRunAt": rfc3339(alert.status.next_run_at),
        "tenantId": alert.origin.tenant,
    }


def _notification_state(status: Status, now: datetime) -> object:
    """`notify`, or `{"mute": until when}`."""
    until = status.muted_until
    if until is None or until <= now:
        return "notify"
    return {"mute": "indefinite" if until >= INDEFINITE else rfc3339(until)}


def _duration(seconds: int) -> str:
    """The longest unit that divides it: `2h`, `90m`, `61s`."""
    units = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
    return next(f"{seconds // size}{unit}" for unit, size in units if seconds % size == 0)


def event_object(event: Event) -> dict[str, object]:
    return {"at": rfc3339(event.at), "kind": event.kind.value, "value": event.value, "detail": event.detail}


def delivery_object(delivery: Delivery) -> dict[str, object]:
    is_pending = delivery.next_attempt_at is not None
    return {
        "id": delivery.id,
        "target": delivery.target_id,
        "kind": delivery.kind,
        "state": "pending" if is_pending else "delivered" if delivery.delivered_at else "failed",
        "created": rfc3339(delivery.created_at),
        "attempts": delivery.attempts,
        "lastAttemptAt": rfc3339(delivery.last_attempt_at),
        "lastStatus": delivery.last_status,
        "lastError": delivery.last_error,
        "nextAttemptAt": rfc3339(delivery.next_attempt_at),
        "deliveredAt": rfc3339(delivery.delivered_at),
    }
