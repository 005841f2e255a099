"""One mail to a server, by an address that was checked before: submission (RFC 6409) with TLS, and an end in time."""

import smtplib
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from alerting.addresses import Endpoint
from alerting.connections import WAIT_SECONDS, Undelivered, limited, tls_context, told
from alerting.target_kind import Answer

READY: Final = 220


@dataclass(frozen=True, slots=True)
class Mail:
    """What is handed over: from whom, to whom, and the message with its headers."""

    sender: str
    recipients: tuple[str, ...]
    message: bytes


@dataclass(frozen=True, slots=True)
class Server:
    """Where to and how. An endpoint of scheme `smtps` begins with TLS; one of `smtp` changes to it, if `starts_tls`."""

    endpoint: Endpoint
    address: str
    starts_tls: bool
    checks_tls: bool
    username: str | None
    password: str | None


def send(server: Server, mail: Mail) -> Answer:
    """Make one attempt. Raises Undelivered. Of answers only the codes are taken."""
    # Said in EHLO; the default would look up this host's own name and tell it.
    client = smtplib.SMTP(local_hostname=mail.sender.rpartition("@")[2], timeout=WAIT_SECONDS)
    try:
        with told(), limited(lambda: client.sock):
            return _converse(client, server, mail)
    finally:
        client.close()


def _converse(client: smtplib.SMTP, server: Server, mail: Mail) -> Answer:
    try:
        _connect(client, server)
        if server.username is not None:
            client.login(server.username, server.password or "")
        refused = client.sendmail(mail.sender, mail.recipients, mail.message)
    except smtplib.SMTPRecipientsRefused as error:
        return _refused(code for code, _ in error.recipients.values())
    except smtplib.SMTPResponseException as error:
        return _refused([error.smtp_code])
    except smtplib.SMTPNotSupportedError as error:
        raise Undelivered("the server offers no STARTTLS, or no authentication that is known here") from error
    with suppress(OSError):
        client.quit()
    if refused:
        # Repeated, it would reach the others twice.
        text = f"{len(refused)} of {len(mail.recipients)} recipients were refused; the others have it"
        return Answer(next(iter(refused.values()))[0], text, is_final=True)
    return Answer(250)


def _connect(client: smtplib.SMTP, server: Server) -> None:
    """Up to where a mail may be sent. Not by `connect` of the library, which looks the name up itself."""
    client.sock = socket.create_connection((server.address, server.endpoint.port), WAIT_SECONDS)
    context = tls_context(checks_tls=server.checks_tls)
    if server.endpoint.scheme == "smtps":
        _secure(client, context, server.endpoint.host)
    code, message = client.getreply()
    if code != READY:
        raise smtplib.SMTPConnectError(code, message)
    client.ehlo_or_helo_if_needed()
    if server.endpoint.scheme == "smtp" and server.starts_tls:
        _start_tls(client, context, server.endpoint.host)


def _start_tls(client: smtplib.SMTP, context: ssl.SSLContext, name: str) -> None:
    """As the library's, but in two steps, so that a handshake that trickles can be cut off as well."""
    if not client.has_extn("starttls"):
        raise smtplib.SMTPNotSupportedError
    code, message = client.docmd("STARTTLS")
    if code != READY:
        raise smtplib.SMTPResponseException(code, message)
    _secure(client, context, name)
    # RFC 3207 section 4.2: what was said before counts no more, and what lies in the buffer was not said under TLS.
    client.file = client.helo_resp = client.ehlo_resp = None
    client.esmtp_features, client.does_esmtp = {}, False
    client.ehlo_or_helo_if_needed()


def _secure(client: smtplib.SMTP, context: ssl.SSLContext, name: str) -> None:
    if client.sock is None:
        raise smtplib.SMTPServerDisconnected
    client.sock = tls = context.wrap_socket(client.sock, server_hostname=name, do_handshake_on_connect=False)
    tls.do_handshake()


def _refused(codes: Iterable[int]) -> Answer:
    """RFC 5321 section 4.2.1: 5yz is final, 4yz is not."""
    worst = min(codes)
    if 500 <= worst < 600:
        return Answer(worst, f"the server answered {worst}, which is final", is_final=True)
    return Answer(worst, f"the server answered {worst}")
