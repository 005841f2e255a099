"""What is told of an outcome: the notice, whatever form a kind of target gives it. Pure."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from alerting.state_machine import NoticeKind, Outcome, Result, Row
from models.alert import Alert

# A notice is read by people. Receivers limit its size: Slack's hooks take 40,000 characters.
MOST_ROWS: Final = 10
MOST_ROWS_CHARACTERS: Final = 8_000


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
        "window": {"start": time_text(slot - timedelta(seconds=content.window_seconds)), "end": time_text(slot)},
        "triggeredAt": time_text(status.last_triggered_at),
        "reason": status.disabled_reason,
        "rowsBeyond": len(rows),
        "rows": _few(rows),
        "validSeconds": content.notify_seconds + 2 * content.frequency_seconds,
    }


def trial(tenant: str, author: str, at: datetime) -> dict[str, Any]:
    """A notice of no alert, by which somebody tries a target."""
    return {
        "state": "test",
        "alert": {
            "id": "test",
            "title": "Test of this target",
            "severity": "low",
            "dataset": "none",
            "tags": [],
            "tenant": tenant,
            "author": author,
        },
        "value": None,
        "threshold": {"operator": ">", "value": 0.0},
        "window": {"start": time_text(at), "end": time_text(at)},
        "triggeredAt": time_text(at),
        "reason": None,
        "rowsBeyond": 0,
        "rows": [],
        "validSeconds": 60,
    }


def summary(notice: Mapping[str, Any]) -> str:
    """One line for people: `[high] Too many errors: triggered, 12 > 10 in dataset app up to 2026-01-02T03:04:00Z`."""
    alert, threshold = notice["alert"], notice["threshold"]
    start = f"[{alert['severity']}] {alert['title']}: {notice['state']}"
    if notice["state"] == "test":
        return f"{start}, sent by {alert['author']}; nothing is wrong"
    if notice["state"] == NoticeKind.DISABLED:
        return f"{start}, {notice['reason']}"
    value = "no value" if notice["value"] is None else f"{notice['value']:.15g}"
    compared = f"{value} {threshold['operator']} {threshold['value']:.15g}"
    if notice["state"] == NoticeKind.RESOLVED:
        compared = f"{value}, no longer {threshold['operator']} {threshold['value']:.15g},"
    return f"{start}, {compared} in dataset {alert['dataset']} up to {notice['window']['end']}"


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


def as_json(value: object) -> bytes:
    """A body as receivers take it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def time_text(at: datetime | None) -> str | None:
    """RFC 3339, to the millisecond."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
