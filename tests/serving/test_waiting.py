"""Nobody holds a connection by doing nothing: deadlines for clients, and room for others."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import gevent
import pytest

from serving.gunicorn_worker.waiting import Pause, Sending, Wait, Waits
from tests.serving.test_answers import APPLICATION, asked, exchange, serving

IMPATIENT = """
import serving.gunicorn_worker.connection

serving.gunicorn_worker.connection.SEND_SECONDS = 1
"""
KNOWING = """
def knowing(environ, start_response):
    if environ["PATH_INFO"] == "/known":
        environ["weir.known"] = True
    return app(environ, start_response)
"""
PATIENCE_SECONDS = 20
OURS = "serving.gunicorn_worker.worker.Worker"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("waiting")
    (folder / "answers.py").write_text(APPLICATION + IMPATIENT + KNOWING)
    (folder / "none.py").touch()
    return folder


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    with serving(folder, OURS) as port:
        yield port


def connect(port: int) -> socket.socket:
    connection = socket.socket()
    # What the kernel would hold of an answer that nobody reads.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect(("127.0.0.1", port))
    return connection


@pytest.mark.parametrize("path", ["/large", "/streamed"])
def test_a_client_that_takes_nothing_of_its_answers_is_cut_off(port: int, path: str):
    with connect(port) as connection:
        connection.sendall((asked(path) * 100).encode())
        time.sleep(3)

        received = _rest(connection)

    assert 0 < len(received) < 10_000_000


def _rest(connection: socket.socket) -> bytes:
    """Until the server has closed. Raises TimeoutError if it has not."""
    received = b""
    try:
        while piece := connection.recv(1_000_000):
            received += piece
    except ConnectionResetError:
        pass
    return received


def test_a_client_that_takes_its_time_gets_all_of_its_answer(port: int):
    with connect(port) as connection:
        connection.sendall(asked("/large", close=True).encode())
        received = b""
        while piece := connection.recv(30_000):
            received += piece
            time.sleep(0.03)

    assert received.endswith(b"x" * 300_000)


@pytest.mark.parametrize(
    "holding",
    [b"", b"GET /a HTTP/1.1\r\n", asked("/small").encode(), asked("/large").encode() * 100],
    ids=["nothing", "half a head", "between requests", "untaken answers"],
)
def test_strangers_cannot_hold_all_connections(folder: Path, holding: bytes):
    """Each of them could else stay for as long as the time of keep-alive, and come back."""
    options = ("--worker-connections", "10", "--keep-alive", "75")
    with serving(folder, OURS, *options) as port, ExitStack() as held:
        for _ in range(30):
            connection = held.enter_context(connect(port))
            connection.sendall(holding)

        answer = exchange(port, asked("/small", close=True))

    assert answer.startswith(b"HTTP/1.1 200")


def test_a_connection_that_brought_a_credential_stays_when_strangers_crowd(folder: Path):
    with (
        serving(folder, OURS, "--worker-connections", "10", "--keep-alive", "75", app="answers:knowing") as port,
        connect(port) as known,
        ExitStack() as held,
    ):
        known.sendall(asked("/known").encode())
        known.recv(65536)
        for _ in range(30):
            held.enter_context(connect(port))
        exchange(port, asked("/small", close=True))

        known.sendall(asked("/known").encode())

        assert known.recv(65536).startswith(b"HTTP/1.1 200")


def held(waits: Waits, kind: type[Wait], *, is_known: bool) -> gevent.Greenlet:
    """A greenlet that waits; its value is whether it was ended."""

    def wait() -> bool:
        try:
            with kind(waits, lambda: PATIENCE_SECONDS, is_known=is_known):
                gevent.sleep(PATIENCE_SECONDS)
        except ConnectionResetError:
            pass
        return True

    greenlet = gevent.spawn(wait)
    gevent.sleep(0)
    return greenlet


def crowded() -> Waits:
    waits = Waits(lambda: 10)
    waits.open = 10
    return waits


def test_strangers_give_way_first_then_who_asks_nothing_and_never_a_known_clients_answer():
    waits = Waits(lambda: 10)
    answer = held(waits, Sending, is_known=True)
    idle = held(waits, Pause, is_known=True)
    first, second = held(waits, Pause, is_known=False), held(waits, Sending, is_known=False)
    waits.open = 10

    ended = []
    for _ in range(4):
        waits.begin(Pause(waits, lambda: 0, is_known=True))
        waits.under_way.popitem()
        gevent.sleep(0.01)
        ended.append([each.dead for each in (first, second, idle, answer)])

    assert ended == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, False],
    ]
    answer.kill()


def test_a_wait_that_is_over_is_not_ended_afterwards():
    """What comes with the signal to give way is served."""
    waits = crowded()

    with Pause(waits, lambda: PATIENCE_SECONDS, is_known=False) as _:
        wait = next(iter(waits.under_way))
        wait.end()
    gevent.sleep(0.01)

    assert not waits.under_way


def test_there_is_no_giving_way_while_there_is_room():
    waits = Waits(lambda: 10)
    waits.open = 9

    greenlets = [held(waits, Pause, is_known=False) for _ in range(9)]

    assert not any(each.dead for each in greenlets)
    gevent.killall(greenlets)
