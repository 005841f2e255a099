"""Prometheus' Alertmanager, by its API v2."""

import json
from datetime import timedelta
from typing import Final

from alerting import http_target, notices
from alerting.http_target import HttpDestination
from alerting.state_machine import NoticeKind
from alerting.target_kind import Answer, Outgoing, TargetKind
from schemas.targets import HttpTargetSchema, kind_name

NAME: Final = "alertManager"
PATH: Final = "/api/v2/alerts"
# Until an Alertmanager hears of an alert again it keeps it firing. Past the next reminder, plus what may delay it.
MARGIN: Final = timedelta(minutes=10)


class AlertmanagerTargetSchema(HttpTargetSchema):
    kind = kind_name(NAME)


def render(outgoing: Outgoing) -> bytes:
    """A list of one alert. The labels are its identity, so they never hold a value or a state."""
    notice, now = outgoing.notice, outgoing.now
    alert = notice["alert"]
    is_firing = notice["state"] == NoticeKind.TRIGGERED
    valid = timedelta(seconds=notice["validSeconds"]) + MARGIN
    rendered = {
        "labels": {
            "alertname": alert["title"],
            "alert_id": alert["id"],
            "severity": alert["severity"],
            "dataset": alert["dataset"],
            "tenant": alert["tenant"],
        },
        "annotations": {"summary": notices.summary(notice), "rows": json.dumps(notice["rows"], ensure_ascii=False)},
        **({"startsAt": notice["triggeredAt"]} if notice["triggeredAt"] else {}),
        "endsAt": notices.time_text(now + valid if is_firing else now),
        **({"generatorURL": outgoing.link} if outgoing.link else {}),
    }
    return notices.as_json([rendered])


def send(destination: HttpDestination, outgoing: Outgoing) -> Answer:
    return http_target.post(destination, outgoing, render(outgoing), PATH)


KIND = TargetKind(
    name=NAME,
    schema=AlertmanagerTargetSchema,
    destination=HttpDestination,
    read=http_target.read,
    show=http_target.show_with_tls,
    send=send,
)
