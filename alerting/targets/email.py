"""E-mail, handed to an SMTP server that the target names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final

from marshmallow import fields, validate

from alerting import addresses, http_target, notices, smtp
from alerting.addresses import Policy
from alerting.connections import permitted_address
from alerting.target_kind import Answer, Outgoing, TargetKind
from errors import InvalidRequest
from schemas.targets import MASK, CredentialsSchema, TargetSchema, endpoint, kind_name

NAME: Final = "email"
SCHEMES: Final = ("smtps", "smtp")
MOST_RECIPIENTS: Final = 20
# What HTML takes for an address: no comments, no quotes, nothing that ends a line of SMTP.
ADDRESS: Final = r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*\Z"
# Lines of 7 bits: not every server takes eight.
POLICY: Final = SMTP.clone(cte_type="7bit")


def _address(**options: object) -> fields.String:
    mailbox = validate.Regexp(ADDRESS, error="Must be an e-mail address.")
    return fields.String(validate=[validate.Length(max=254), mailbox], **options)  # type: ignore[arg-type]  # a field's


class EmailTargetSchema(TargetSchema):
    kind = kind_name(NAME)
    endpoint = endpoint(required=True)
    start_tls = fields.Boolean(data_key="startTls", load_default=True, truthy={True}, falsy={False})
    auth = fields.Nested(CredentialsSchema, allow_none=True, load_default=None)
    sender = _address(data_key="from", required=True)
    recipients = fields.List(_address(), data_key="to", required=True, validate=validate.Length(1, MOST_RECIPIENTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """Everything needed to hand a mail over. Secret."""

    endpoint: str
    start_tls: bool
    username: str | None
    password: str | None
    sender: str
    recipients: list[str]
    skip_tls_check: bool

    def __repr__(self) -> str:
        return f"<destination {self.endpoint}>"


def read(asked: Mapping[str, Any], policy: Policy) -> Mailbox:
    """Raises InvalidRequest."""
    _check(asked, policy)
    credentials = asked["auth"] or {}
    return Mailbox(
        endpoint=asked["endpoint"],
        start_tls=asked["start_tls"],
        username=credentials.get("username"),
        password=credentials.get("password"),
        sender=asked["sender"],
        recipients=list(dict.fromkeys(asked["recipients"])),
        skip_tls_check=asked["skip_tls_check"],
    )


def _check(asked: Mapping[str, Any], policy: Policy) -> None:
    server = addresses.check(asked["endpoint"], policy, SCHEMES)
    if server.target != "/":
        raise InvalidRequest("`endpoint` of this type is a server alone, such as smtps://host:465", field="endpoint")
    if not all(value.isascii() for value in (asked["auth"] or {}).values()):
        raise InvalidRequest("`auth`: SMTP takes ASCII only.", field="auth")
    if policy.names(server.host):
        return
    if not asked["start_tls"]:
        raise InvalidRequest(
            "`startTls` can be false only for hosts that an administrator names in WEIR_ALERT_ALLOWED_HOSTS",
            field="startTls",
        )
    http_target.require_tls_check(skips_tls_check=asked["skip_tls_check"])


def show(mailbox: Mailbox) -> dict[str, object]:
    """All but the password: the address of a mail server is no secret."""
    shown: dict[str, object] = {
        "endpoint": mailbox.endpoint,
        "startTls": mailbox.start_tls,
        "from": mailbox.sender,
        "to": mailbox.recipients,
        "skipTlsCheck": mailbox.skip_tls_check,
    }
    if mailbox.username is not None:
        shown["auth"] = {"username": mailbox.username, "password": MASK}
    return shown


def render(outgoing: Outgoing, sender: str, recipients: list[str]) -> bytes:
    """The mail. A repetition has the same Message-ID; the mails of one alert are one conversation."""
    notice, domain = outgoing.notice, sender.rpartition("@")[2]
    message = EmailMessage(POLICY)
    # What is said of a dataset may hold line feeds, and a header is one line.
    message["Subject"] = " ".join(notices.summary(notice).split())
    message["From"], message["To"] = sender, ", ".join(recipients)
    message["Date"] = outgoing.delivery.created_at
    message["Message-ID"] = f"<{outgoing.delivery.id}@{domain}>"
    message["References"] = f"<{notice['alert']['id']}@{domain}>"
    # RFC 3834: holiday answers are not sent to programs.
    message["Auto-Submitted"] = "auto-generated"
    message["X-Weir-Delivery"] = outgoing.delivery.id
    message.set_content(_text(outgoing))
    return message.as_bytes()


def _text(outgoing: Outgoing) -> str:
    notice = outgoing.notice
    rows = [json.dumps(row, ensure_ascii=False) for row in notice["rows"]]
    counted = [f"{notice['rowsBeyond']} rows are beyond the threshold; the first {len(rows)}:"] if rows else []
    parts = [[notices.summary(notice)], [*counted, *rows], [outgoing.link] if outgoing.link else []]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def send(mailbox: Mailbox, outgoing: Outgoing) -> Answer:
    """Raises InvalidRequest, Undelivered."""
    endpoint = addresses.check(mailbox.endpoint, outgoing.policy, SCHEMES)
    is_named = outgoing.policy.names(endpoint.host)
    server = smtp.Server(
        endpoint=endpoint,
        address=permitted_address(endpoint, outgoing.policy),
        starts_tls=mailbox.start_tls or not is_named,
        checks_tls=not (mailbox.skip_tls_check and is_named),
        username=mailbox.username,
        password=mailbox.password,
    )
    message = render(outgoing, mailbox.sender, mailbox.recipients)
    return smtp.send(server, smtp.Mail(mailbox.sender, tuple(mailbox.recipients), message))


KIND = TargetKind(name=NAME, schema=EmailTargetSchema, destination=Mailbox, read=read, show=show, send=send)
