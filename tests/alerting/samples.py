"""Alerts, targets and deliveries as the tests of alerting need them."""

from datetime import UTC, datetime
from typing import Any

from alerting import notices, sealing
from alerting.addresses import Policy
from alerting.http_target import HttpDestination
from alerting.state_machine import NoticeKind, Outcome, Result, Row
from alerting.target_kind import Outgoing
from auth.secrets import Secrets
from models.alert import Alert, Content, Status
from models.authored import Author, Origin
from models.delivery import Delivery
from models.target import Content as TargetContent
from models.target import Target

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ANN = Author("native", "ann", "ann")
SECRETS = Secrets(b"0" * 32)


def content(**members: Any) -> Content:
    given: dict[str, Any] = {
        "title": "Too many errors",
        "query": "SELECT count(*) FROM app",
        "query_type": "code",
        "dataset": "app",
        "severity": "high",
        "operator": ">",
        "threshold": 10.0,
        "window_seconds": 300,
        "frequency_seconds": 60,
        "notify_seconds": 600,
        "tags": [],
        "extra": {},
        "targets": [],
    }
    return Content(**given | members)


def alert(status: Status | None = None, **members: Any) -> Alert:
    origin = Origin("01ARZ3NDEKTSV4RRFFQ69G5FAV", "default", ANN, NOON, NOON, 1)
    return Alert(origin, content(**members), status or Status(next_run_at=NOON))


def target(kind: str = "webhook", endpoint: str = "http://127.0.0.1:1/", **members: Any) -> Target:
    return sealed(kind, HttpDestination(endpoint=endpoint, **members))


def sealed(kind: str, destination: object, secrets: Secrets = SECRETS) -> Target:
    origin = Origin("01ARZ3NDEKTSV4RRFFQ69G5FAT", "default", ANN, NOON, NOON, 1)
    return Target(origin, TargetContent("hook", kind, sealing.seal(secrets, origin.id, destination)))


def noticed(state: NoticeKind = NoticeKind.TRIGGERED, rows: tuple[Row, ...] = (), **members: Any) -> dict[str, Any]:
    """The notice of a state. Of an alert with these members, to which these rows came."""
    reason = "ann may not" if state == NoticeKind.DISABLED else None
    status = Status(last_value=12 if rows else None, last_triggered_at=NOON, disabled_reason=reason)
    return notices.notice(alert(status, **members), Outcome(status, notice=state), Result(12, rows), NOON)


def outgoing(notice: dict[str, Any], link: str | None = None, policy: Policy = Policy.of(())) -> Outgoing:  # noqa: B008
    return Outgoing(delivery(notice), link, NOON, policy)


def delivery(notice: dict[str, Any], attempts: int = 0, created_at: datetime = NOON) -> Delivery:
    return Delivery(
        id="01ARZ3NDEKTSV4RRFFQ69G5FAD",
        alert_id="01ARZ3NDEKTSV4RRFFQ69G5FAV",
        target_id="01ARZ3NDEKTSV4RRFFQ69G5FAT",
        kind=str(notice["state"]),
        notice=notice,
        created_at=created_at,
        attempts=attempts,
        last_attempt_at=None,
        last_status=None,
        last_error=None,
        next_attempt_at=created_at,
        delivered_at=None,
    )
