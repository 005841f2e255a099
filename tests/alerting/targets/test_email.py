"""Mail to a real SMTP server on loopback: docs/alerts.md; RFC 5321, 3207, 3834."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alerting import connections
from alerting.addresses import Policy
from alerting.dispatch import Dispatcher
from alerting.state_machine import NoticeKind
from alerting.targets import email
from alerting.targets.email import KIND, Mailbox
from errors import InvalidRequest
from models.delivery import Attempt
from schemas.reading import load
from tests.alerting.mail_server import Mailed, mail_server, make_certificate
from tests.alerting.samples import NOON, SECRETS, delivery, noticed, outgoing, sealed

ROWS = ({"host": "wéb-1\r\nBcc: evil@example.com", "count": 12},)
OPEN, CLOSED = Policy.of(["127.0.0.1", "localhost"]), Policy.of(())
BODY = {
    "name": "ops",
    "type": "email",
    "endpoint": "smtps://smtp.example.com",
    "auth": {"username": "weir", "password": "p4ssw0rd"},
    "from": "weir@example.com",
    "to": ["ops@example.com", "on-call@example.org"],
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's certificate is one that a client believes."""
    monkeypatch.setattr(connections.certifi, "where", lambda: str(certificate))


@pytest.fixture
def server(certificate: Path) -> Iterator[Mailed]:
    with mail_server(certificate) as running:
        yield running


def mailbox(port: int, scheme: str = "smtp", **members: Any) -> Mailbox:
    given = {"start_tls": True, "username": None, "password": None, "skip_tls_check": False}
    given |= {"sender": BODY["from"], "recipients": BODY["to"], "endpoint": f"{scheme}://localhost:{port}"}
    return Mailbox(**given | members)  # type: ignore[arg-type]


def attempt(to: Mailbox, policy: Policy = OPEN, state: NoticeKind = NoticeKind.TRIGGERED) -> Attempt:
    return Dispatcher(policy, SECRETS, "https://weir.example.com").attempt(
        delivery(noticed(state, ROWS)), sealed("email", to), NOON
    )


@pytest.mark.usefixtures("trusted")
def test_mail_arrives_under_tls_and_is_one_that_people_can_read(server: Mailed):
    done = attempt(mailbox(server.port))

    assert done == Attempt(NOON, 250, None, None)
    ((envelope, mail),) = server.received
    assert server.was_tls == [True]
    assert (envelope.mail_from, envelope.rcpt_tos) == (BODY["from"], BODY["to"])
    assert mail["Subject"] == "[high] Too many errors: triggered, 12 > 10 in dataset app up to 2026-01-02T12:00:00.000Z"
    assert (mail["From"], mail["To"]) == ("weir@example.com", "ops@example.com, on-call@example.org")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Message-ID"] == "<01ARZ3NDEKTSV4RRFFQ69G5FAD@example.com>"
    text = mail.get_content()
    assert '{"host": "wéb-1\\r\\nBcc: evil@example.com", "count": 12}' in text
    assert "https://weir.example.com/#/alerts/01ARZ3NDEKTSV4RRFFQ69G5FAV" in text


@pytest.mark.usefixtures("trusted")
def test_credentials_go_to_a_server_with_tls_from_the_first_byte(certificate: Path):
    with mail_server(certificate, how="tls", wants_login=True) as server:
        done = attempt(mailbox(server.port, "smtps", username="weir", password="p4ssw0rd"))
        refused = attempt(mailbox(server.port, "smtps", username="weir", password="wrong"))

    assert done.error is None
    assert set(server.logins) == {(b"weir", b"p4ssw0rd"), (b"weir", b"wrong")}
    assert (refused.status, refused.next_at) == (535, None)


def test_certificate_of_nobody_is_not_believed(server: Mailed):
    failed = attempt(mailbox(server.port))

    assert str(failed.error).startswith("TLS failed")
    assert failed.next_at is not None
    assert server.received == []


def test_certificate_is_not_checked_where_an_administrator_lets_it(server: Mailed):
    assert attempt(mailbox(server.port, skip_tls_check=True)).error is None


def test_server_without_tls_gets_neither_mail_nor_password(certificate: Path):
    """A man in the middle who takes STARTTLS out of the answer must gain nothing."""
    with mail_server(certificate, how="plain") as server:
        failed = attempt(mailbox(server.port, username="weir", password="p4ssw0rd"))
        in_the_clear = attempt(mailbox(server.port, start_tls=False))

    assert str(failed.error).startswith("the server offers no STARTTLS")
    assert server.logins == []
    assert in_the_clear.error is None
    assert server.was_tls == [False]


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("answer", "again"), [("451 later", True), ("421 busy", True), ("550 no", False), ("554 spam", False)]
)
def test_refused_mail_is_repeated_if_the_server_says_later(server: Mailed, answer: str, again: bool):
    server.answer = answer

    failed = attempt(mailbox(server.port))

    assert (failed.status, failed.next_at is not None) == (int(answer[:3]), again)
    assert answer[4:] not in str(failed.error)


@pytest.mark.usefixtures("trusted")
def test_recipients_that_are_refused_are_told_and_the_others_get_one_mail(server: Mailed):
    server.refused = {"ops@example.com": "550 no such user"}

    done = attempt(mailbox(server.port))

    assert [envelope.rcpt_tos for envelope, _ in server.received] == [["on-call@example.org"]]
    assert done == Attempt(NOON, 550, "1 of 2 recipients were refused; the others have it", None)


@pytest.mark.usefixtures("trusted")
def test_mail_that_nobody_may_get_yet_is_repeated(server: Mailed):
    server.refused = {"ops@example.com": "450 greylisted", "on-call@example.org": "550 no such user"}

    failed = attempt(mailbox(server.port))

    assert (failed.status, failed.next_at is not None) == (450, True)


def test_private_server_is_not_connected_to(server: Mailed):
    failed = attempt(mailbox(server.port), CLOSED)

    assert (failed.error, failed.next_at) == (connections.NOT_PERMITTED, None)


def test_server_that_trickles_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "TOTAL_SECONDS", 0.3)
    stop = threading.Event()

    def trickle(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"220-wait\r\n")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=trickle, args=(listening,))
        thread.start()
        failed = attempt(mailbox(listening.getsockname()[1]))
        stop.set()
        thread.join()

    assert failed.error == "no answer in time"
    assert failed.next_at is not None


BAD = {
    "HTTP": ({"endpoint": "https://smtp.example.com"}, "endpoint"),
    "a path": ({"endpoint": "smtps://smtp.example.com/x"}, "endpoint"),
    "a private server": ({"endpoint": "smtp://10.0.0.1:25"}, "endpoint"),
    "no recipient": ({"to": []}, "to"),
    "a line feed in a recipient": ({"to": ["a@example.com\r\nRCPT TO:<b@example.com>"]}, "to.0"),
    "no sender": ({"from": "weir"}, "from"),
    "no TLS": ({"endpoint": "smtp://smtp.example.com", "startTls": False}, "startTls"),
    "unchecked TLS": ({"skipTlsCheck": True}, "skipTlsCheck"),
    "masked password": ({"auth": {"username": "weir", "password": "********"}}, "auth.password"),
    "password in Greek": ({"auth": {"username": "weir", "password": "κωδικός"}}, "auth"),
}


@pytest.mark.parametrize(("members", "field"), BAD.values(), ids=BAD)
def test_bad_body_is_refused_by_its_field(members: dict[str, object], field: str):
    with pytest.raises(InvalidRequest) as refused:
        KIND.read(load(KIND.schema(), BODY | members), CLOSED)

    assert refused.value.details["field"] == field


def test_shown_is_everything_but_the_password():
    shown = KIND.show(KIND.read(load(KIND.schema(), BODY), CLOSED))

    assert shown["auth"] == {"username": "weir", "password": "********"}
    assert (shown["endpoint"], shown["from"], shown["to"]) == (BODY["endpoint"], BODY["from"], BODY["to"])


def test_subject_is_one_line_whatever_the_reason_holds():
    notice = noticed(NoticeKind.DISABLED) | {"reason": "gone\r\nBcc: evil@example.com"}

    head, _, _ = email.render(outgoing(notice), "a@example.com", ["b@example.com"]).partition(b"\r\n\r\n")

    assert b"\nBcc" not in head
