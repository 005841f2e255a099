"""Webhooks: the whole notice as JSON, for programs."""

from alerting import http_target, notices
from alerting.http_target import HttpDestination
from alerting.target_kind import Answer, Outgoing, TargetKind
from schemas.targets import HttpTargetSchema, kind_name


class WebhookTargetSchema(HttpTargetSchema):
    kind = kind_name("webhook")


def render(outgoing: Outgoing) -> bytes:
    """All of the notice, a line for people, and the id by which repetitions are told."""
    notice = outgoing.notice
    shown = {name: value for name, value in notice.items() if name != "validSeconds"}
    head = {"id": outgoing.delivery.id, "message": notices.summary(notice), "url": outgoing.link}
    return notices.as_json({**head, **shown})


def send(destination: HttpDestination, outgoing: Outgoing) -> Answer:
    return http_target.post(destination, outgoing, render(outgoing))


KIND = TargetKind(
    name="webhook",
    schema=WebhookTargetSchema,
    destination=HttpDestination,
    read=http_target.read,
    show=http_target.show_with_tls,
    send=send,
)
