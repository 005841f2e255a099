"""Deliveries to a real receiver on loopback: docs/alerts.md, attacks.md 26."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from alerting import addresses, connections, dispatch, http_target, notices, outbound, state_machine
from alerting.addresses import Policy
from alerting.dispatch import Dispatcher
from alerting.outbound import Reply
from alerting.state_machine import Result
from auth.secrets import Secrets
from models.alert import Status
from models.delivery import Attempt
from models.target import Target
from tests.alerting.receiver import Receiver, receiving
from tests.alerting.samples import NOON, SECRETS, alert, delivery, target

VERDICT = Result(12, ({"count": 12},))
NOTICE = notices.notice(alert(), state_machine.advance(alert(Status()), VERDICT, NOON, NOON), VERDICT, NOON)
OPEN, CLOSED = Policy.of(["127.0.0.1"]), Policy.of(())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def attempt(to: Target, policy: Policy = OPEN, attempts: int = 0) -> Attempt:
    return Dispatcher(policy, SECRETS, None).attempt(delivery(NOTICE, attempts), to, NOON)


def test_notice_arrives_with_its_headers(receiver: Receiver):
    done = attempt(target(endpoint=f"{receiver.url}/hook?a=b", headers={"X-Auth": "s3cr3t"}))

    (got,) = receiver.received
    assert done == Attempt(NOON, 200, None, None)
    assert got.path == "/hook?a=b"
    assert got.json["message"].startswith("[high] Too many errors")
    assert {name: got.headers[name] for name in ("X-Auth", "Content-Type", "X-Weir-Delivery", "Host")} == {
        "X-Auth": "s3cr3t",
        "Content-Type": "application/json",
        "X-Weir-Delivery": "01ARZ3NDEKTSV4RRFFQ69G5FAD",
        "Host": f"127.0.0.1:{receiver.port}",
    }


def test_alertmanager_gets_credentials_at_its_usual_path(receiver: Receiver):
    attempt(target("alertManager", receiver.url, username="u", password="p"))

    (got,) = receiver.received
    assert (got.path, got.headers["Authorization"]) == ("/api/v2/alerts", "Basic dTpw")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
def test_receiver_that_says_later_is_tried_again(receiver: Receiver, status: int):
    receiver.answers = [(status, {})]

    failed = attempt(target(endpoint=receiver.url))

    assert (failed.status, failed.error) == (status, f"the receiver answered {status}")
    assert failed.next_at is not None


@pytest.mark.parametrize("status", [400, 401, 404, 410, 301, 302, 307, 308])
def test_receiver_that_says_never_is_not_tried_again(receiver: Receiver, status: int):
    receiver.answers = [(status, {"Location": "http://169.254.169.254/"})]

    failed = attempt(target(endpoint=receiver.url))

    assert (failed.status, failed.next_at) == (status, None)


def test_redirect_is_not_followed(receiver: Receiver):
    with receiving() as inside:
        receiver.answers = [(307, {"Location": f"{inside.url}/secret"})]

        failed = attempt(target(endpoint=receiver.url))

        assert inside.received == []
    assert "redirect" in str(failed.error)


def test_private_address_is_not_connected_to(receiver: Receiver):
    failed = attempt(target(endpoint=receiver.url), CLOSED)

    assert receiver.received == []
    assert (failed.next_at, failed.status) == (None, None)


def test_name_that_resolves_to_a_private_address_is_not_connected_to(receiver: Receiver):
    failed = attempt(target(endpoint=f"http://localhost:{receiver.port}/"), CLOSED)

    assert receiver.received == []
    assert failed.error == connections.NOT_PERMITTED
    assert "WEIR_ALERT_ALLOWED_HOSTS" in connections.NOT_PERMITTED


def test_name_is_looked_up_once_and_the_checked_address_connected_to(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    """DNS rebinding: the name is loopback when it is checked, and somewhere else the next time anybody asks."""
    asked: list[str] = []

    def resolver(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "192.0.2.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    endpoint = addresses.check(f"http://rebinding.example.com:{receiver.port}/", OPEN)
    monkeypatch.setattr(connections.socket, "getaddrinfo", resolver)
    address = addresses.choose(endpoint, connections.resolve(endpoint), OPEN)
    monkeypatch.undo()
    assert address == "127.0.0.1"

    reply = outbound.post(endpoint, address, b"{}", {})

    assert (reply.status, asked) == (200, ["rebinding.example.com"])
    assert receiver.received[0].headers["Host"] == f"rebinding.example.com:{receiver.port}"


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")

    assert attempt(target(endpoint=receiver.url)).error is None


def test_receiver_that_is_away_is_tried_again():
    with receiving() as gone:
        url = gone.url

    failed = attempt(target(endpoint=url))

    assert failed.error == "the connection failed: ConnectionRefusedError"
    assert failed.next_at is not None


def test_answer_that_trickles_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "TOTAL_SECONDS", 0.3)
    stop = threading.Event()

    def trickle(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"X-More: 1\r\n")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=trickle, args=(server,))
        thread.start()
        failed = attempt(target(endpoint=f"http://127.0.0.1:{server.getsockname()[1]}/"))
        stop.set()
        thread.join()

    assert failed.status is None
    assert failed.next_at is not None


def test_plain_server_does_not_pass_for_tls(receiver: Receiver):
    failed = attempt(target(endpoint=receiver.url.replace("http:", "https:")))

    assert str(failed.error).startswith("TLS failed")
    assert receiver.received == []


def test_target_sealed_under_another_key_is_given_up():
    done = Dispatcher(OPEN, Secrets(b"1" * 32), None).attempt(delivery(NOTICE), target(), NOON)

    assert done.next_at is None


def test_delays_double_up_to_a_quarter_of_an_hour_and_end_after_a_day():
    delays = [dispatch.next_attempt(delivery(NOTICE, attempts), NOON) for attempts in (0, 1, 2, 3, 50)]

    seconds = [(at - NOON).total_seconds() for at in delays if at is not None]
    for measured, expected in zip(seconds, (5, 10, 20, 40, 900), strict=True):
        assert expected * 0.8 <= measured <= expected * 1.2
    assert dispatch.next_attempt(delivery(NOTICE), NOON + timedelta(hours=24)) is None


@pytest.mark.parametrize(("header", "least"), [("120", 96), ("99999999", 720), ("soon", 4), ("-5", 4)])
def test_receiver_may_ask_for_time_within_reason(header: str, least: float):
    again = dispatch.delivery_outcome(delivery(NOTICE), http_target.answer(Reply(429, header)), NOON).next_at

    assert again is not None
    assert least <= (again - NOON).total_seconds() <= 1080


def test_target_of_a_kind_that_this_version_does_not_know_is_given_up():
    """As after a step back to an older version."""
    unknown = replace(target(), content=replace(target().content, kind="carrierPigeon"))

    assert attempt(unknown) == Attempt(NOON, None, "this version knows no targets of type carrierPigeon", None)
