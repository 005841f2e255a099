"""What is said to whom: the notice of an outcome, and its form for each kind of target. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from alerting.state_machine import NoticeKind, Outcome, Result, Row
from models.alert import Alert
from models.delivery import Delivery
from models.target import Kind

# A notice is read by people. Receivers limit its size: Slack's hooks take 40,000 characters.
MOST_ROWS: Final = 10
MOST_ROWS_CHARACTERS: Final = 8_000
ALERTMANAGER_PATH: Final = "/api/v2/alerts"
# Until an Alertmanager hears of an alert again it keeps it firing. Past the next reminder, plus what may delay it.
ALERTMANAGER_MARGIN: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Message:
    """A body to be posted, and the path for it where the target's own says nothing."""

    body: bytes
    default_path: str = "/"


def notice(alert: Alert, outcome: Outcome, verdict: Result | None, slot: datetime) -> dict[str, Any]:
    """All that any form of notice may need, as JSON: what is told is settled now, however late it arrives."""
    rows = () if verdict is None else verdict.rows
    status, content = outcome.status, alert.content
    return {
        "state": str(outcome.notice),
        "alert": {
            "id": alert.origin.id,
            "title": content.title,
            "severity": content.severity,
            "dataset": content.dataset,
            "tags": list(content.tags),
            "tenant": alert.origin.tenant,
            "author": alert.origin.author.name,
            **({"extra": dict(content.extra)} if content.extra else {}),
        },
        "value": status.last_value,
        "threshold": {"operator": content.operator, "value": content.threshold},
        "window": {"start": _text(slot - timedelta(seconds=content.window_seconds)), "end": _text(slot)},
        "triggeredAt": _text(status.last_triggered_at),
        "reason": status.disabled_reason,
        "rowsBeyond": len(rows),
        "rows": _few(rows),
        "validSeconds": content.notify_seconds + 2 * content.frequency_seconds,
    }


def render(kind: Kind, delivery: Delivery, link: str | None, now: datetime) -> Message:
    """The notice of a delivery in the form that its target takes. `link`: where the alert is shown."""
    if kind is Kind.SLACK:
        return Message(_json({"text": _slack_text(delivery.notice, link)}))
    if kind is Kind.ALERTMANAGER:
        return Message(_json([_alertmanager_alert(delivery.notice, link, now)]), ALERTMANAGER_PATH)
    shown = {name: value for name, value in delivery.notice.items() if name != "validSeconds"}
    return Message(_json({"id": delivery.id, "message": summary(delivery.notice), "url": link, **shown}))


def summary(notice: Mapping[str, Any]) -> str:
    """One line for people: `[high] Too many errors: triggered, 12 > 10 in dataset app up to 2026-01-02T03:04:00Z`."""
    alert, threshold = notice["alert"], notice["threshold"]
    start = f"[{alert['severity']}] {alert['title']}: {notice['state']}"
    if notice["state"] == NoticeKind.DISABLED:
        return f"{start}, {notice['reason']}"
    value = "no value" if notice["value"] is None else f"{notice['value']:.15g}"
    compared = f"{value} {threshold['operator']} {threshold['value']:.15g}"
    if notice["state"] == NoticeKind.RESOLVED:
        compared = f"{value}, no longer {threshold['operator']} {threshold['value']:.15g},"
    return f"{start}, {compared} in dataset {alert['dataset']} up to {notice['window']['end']}"


def _slack_text(notice: Mapping[str, Any], link: str | None) -> str:
    lines = [summary(notice), *(json.dumps(row, ensure_ascii=False) for row in notice["rows"])]
    # Slack reads <!channel> and <https://...|text>: what events say must not become either.
    escaped = "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{escaped}\n{link}" if link else escaped


def _alertmanager_alert(notice: Mapping[str, Any], link: str | None, now: datetime) -> dict[str, Any]:
    """Alertmanager's API v2. The labels are the alert's identity, so they never hold a value or a state."""
    alert = notice["alert"]
    is_firing = notice["state"] == NoticeKind.TRIGGERED
    valid = timedelta(seconds=notice["validSeconds"]) + ALERTMANAGER_MARGIN
    labels = {
        "alertname": alert["title"],
        "alert_id": alert["id"],
        "severity": alert["severity"],
        "dataset": alert["dataset"],
        "tenant": alert["tenant"],
    }
    return {
        "labels": labels,
        "annotations": {"summary": summary(notice), "rows": json.dumps(notice["rows"], ensure_ascii=False)},
        **({"startsAt": notice["triggeredAt"]} if notice["triggeredAt"] else {}),
        "endsAt": _text(now + valid if is_firing else now),
        **({"generatorURL": link} if link else {}),
    }


def _few(rows: tuple[Row, ...]) -> list[Row]:
    """The first rows, as many as are read and as fit."""
    few: list[Row] = []
    room = MOST_ROWS_CHARACTERS
    for row in rows[:MOST_ROWS]:
        room -= len(json.dumps(row))
        if room < 0:
            break
        few.append(row)
    return few


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
