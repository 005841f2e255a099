"""PagerDuty's Events API v2, at an endpoint on loopback that answers as it does."""

import json
from typing import Any

import pytest

from alerting.addresses import Policy
from alerting.dispatch import Dispatcher
from alerting.state_machine import NoticeKind
from alerting.targets import pagerduty
from alerting.targets.pagerduty import ENDPOINT, KIND, PagerDutyDestination
from errors import InvalidRequest
from models.delivery import Attempt
from schemas.reading import load
from tests.alerting.receiver import receiving
from tests.alerting.samples import NOON, SECRETS, delivery, noticed, outgoing, sealed

KEY = "0123456789abcdef0123456789abcdef"
BODY = {"name": "on call", "type": "pagerDuty", "routingKey": KEY}
OPEN, CLOSED = Policy.of(["127.0.0.1"]), Policy.of(())
ROWS = ({"host": "a", "count": 12},)


def rendered(state: NoticeKind = NoticeKind.TRIGGERED, **alert: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(pagerduty.render(outgoing(noticed(state, ROWS, **alert), "https://w/"), KEY))
    return event


def test_event_opens_an_incident():
    event = rendered(tags=["web"])

    assert {name: event[name] for name in ("routing_key", "event_action", "dedup_key", "client", "client_url")} == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": "weir/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "client": "Weir",
        "client_url": "https://w/",
    }
    assert event["payload"] == {
        "summary": "[high] Too many errors: triggered, 12 > 10 in dataset app up to 2026-01-02T12:00:00.000Z",
        "source": "default/app",
        "severity": "error",
        "timestamp": "2026-01-02T12:00:00.000Z",
        "component": "app",
        "class": "Too many errors",
        "custom_details": event["payload"]["custom_details"],
    }
    assert event["payload"]["custom_details"]["rows"] == list(ROWS)


def test_end_of_the_alert_resolves_the_same_incident():
    begun, over = rendered(), rendered(NoticeKind.RESOLVED)

    assert (over["event_action"], over["dedup_key"]) == ("resolve", begun["dedup_key"])


def test_alert_that_nobody_evaluates_any_more_is_an_incident():
    event = rendered(NoticeKind.DISABLED)

    assert event["event_action"] == "trigger"
    assert "ann may not" in event["payload"]["summary"]


@pytest.mark.parametrize(("ours", "theirs"), pagerduty.SEVERITIES.items())
def test_severity_is_one_that_pagerduty_knows(ours: str, theirs: str):
    assert rendered(severity=ours)["payload"]["severity"] == theirs
    assert theirs in {"critical", "error", "warning", "info"}


def test_summary_is_as_long_as_it_may_be():
    assert len(rendered(title="x" * 200, dataset="d" * 2000)["payload"]["summary"]) == 1024


@pytest.mark.parametrize(("status", "again"), [(202, False), (400, False), (429, True), (500, True)])
def test_event_is_posted_and_repeated_when_pagerduty_says_later(status: int, again: bool):
    with receiving() as receiver:
        receiver.answers = [(status, {})]
        to = PagerDutyDestination(endpoint=f"{receiver.url}/v2/enqueue", routing_key=KEY, skip_tls_check=False)
        done = Dispatcher(OPEN, SECRETS, None).attempt(delivery(noticed()), sealed("pagerDuty", to), NOON)

    (got,) = receiver.received
    assert (got.path, got.json["routing_key"]) == ("/v2/enqueue", KEY)
    assert (done.status, done.next_at is not None) == (status, again)
    assert (done == Attempt(NOON, 202, None, None)) == (status == 202)


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"routingKey": "********"}, "routingKey"),
        ({"routingKey": "a b"}, "routingKey"),
        ({"endpoint": "http://events.example.com/"}, "endpoint"),
        ({"endpoint": "https://127.0.0.1/"}, "endpoint"),
        ({"skipTlsCheck": True}, "skipTlsCheck"),
    ],
)
def test_bad_body_is_refused_by_its_field(members: dict[str, object], field: str):
    with pytest.raises(InvalidRequest) as refused:
        KIND.read(load(KIND.schema(), BODY | members), CLOSED)

    assert refused.value.details["field"] == field


def test_key_alone_makes_a_target_and_is_not_shown():
    made = KIND.read(load(KIND.schema(), BODY), CLOSED)

    assert made.endpoint == ENDPOINT == "https://events.pagerduty.com/v2/enqueue"
    assert KIND.show(made) == {"endpoint": ENDPOINT, "routingKey": "********", "skipTlsCheck": False}
    assert KEY not in repr(made)
