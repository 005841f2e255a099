"""Bodies: every framing arrives whole, nothing is truncated, nothing outlives its request, connections survive."""

import gzip
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from errors import ClientGone, InvalidBody, Overloaded, TooLarge, UnsupportedMedia
from web.bodies import READ_BYTES, Bodies, read_body, require_json_type
from web.client_connection import require_present
from web.inflight import Inflight

ROOT = Path(__file__).parent.parent.parent
LIMIT = 1_000_000


def request_of(body: bytes = b"", *, chunked: bool = False, length: int | None = None, **headers: str) -> Request:
    builder = EnvironBuilder(method="POST", headers={name.replace("_", "-"): value for name, value in headers.items()})
    environ = builder.get_environ() | {"wsgi.input": BytesIO(body)}
    environ.pop("CONTENT_LENGTH", None)
    if chunked:
        return Request(environ | {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True})
    return Request(environ | {"CONTENT_LENGTH": str(len(body) if length is None else length)})


def read(request: Request, wire: int = LIMIT, decoded: int = LIMIT) -> bytes:
    return read_body(request, max_body_bytes=wire, max_decoded_bytes=decoded)


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("size", [0, 1, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, LIMIT])
def test_body_arrives_whole(chunked, size):
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    assert read(request_of(body, chunked=chunked)) == body


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_body_over_the_wire_limit_is_refused_not_truncated(chunked):
    with pytest.raises(TooLarge) as refused:
        read(request_of(b"x" * 11, chunked=chunked), wire=10)

    assert refused.value.details == {"limit": 10}


def test_body_over_the_limit_is_refused_before_it_is_read():
    request = request_of(b"x" * 11)

    with pytest.raises(TooLarge):
        read(request, wire=10)

    assert request.environ["wsgi.input"].tell() == 0


def test_plain_body_over_the_decoded_limit_is_refused():
    with pytest.raises(TooLarge):
        read(request_of(b"x" * 11), decoded=10)


@pytest.mark.parametrize("size", [100, 100_000], ids=["on the hub", "off the hub"])
def test_compressed_body_is_decoded(size):
    data = json.dumps([{"n": number} for number in range(size)]).encode()

    body = read(request_of(gzip.compress(data, 1), Content_Encoding="gzip"), decoded=10 * LIMIT)

    assert body == data


def test_decoded_limit_is_apart_from_the_wire_limit():
    with pytest.raises(TooLarge) as refused:
        read(request_of(gzip.compress(bytes(LIMIT)), Content_Encoding="gzip"), decoded=1000)

    assert refused.value.details == {"limit": 1000}


def test_body_shorter_than_its_length_is_refused():
    """A sender that broke off: what arrived may look complete (NDJSON), and the sender will send it again."""
    with pytest.raises(InvalidBody):
        read(request_of(b'{"a":1}\n', length=100))


def test_request_without_length_and_without_chunks_has_no_body():
    request = request_of(b"left over")
    del request.environ["CONTENT_LENGTH"]

    assert read(request) == b""


def test_unknown_coding_is_unsupported():
    with pytest.raises(UnsupportedMedia):
        read(request_of(b"x", Content_Encoding="br"))


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "Application/JSON; Charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/x-ndjson",
        "application/ndjson; charset=utf-8",
        "application/jsonl",
        "text/plain",
        "text/plain; charset=us-ascii",
        "application/x-www-form-urlencoded",
        "application/vnd.api+json",
        "application/cloudevents-batch+json",
    ],
)
def test_media_types_of_json_are_accepted(content_type):
    require_json_type(request_of(b"{}", Content_Type=content_type))


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-protobuf",
        "application/msgpack",
        "application/json; charset=utf-16",
        "multipart/form-data; boundary=x",
        "text/html",
    ],
)
def test_other_media_types_are_unsupported(content_type):
    with pytest.raises(UnsupportedMedia):
        require_json_type(request_of(b"{}", Content_Type=content_type))


# --- In flight ------------------------------------------------------------------------------------------------------


def test_body_is_held_until_its_events_are_stored():
    bodies = Bodies(LIMIT, LIMIT, Inflight(LIMIT))

    with bodies.receive(request_of(b"x" * 1000)):
        held = bodies.inflight.held_bytes

    assert (held, bodies.inflight.held_bytes) == (1000, 0)


def test_decompressed_size_counts():
    bodies = Bodies(LIMIT, LIMIT, Inflight(LIMIT))

    with bodies.receive(request_of(gzip.compress(bytes(50_000)), Content_Encoding="gzip")):
        assert bodies.inflight.held_bytes == 50_000


def test_bodies_beyond_the_limit_are_told_to_come_again():
    bodies = Bodies(LIMIT, LIMIT, Inflight(1500))

    with bodies.receive(request_of(b"x" * 1000)):
        with pytest.raises(Overloaded) as refused, bodies.receive(request_of(b"x" * 501)):
            pass
        with bodies.receive(request_of(b"x" * 500)):
            pass

    assert refused.value.retry_after_seconds >= 1
    assert bodies.inflight.held_bytes == 0


def test_bytes_are_let_go_when_storing_fails():
    bodies = Bodies(LIMIT, LIMIT, Inflight(LIMIT))

    with pytest.raises(ZeroDivisionError), bodies.receive(request_of(b"x")):
        raise ZeroDivisionError

    assert bodies.inflight.held_bytes == 0


def test_objects_are_held_while_they_are_made():
    inflight = Inflight(LIMIT)

    with inflight.decoding(b"body", 1000):
        held = inflight.held_bytes

    assert (held, inflight.held_bytes) == (1000, 0)


def test_objects_that_can_never_fit_are_too_large():
    inflight = Inflight(1000)

    with pytest.raises(TooLarge) as refused, inflight.decoding(b"body", 997):
        pass

    assert refused.value.details == {"limit": 1000}
    assert inflight.held_bytes == 0


def test_objects_that_do_not_fit_now_are_told_to_come_again():
    inflight = Inflight(1000)
    inflight.hold(500)

    with pytest.raises(Overloaded), inflight.decoding(b"body", 900):
        pass

    assert inflight.held_bytes == 500


# --- A client that has left ------------------------------------------------------------------------------------------


def test_client_that_has_left_is_worth_no_work():
    ours, theirs = socket.socketpair()
    request = request_of(b"x")
    request.environ["gunicorn.socket"] = ours
    require_present(request)
    theirs.close()

    with ours, pytest.raises(ClientGone):
        require_present(request)


# --- A real server ---------------------------------------------------------------------------------------------------

APPLICATION = """
from gevent import monkey
monkey.patch_all()
from flask import request
from web import bodies, errors, json_bodies
from web.bodies import Bodies
from web.inflight import Inflight
from serving.flask_app.application import Application
bodies.READ_SECONDS = 1
app = Application(__name__)
errors.install(app)
receiver = Bodies(1_000_000, 4_000_000, Inflight(16_000_000))
@app.post("/")
def echo():
    with receiver.receive(request) as body:
        return {"size": len(body), "sum": sum(body)}
@app.post("/managed")
def managed():
    return {"value": json_bodies.json_body()}
@app.get("/held")
def held():
    return {"held": receiver.inflight.held_bytes}
"""


@pytest.fixture(scope="module", params=["serving.gunicorn_worker.worker.Worker", "gevent"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a gunicorn with one worker, ours or its own for gevent, that reads bodies as the service does."""
    folder = tmp_path_factory.mktemp("bodies")
    (folder / "bodies_app.py").write_text(APPLICATION)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["gunicorn", "-c", "/dev/null", "-k", request.param, "-b", f"127.0.0.1:{port}", "--keep-alive", "20"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, "--pythonpath", f"{folder},{ROOT}", "bodies_app:app"],
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
    yield port
    process.terminate()
    process.wait(timeout=60)


def head(*headers: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def with_length(body: bytes, *headers: str) -> bytes:
    return head(f"Content-Length: {len(body)}", *headers) + body


def with_chunks(body: bytes, *headers: str, size: int = 50_000) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head("Transfer-Encoding: chunked", *headers) + framed + b"0\r\n\r\n"


class Connection:
    """One kept-alive connection, spoken to by hand: client libraries hide what goes wrong here."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.socket.close()

    def ask(self, request: bytes) -> tuple[int, dict]:
        self.socket.sendall(request)
        return self.answer()

    def answer(self) -> tuple[int, dict]:
        status = int(self.file.readline().split()[1])
        length = 0
        while (line := self.file.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if status == 100:
            return self.answer()
        return status, json.loads(self.file.read(length))


def held(port: int) -> int:
    with Connection(port) as connection:
        return connection.ask(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")[1]["held"]


BODY = bytes(range(256)) * 3000
ANSWER = (200, {"size": len(BODY), "sum": sum(BODY)})
BIG = b"x" * 1_000_001


@pytest.mark.parametrize("framing", [with_length, with_chunks], ids=["length", "chunked"])
def test_server_hands_over_the_whole_body(server, framing):
    with Connection(server) as connection:
        assert connection.ask(framing(BODY)) == ANSWER


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--data-binary", "@-"], id="length"),
        pytest.param(["-X", "POST", "-T", "-"], id="upload in chunks"),
        pytest.param(["--data-binary", "@-", "-H", "Transfer-Encoding: chunked"], id="chunks"),
        pytest.param(["--data-binary", "@-", "-H", "Expect: 100-continue"], id="asks first"),
        pytest.param(["--data-binary", "@-", "--http1.0"], id="old protocol"),
    ],
)
def test_curl_sends_the_whole_body(server, options):
    command = ["curl", "-sS", "--max-time", "20", *options, f"http://127.0.0.1:{server}/"]

    answer = subprocess.run(command, input=BODY, capture_output=True, check=True).stdout

    assert json.loads(answer) == ANSWER[1]


@pytest.mark.parametrize("server", ["serving.gunicorn_worker.worker.Worker"], indirect=True)
def test_a_slow_sender_that_is_never_silent_for_long_is_heard_to_the_end(server):
    """READ_SECONDS, here 1, is the longest silence; READ_BYTES, asked for at once, take this sender longer."""
    with Connection(server) as connection:
        connection.socket.sendall(head(f"Content-Length: {len(BODY)}"))
        for start in range(0, len(BODY), len(BODY) // 6):
            time.sleep(0.7)
            connection.socket.sendall(BODY[start : start + len(BODY) // 6])

        assert connection.answer() == ANSWER


def test_tiny_chunks_arrive_whole(server):
    with Connection(server) as connection:
        assert connection.ask(with_chunks(BODY[:5000], size=1)) == (200, {"size": 5000, "sum": sum(BODY[:5000])})


def test_expectation_is_met(server):
    """curl and everything built on it asks first when a body is above 1 MiB."""
    with Connection(server) as connection:
        assert connection.ask(with_length(BODY, "Expect: 100-continue")) == ANSWER


@pytest.mark.parametrize("framing", [with_length, with_chunks], ids=["length", "chunked"])
@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        pytest.param(BIG, [], 413, id="over the limit"),
        pytest.param(gzip.compress(bytes(5_000_000)), ["Content-Encoding: gzip"], 413, id="bomb"),
        pytest.param(BODY, ["Content-Encoding: br"], 415, id="refused unread"),
        pytest.param(b"not gzip", ["Content-Encoding: gzip"], 400, id="broken"),
    ],
)
def test_connection_serves_the_next_request_after_a_refusal(server, framing, body, headers, expected):
    """What is left of a refused body must not be read as the next request."""
    with Connection(server) as connection:
        status, answer = connection.ask(framing(body, *headers))
        following = connection.ask(with_length(BODY))

    assert (status, sorted(answer)) in [
        (expected, ["code", "limit", "message", "requestId"]),
        (expected, ["code", "message", "requestId"]),
    ]
    assert following == ANSWER


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(head("Content-Length: 100") + b'{"a":1}\n', id="length"),
        pytest.param(head("Transfer-Encoding: chunked") + b'8\r\n{"a":1}\n\r\n', id="chunked"),
    ],
)
def test_body_that_breaks_off_is_refused(server, request_bytes):
    with Connection(server) as connection:
        connection.socket.sendall(request_bytes)
        connection.socket.shutdown(socket.SHUT_WR)

        assert connection.answer()[0] == 400
    assert held(server) == 0


@pytest.mark.parametrize(
    "framing", [b"zz\r\n", b"3\r\nabcXY", b"5\r\nab\r\n0\r\n\r\n", b"1\r\na\r\n0\r\nbad trailer\r\n\r\n"]
)
def test_broken_chunks_are_refused_and_end_the_connection(server, framing):
    with Connection(server) as connection:
        connection.socket.sendall(head("Transfer-Encoding: chunked") + framing + with_length(b"smuggled"))
        connection.socket.shutdown(socket.SHUT_WR)

        assert connection.answer()[0] == 400
        assert connection.file.read() == b""


@pytest.mark.parametrize("path", ["/", "/managed"])
@pytest.mark.parametrize("framing", ["Content-Length: 100\r\n\r\n1", "Transfer-Encoding: chunked\r\n\r\n1\r\n1"])
def test_sender_that_falls_silent_is_let_go(server, path, framing):
    with Connection(server) as connection:
        status, answer = connection.ask(f"POST {path} HTTP/1.1\r\nHost: weir\r\n{framing}".encode())

    assert (status, answer["code"]) == (503, "body_timeout")
    assert held(server) == 0
