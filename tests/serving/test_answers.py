"""Our gunicorn worker hears and answers as gunicorn's own does, but in fewer packets."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import md5
from pathlib import Path

import pytest
from gunicorn.config import Config

from serving.gunicorn_worker.messages import Response
from tests.running import free_port

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.service

APPLICATION = """
import json
from hashlib import md5
from wsgiref.util import FileWrapper

OF_THE_CONNECTION = {"SERVER_PORT", "REMOTE_PORT", "gunicorn.socket"}
OPTIONAL = {"wsgi.file_wrapper", "wsgi.early_hints"}

def told(environ):
    kept = {name: environ[name] for name in environ if name not in OF_THE_CONNECTION | OPTIONAL}
    body = kept.pop("wsgi.input").read()
    kept["wsgi.errors"] = type(kept["wsgi.errors"]).__name__
    answer = json.dumps([kept, len(body), md5(body).hexdigest()], sort_keys=True).encode()
    return "200 OK", [("Content-Length", str(len(answer)))], [answer]

def lengthy(size):
    return "200 OK", [("Content-Length", str(size))], [b"x" * size]

def streamed():
    yield b"one"
    yield b""
    yield b"two" * 50_000

def broken():
    yield b"begun"
    raise ValueError("on purpose")

def broken_at_once():
    raise ValueError("on purpose")
    yield b""

def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/file":
        start_response("200 OK", [("Content-Length", "5")])
        return environ.get("wsgi.file_wrapper", FileWrapper)(open(__file__ + ".txt", "rb"))
    if path == "/unread":
        environ["wsgi.input"].read(2)
    status, headers, body = {
        "/small": lambda: lengthy(2),
        "/large": lambda: lengthy(300_000),
        "/none": lambda: ("204 No Content", [], []),
        "/empty": lambda: lengthy(0),
        "/streamed": lambda: ("200 OK", [], streamed()),
        "/broken": lambda: ("200 OK", [], broken()),
        "/broken/at/once": lambda: ("200 OK", [], broken_at_once()),
        "/longer": lambda: ("200 OK", [("Content-Length", "3")], [b"12", b"34", b"56"]),
        "/refused": lambda: ("200 OK", [("Bad\\nName", "x")], [b""]),
        "/close": lambda: ("200 OK", [("Connection", "close"), ("Content-Length", "1")], [b"x"]),
        "/unread": lambda: lengthy(2),
    }.get(path, lambda: told(environ))()
    start_response(status, headers)
    return body
"""


@contextmanager
def serving(folder: Path, worker: str, *more: str, app: str = "answers:app") -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", app, "-k", worker, "--chdir", str(folder)]
    options = [
        "--pythonpath",
        str(ROOT),
        "--bind",
        f"127.0.0.1:{port}",
        "--no-control-socket",
        "--log-level",
        "critical",
    ]
    with (folder / "errors").open("wb") as errors:
        server = subprocess.Popen([*command, *options, "-c", "none.py", *more], cwd=folder, stderr=errors)
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    (folder / "answers.py").write_text(APPLICATION)
    (folder / "answers.py.txt").write_text("12345")
    (folder / "none.py").touch()
    return folder


@pytest.fixture(scope="module")
def ports(folder: Path) -> Iterator[tuple[int, int]]:
    """Of gunicorn's own worker, and of ours."""
    with serving(folder, "gevent") as plain, serving(folder, "serving.gunicorn_worker.worker.Worker") as ours:
        yield plain, ours


def exchange(port: int, *requests: str) -> bytes:
    """All that comes back for the requests, sent at once, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        return exchange_over(connection, *requests)


def exchange_over(connection: socket.socket, *requests: str) -> bytes:
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


REQUESTS = {
    "headers": "GET /a?b=c&d HTTP/1.1\r\nHost: x\r\nUser-Agent: curl\r\nX-P-Stream:  app \r\nCookie: a=b\r\n\r\n",
    "repeated headers": "GET /a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nX-A: 3\r\n\r\n",
    "escaped path": "GET /a%2Fb%20%C3%A4//c;d HTTP/1.1\r\nHost: x\r\n\r\n",
    "absolute form": "GET http://y:80/a?b HTTP/1.1\r\nHost: x\r\n\r\n",
    "no header": "GET /a HTTP/1.1\r\n\r\n",
    "HTTP/1.0": "GET /a HTTP/1.0\r\nHost: x\r\n\r\n",
    "HTTP/1.0 kept alive": "GET /a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
    "bytes beyond ASCII": "GET /a HTTP/1.1\r\nHost: x\r\nX-A: \u00e4\r\n\r\n",
    "from a proxy": "GET /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n",
    "proxies that disagree": "GET /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Ssl: off\r\n\r\n",
    "mounted": "GET /m/a HTTP/1.1\r\nHost: x\r\nSCRIPT_NAME: /m\r\n\r\n",
    "mounted elsewhere": "GET /a HTTP/1.1\r\nHost: x\r\nSCRIPT_NAME: /m\r\n\r\n",
    "not mounted": "GET /m/a HTTP/1.1\r\nHost: x\r\nScript-Name: /m\r\n\r\n",
    "ambiguous header": "GET /a HTTP/1.1\r\nHost: x\r\nX_A: 1\r\n\r\n",
    "two hosts": "GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "no request": "hello\r\n\r\n",
    "head that ends early": "GET /a HTTP/1.1\r\nHost: x",
    "body": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello",
    "large body": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + "x" * 300_000,
    "body that ends early": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel",
    "body left unread": "POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "large body left unread": "POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + "x" * 300_000,
    "chunks": "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "broken chunks": "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloworld",
    "two lengths": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and chunks": "POST /a HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "expectation": "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    "another expectation": "POST /a HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n",
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_application_is_told_what_gunicorns_worker_tells(ports, request_):
    """First and again on one connection, where much is remembered from the first time (PEP 3333, RFC 9112)."""
    plain, ours = (exchange(port, asked("/small"), request_, request_, asked("/a", close=True)) for port in ports)

    assert ours == plain


@pytest.mark.parametrize("path", ["/broken", "/refused", "/longer", "/close"])
def test_answers_against_the_rules_end_as_those_of_gunicorns_worker(ports, path):
    plain, ours = (exchange(port, asked(path), asked("/small", close=True)) for port in ports)

    assert ours == plain


def test_an_answer_that_fails_before_its_first_byte_is_an_error(ports):
    """gunicorn's worker has sent its head by then, and can only end it."""
    assert exchange(ports[1], asked("/broken/at/once")).startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize("worker", [0, 1], ids=["gevent", "ours"])
def test_what_comes_in_many_pieces_is_one_request(ports, worker):
    body = "".join(f"{number:05}" for number in range(2000))
    request = asked("/a", method="POST", close=True).replace("\r\n\r\n", f"\r\nContent-Length: {len(body)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", ports[worker]), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in [*request, body[:1], body[1:1000], body[1000:9000], body[9000:]]:
            connection.sendall(piece.encode())
            time.sleep(0.002)
        received = b"".join(iter(lambda: connection.recv(65536), b""))

    assert received.startswith(b"HTTP/1.1 200")
    assert received.endswith(f', {len(body)}, "{md5(body.encode()).hexdigest()}"]'.encode())


def test_an_application_can_answer_before_the_body_has_come(ports):
    """Whoever is refused need not send what would not be read."""
    with socket.create_connection(("127.0.0.1", ports[1]), timeout=20) as connection:
        connection.sendall(b"POST /small HTTP/1.1\r\nContent-Length: 5\r\n\r\n")

        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("worker", ["gevent", "serving.gunicorn_worker.worker.Worker"])
def test_a_silent_connection_is_closed_and_the_last_request_of_a_worker_says_so(folder, worker):
    with serving(folder, worker, "--keep-alive", "1", "--max-requests", "3") as port:
        assert exchange(port, asked("/small")).endswith(b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\nxx")
        assert exchange(port, asked("/small") * 9).count(b"Connection: close") == 1
    assert (folder / "errors").read_text() == ""


@pytest.mark.parametrize("worker", ["gevent", "serving.gunicorn_worker.worker.Worker"])
def test_connections_over_a_unix_socket_are_left_to_gunicorn(folder, worker):
    path = str(folder / "socket")
    with serving(folder, worker, "--bind", f"unix:{path}"), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)

        assert exchange_over(connection, asked("/small") * 2, asked("/a", close=True)).count(b"200 OK") == 3


AMBIGUOUS = {
    "bare LF": "GET /a HTTP/1.1\r\nHost: x\nX-A: 1\r\n\r\n",
    "bare LF at the end": "GET /a HTTP/1.1\r\nHost: x\r\n\n",
    "folded line": "GET /a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n more\r\n\r\n",
    "line folded by a tab": "GET /a HTTP/1.1\r\nHost: x\r\n\tX-A: 1\r\n\r\n",
}


@pytest.mark.parametrize("request_", (REQUESTS | AMBIGUOUS).values(), ids=REQUESTS | AMBIGUOUS)
def test_the_two_parsers_agree_on_what_is_refused(ports, pure, request_):
    """RFC 9112 sections 2.2 and 5.2: where one server sees the end of a line and another does not, requests hide."""
    ours, python = (
        exchange(port, request_, asked("/a", close=True)).partition(b"\r\n")[0] for port in (ports[1], pure)
    )

    assert ours == python


@pytest.fixture(scope="module")
def pure(folder: Path) -> Iterator[int]:
    """Of our worker over gunicorn's parser in Python."""
    with serving(folder, "serving.gunicorn_worker.worker.Worker", "--http-parser", "python") as port:
        yield port


class Socket:
    """Takes up to `most` bytes at once."""

    def __init__(self, most):
        self.sent = []
        self.most = most

    def send(self, data, flags=0, timeout=None):
        self.sent.append(bytes(data[: self.most]))
        return len(self.sent[-1])


class Asked:
    version = (1, 1)
    method = "GET"

    def should_close(self):
        return False


def sent_for(pieces: Sequence[bytes], most: int = 100_000) -> list[bytes]:
    """What is sent for an answer of these pieces, by each system call, over a socket that takes so much at once."""
    connection = Socket(most)
    response = Response(Asked(), connection, Config(), nullcontext)
    response.start_response("200 OK", [("Content-Length", str(sum(map(len, pieces))))])
    for piece in pieces:
        response.write(piece)
    response.close()
    return connection.sent


LONG = b"x" * 70_000


@pytest.mark.parametrize(
    ("pieces", "sent"),
    [
        pytest.param([b"body"], [b"HEAD body"], id="head and body"),
        pytest.param([b""], [b"HEAD "], id="empty body"),
        pytest.param([], [b"HEAD "], id="no body"),
        pytest.param([b"one", b"two"], [b"HEAD one", b"two"], id="more of the body"),
        pytest.param([LONG], [b"HEAD ", LONG], id="a large body is not copied"),
    ],
)
def test_a_head_goes_with_the_beginning_of_its_body(pieces, sent):
    headless = [re.sub(rb"HTTP/1.1 200 OK\r\n.*\r\n\r\n", b"HEAD ", each, flags=re.DOTALL) for each in sent_for(pieces)]

    assert headless == sent


def test_what_the_kernel_does_not_take_at_once_follows():
    sent = sent_for([b"body", b"more"], most=10)

    assert len(sent[0]) == 10
    assert b"".join(sent).endswith(b"\r\n\r\nbodymore")
