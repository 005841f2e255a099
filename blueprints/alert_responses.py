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


def summary(found: Alert, now: datetime) -> dict[str, object]:
    """What the list shows. Older clients read the severity capitalised here, and only here."""
    shown: dict[str, object] = {
        **found.content.extra,
        "id": found.origin.id,
        "title": found.content.title,
        "created": rfc3339(found.origin.created_at),
        "alertType": "threshold",
        "severity": found.content.severity.capitalize(),
        "state": found.status.state.value,
        "notificationState": _notification_state(found.status, now),
        "tags": found.content.tags,
        "datasets": [found.content.dataset],
    }
    if found.status.last_triggered_at is not None:
        shown["lastTriggeredAt"] = rfc3339(found.status.last_triggered_at)
    return shown


def as_object(found: Alert, now: datetime) -> dict[str, object]:
    return {
        **summary(found, now),
        "version": VERSION,
        "author": found.origin.author.name,
        "modified": rfc3339(found.origin.modified_at),
        "severity": found.content.severity,
        "query": found.content.query,
        "queryType": found.content.query_type,
        "thresholdConfig": {"operator": found.content.operator, "value": found.content.threshold},
        "evalConfig": {
            "rollingWindow": {
                "evalStart": _duration(found.content.window_seconds),
                "evalEnd": "now",
                "evalFrequency": found.content.frequency_seconds // SECONDS_PER_MINUTE,
            }
        },
        "notificationConfig": {"interval": found.content.notify_seconds // SECONDS_PER_MINUTE},
        "targets": list(found.content.targets),
        "disabledReason": found.status.disabled_reason,
        "lastValue": found.status.last_value,
        "lastError": found.status.last_error,
        "lastEvaluatedAt": rfc3339(found.status.last_evaluated_at),
        "lastTriggeredAt": rfc3339(found.status.last_triggered_at),
        "lastNotifiedAt": rfc3339(found.status.last_notified_at),
        "nextRunAt": rfc3339(found.status.next_run_at),
        "tenantId": found.origin.tenant,
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


def delivery_object(each: Delivery) -> dict[str, object]:
    is_pending = each.next_attempt_at is not None
    return {
        "id": each.id,
        "target": each.target_id,
        "kind": each.kind,
        "state": "pending" if is_pending else "delivered" if each.delivered_at else "failed",
        "created": rfc3339(each.created_at),
        "attempts": each.attempts,
        "lastAttemptAt": rfc3339(each.last_attempt_at),
        "lastStatus": each.last_status,
        "lastError": each.last_error,
        "nextAttemptAt": rfc3339(each.next_attempt_at),
        "deliveredAt": rfc3339(each.delivered_at),
    }
