"""Slack's incoming webhooks, and what takes the same body (Mattermost, Rocket.Chat)."""

import json
from collections.abc import Mapping
from functools import partial

from marshmallow import ValidationError, validates

from alerting import http_target, notices
from alerting.http_target import HttpDestination
from alerting.target_kind import Answer, Outgoing, TargetKind
from schemas.targets import HttpTargetSchema, kind_name


class SlackTargetSchema(HttpTargetSchema):
    kind = kind_name("slack")

    @validates("headers")
    def check_headers(self, headers: Mapping[str, str], **_: object) -> None:
        """The path of a hook is all that Slack asks for."""
        if headers:
            raise ValidationError("A Slack target has no headers.")


def render(outgoing: Outgoing) -> bytes:
    """One text, in which events cannot mention anybody or place links."""
    notice, link = outgoing.notice, outgoing.link
    lines = [notices.summary(notice), *(json.dumps(row, ensure_ascii=False) for row in notice["rows"])]
    # Slack reads <!channel> and <https://...|text>: what events say must not become either.
    escaped = "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return notices.as_json({"text": f"{escaped}\n{link}" if link else escaped})


def send(destination: HttpDestination, outgoing: Outgoing) -> Answer:
    return http_target.post(destination, outgoing, render(outgoing))


KIND = TargetKind(
    name="slack",
    schema=SlackTargetSchema,
    destination=HttpDestination,
    read=partial(http_target.read, needs_tls=True),
    show=http_target.show,
    send=send,
)
