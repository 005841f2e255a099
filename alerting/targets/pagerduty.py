"""PagerDuty, by its Events API v2: an incident opens with `trigger` and closes with `resolve`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from marshmallow import fields, validate

from alerting import http_target, notices
from alerting.addresses import Policy
from alerting.http_target import HttpDestination
from alerting.state_machine import NoticeKind
from alerting.target_kind import Answer, Outgoing, TargetKind
from schemas.targets import MASK, TargetSchema, endpoint, kind_name, unmasked

NAME: Final = "pagerDuty"
# Accounts of the European region have https://events.eu.pagerduty.com/v2/enqueue.
ENDPOINT: Final = "https://events.pagerduty.com/v2/enqueue"
# Events API v2, PD-CEF: the severities that it knows, and the longest summary.
SEVERITIES: Final = {"critical": "critical", "high": "error", "medium": "warning", "low": "info"}
LONGEST_SUMMARY: Final = 1024


class PagerDutyTargetSchema(TargetSchema):
    kind = kind_name(NAME)
    endpoint = endpoint(load_default=ENDPOINT)
    routing_key = fields.String(
        data_key="routingKey",
        required=True,
        validate=[unmasked, validate.Regexp(r"^[A-Za-z0-9_+/=-]{1,100}\Z", error="Must be an integration key.")],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyDestination:
    """The integration key of a service, and where the Events API is. Secret."""

    endpoint: str
    routing_key: str
    skip_tls_check: bool

    def __repr__(self) -> str:
        return "<destination PagerDuty>"


def read(asked: Mapping[str, Any], policy: Policy) -> PagerDutyDestination:
    """Raises InvalidRequest."""
    skips = asked["skip_tls_check"]
    http_target.check(asked["endpoint"], policy, skips_tls_check=skips, needs_tls=True)
    return PagerDutyDestination(
        endpoint=asked["endpoint"], routing_key=asked["routing_key"], skip_tls_check=asked["skip_tls_check"]
    )


def show(destination: PagerDutyDestination) -> dict[str, object]:
    """The usual address is no secret, and tells the region."""
    is_usual = destination.endpoint == ENDPOINT
    return {
        "endpoint": ENDPOINT if is_usual else http_target.mask(destination.endpoint),
        "routingKey": MASK,
        "skipTlsCheck": destination.skip_tls_check,
    }


def render(outgoing: Outgoing, routing_key: str) -> bytes:
    """An event. All of an alert's bear one key, so that reminders join the incident and `resolve` closes it.

    `disabled` is a `trigger` too: nobody watches any more, and a person has to look.
    """
    notice, link = outgoing.notice, outgoing.link
    # A test proves the key and wakes nobody.
    is_over = notice["state"] in (NoticeKind.RESOLVED, "test")
    event = {
        "routing_key": routing_key,
        "event_action": "resolve" if is_over else "trigger",
        "dedup_key": f"weir/{notice['alert']['id']}",
        "payload": _payload(notice),
        "client": "Weir",
        **({"client_url": link} if link else {}),
    }
    return notices.as_json(event)


def _payload(notice: Mapping[str, Any]) -> dict[str, object]:
    alert = notice["alert"]
    told = ("state", "value", "threshold", "window", "reason", "rowsBeyond", "rows")
    return {
        "summary": notices.summary(notice)[:LONGEST_SUMMARY],
        "source": f"{alert['tenant']}/{alert['dataset']}",
        "severity": SEVERITIES[alert["severity"]],
        "timestamp": notice["window"]["end"],
        "component": alert["dataset"],
        "class": alert["title"],
        "custom_details": {name: notice[name] for name in told} | {"tags": alert["tags"]},
    }


def send(destination: PagerDutyDestination, outgoing: Outgoing) -> Answer:
    """202 is how it says that it took an event, 429 that there are too many."""
    by_http = HttpDestination(endpoint=destination.endpoint, skip_tls_check=destination.skip_tls_check)
    return http_target.post(by_http, outgoing, render(outgoing, destination.routing_key))


KIND = TargetKind(
    name=NAME,
    schema=PagerDutyTargetSchema,
    destination=PagerDutyDestination,
    read=read,
    show=show,
    send=send,
)
