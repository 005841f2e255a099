"""What is said to whom: docs/alerts.md."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from alerting import notices, state_machine
from alerting.state_machine import Outcome, Result
from alerting.target_kind import Outgoing
from alerting.targets import alertmanager, slack, webhook
from models.alert import Status
from tests.alerting.samples import NOON, alert, outgoing

ROWS = ({"host": "<!channel> & <https://evil|click>", "count": 12},)


FIRED = Result(12, ROWS)


def noticed(verdict: Result = FIRED, **content: Any) -> dict[str, Any]:
    subject = alert(Status(), **content)
    return notices.notice(subject, state_machine.advance(subject, verdict, NOON, NOON), verdict, NOON)


def rendered(render: Callable[[Outgoing], bytes], notice: dict[str, Any], link: str | None = None) -> Any:
    return json.loads(render(outgoing(notice, link)))


def test_webhook_gets_everything_and_the_id_that_tells_repeats():
    body = rendered(webhook.render, noticed(tags=["web"]), "https://weir.example.com/#/alerts/1")

    assert body == {
        "id": "01ARZ3NDEKTSV4RRFFQ69G5FAD",
        "message": "[high] Too many errors: triggered, 12 > 10 in dataset app up to 2026-01-02T12:00:00.000Z",
        "url": "https://weir.example.com/#/alerts/1",
        "state": "triggered",
        "alert": {
            "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "title": "Too many errors",
            "severity": "high",
            "dataset": "app",
            "tags": ["web"],
            "tenant": "default",
            "author": "ann",
        },
        "value": 12,
        "threshold": {"operator": ">", "value": 10.0},
        "window": {"start": "2026-01-02T11:55:00.000Z", "end": "2026-01-02T12:00:00.000Z"},
        "triggeredAt": "2026-01-02T12:00:00.000Z",
        "reason": None,
        "rowsBeyond": 1,
        "rows": list(ROWS),
    }


def test_events_cannot_speak_to_slack():
    """Slack reads <!channel> and <link|text>."""
    text = rendered(slack.render, noticed())["text"]

    assert "<" not in text
    assert "&lt;!channel&gt; &amp;" in text


def test_alertmanager_gets_one_identity_for_a_whole_life():
    fired = rendered(alertmanager.render, noticed())[0]
    status = replace(alert().status, last_triggered_at=NOON)
    resolved = notices.notice(alert(), Outcome(status, notice=state_machine.NoticeKind.RESOLVED), Result(3, ()), NOON)
    over = rendered(alertmanager.render, resolved)[0]

    assert fired["labels"] == over["labels"]
    assert fired["labels"]["alertname"] == "Too many errors"
    assert fired["startsAt"] == over["startsAt"] == "2026-01-02T12:00:00.000Z"
    # Reminded every 10 minutes, evaluated every minute: it may not expire in between.
    assert fired["endsAt"] == "2026-01-02T12:22:00.000Z"
    assert over["endsAt"] == "2026-01-02T12:00:00.000Z"


@pytest.mark.parametrize("size", [10, 10_000])
def test_notice_has_few_rows(size: int):
    many = tuple({"host": "x" * size, "count": number} for number in range(1000))

    notice = noticed(Result(12, many))

    assert notice["rowsBeyond"] == 1000
    assert len(notice["rows"]) <= 10
    assert len(json.dumps(notice)) < 10_000


def test_disabled_alert_says_why():
    outcome = state_machine.disable(alert(), "ann may not", NOON)

    body = rendered(webhook.render, notices.notice(alert(), outcome, None, NOON))

    assert body["message"] == "[high] Too many errors: disabled, ann may not"
