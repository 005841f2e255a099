"""Our gunicorn worker answers as gunicorn's own does, and in fewer packets."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running import free_port
from worker import Joining

ROOT = Path(__file__).parents[2]
APPLICATION = """
import io

def lengthy(size):
    return "200 OK", [("Content-Length", str(size))], [b"x" * size]

def streamed():
    yield b"one"
    yield b""
    yield b"two" * 50_000

def broken():
    yield b"begun"
    raise ValueError("on purpose")

def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/file":
        start_response("200 OK", [("Content-Length", "5")])
        return environ["wsgi.file_wrapper"](open(__file__ + ".txt", "rb"))
    status, headers, body = {
        "/small": lambda: lengthy(2),
        "/large": lambda: lengthy(300_000),
        "/none": lambda: ("204 No Content", [], []),
        "/empty": lambda: lengthy(0),
        "/streamed": lambda: ("200 OK", [], streamed()),
        "/broken": lambda: ("200 OK", [], broken()),
    }[path]()
    start_response(status, headers)
    return body
"""


@contextmanager
def serving(folder: Path, worker: str) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "answers:app", "-k", worker, "--chdir", str(folder)]
    options = [
        "--pythonpath",
        str(ROOT),
        "--bind",
        f"127.0.0.1:{port}",
        "--no-control-socket",
        "--log-level",
        "critical",
    ]
    server = subprocess.Popen([*command, *options, "-c", "/dev/null"], cwd=folder)
    try:
        wait_for(port)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("gunicorn does not answer")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Of gunicorn's own worker, and of ours."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "answers.py").write_text(APPLICATION)
    (folder / "answers.py.txt").write_text("12345")
    with serving(folder, "gevent") as plain, serving(folder, "worker.Worker") as ours:
        yield plain, ours


def exchange(port: int, *requests: str) -> bytes:
    """All that comes back for the requests, sent at once, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("".join(requests).encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    return re.sub(rb"\r\nDate: [^\r]*", b"", received)


def asked(path: str, *, method: str = "GET", close: bool = False) -> str:
    last = "Connection: close\r\n" if close else ""
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{last}\r\n"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/small", "/large", "/none", "/empty", "/streamed", "/file"])
def test_answers_are_those_of_gunicorns_worker(ports, path, method):
    plain, ours = (
        exchange(port, asked(path, method=method), asked("/small"), asked(path, method=method, close=True))
        for port in ports
    )

    assert ours == plain
    assert ours.startswith(b"HTTP/1.1 20")


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(ports):
    received = exchange(ports[1], asked("/broken"))

    assert not received.endswith(b"0\r\n\r\n")


class Connection:
    """Takes up to ten bytes at once, unless it is to take all."""

    def __init__(self):
        self.sent = []

    def send(self, data):
        self.sent.append(data[:10])
        return len(data[:10])

    def sendall(self, data):
        self.sent.append(data)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param([b"head", b"body"], [b"headbody"], id="head and body"),
        pytest.param([b"head", b"long body"], [b"headlong b", b"ody"], id="more than the kernel takes at once"),
        pytest.param([b"head", b""], [b"head"], id="empty body"),
        pytest.param([b"head"], [b"head"], id="no body"),
        pytest.param([b"head", b"one", b"two"], [b"headone", b"two"], id="more of the body"),
        pytest.param([b"head", b"x" * 70_000], [b"head", b"x" * 70_000], id="a large body is not copied"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_a_head_goes_with_the_beginning_of_its_body(given, sent):
    connection = Connection()
    joining = Joining(connection)
    for data in given:
        joining.sendall(data)
    joining.flush()

    assert connection.sent == sent
