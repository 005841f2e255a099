"""What a running service logs, as a log shipper reads it: on no path anything that somebody sent."""

import gzip
import json
import re
import socket
import struct
from collections.abc import Callable

import pytest

from tests.running import ADMIN, Service, wait_until

CANARY = "canary7f3e"
MANY = 20_000
# What one request may make the log grow by, whatever it is.
MOST_BYTES = 12_000


def test_every_line_is_json_names_its_request_and_holds_no_secret(start_service: Callable[..., Service]):
    service = start_service(workers=1, WEIR_LOG_FORMAT="json", WEIR_SECRET_KEY="a-key-that-seals")
    secret = service.make_key("logged", {"privilege": "ingestor"})
    wrong = "11111111-2222-4333-8444-555555555555"
    service.call("POST", "/api/v1/ingest", json=[{}], headers={"X-API-Key": wrong, "X-Request-Id": "with-a-wrong-key"})
    service.call("POST", "/api/v1/query", json={"query": "SELECT"}, headers={"X-API-Key": secret})
    wait_until(lambda: "maintenance leads" in service.log.read_text())
    service.stop()

    text = service.log.read_text()

    lines = [json.loads(line) for line in text.splitlines()]
    (refused,) = [line for line in lines if line.get("request_id") == "with-a-wrong-key"]
    assert (refused["level"], refused["code"]) == ("info", "unauthenticated")
    assert any(line["logger"] == "gunicorn.error" for line in lines)
    assert any(line["logger"] == "storage.upkeep.maintenance" and "maintenance" in line["message"] for line in lines)
    for each in (secret, wrong, ADMIN[1], "a-key-that-seals"):
        assert each not in text


def large(start: bytes, end: bytes = b"") -> bytes:
    """A body that is decoded on a thread, and wrong only at its end."""
    return start + b'{"a": "%b"},' % CANARY.encode() * MANY + end


def length_delimited(number: int, content: bytes) -> bytes:
    """A protobuf field; the content has less than 2 MiB."""
    size = len(content)
    return bytes([number << 3 | 2, size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + content


TEXT = length_delimited(1, (CANARY * MANY).encode())
SQL = (
    "select '{}'::int",
    "select cast('{}' as timestamptz) from app",
    "select * from app where a = '{}' and nosuch = 1",
    "select regexp_replace(a, '{}(', '') from app",
    "select '{}' ||| 1",
    "select 1 / (length('{}') - 10)",
    "select ('{{\"{}\"'::jsonb)",
    'select "{}" from app',
    "select array[array['{}']",
)
POSTS = {
    "JSON": ("/api/v1/ingest", "application/json", large(b"[", b"}")),
    "JSON that is small": ("/api/v1/ingest", "application/json", b'[{"a": "%b"' % CANARY.encode()),
    "JSON of other values": ("/api/v1/ingest", "application/json", large(b"[", b"1]")),
    "JSON of other bytes": ("/api/v1/ingest", "application/json", large(b"[", b'"\xff"]')),
    "OTLP": ("/v1/logs", "application/x-protobuf", TEXT),
    "OTLP metrics": ("/v1/metrics", "application/x-protobuf", length_delimited(1, TEXT)),
    "OTLP traces": ("/v1/traces", "application/x-protobuf", length_delimited(1, length_delimited(2, TEXT))),
    "OTLP in JSON": ("/v1/logs", "application/json", large(b'{"resourceLogs": [', b"1]}")),
    "a role": ("/api/v1/role/x", "application/json", b'["%b"]' % CANARY.encode()),
    "a filter": ("/api/v1/filters", "application/json", b'{"query": "%b"}' % CANARY.encode()),
    "an alert": ("/api/v1/alerts", "application/json", b'{"query": "select \'%b\'::int"}' % CANARY.encode()),
}


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_failing_path_shows_what_was_sent(start_service: Callable[..., Service], form: str):
    """operations.md: no line holds a payload, a statement or a secret, of any process, and a request makes no long log.

    Each body fails where it is decoded, on a thread or not; each statement where it is parsed, bound or run.
    """
    service = start_service(workers=1, WEIR_LOG_FORMAT=form, WEIR_LOG_LEVEL="debug")
    service.ingest("app", [{"a": "x", "n": 1}]).raise_for_status()
    sizes = []

    def measured(statement: Callable[[], object]) -> None:
        before = service.log.stat().st_size
        statement()
        sizes.append(service.log.stat().st_size - before)

    for path, media_type, body in POSTS.values():
        for coding, content in (("identity", body), ("gzip", gzip.compress(body, 1)), ("gzip", body[:1000])):
            headers = {"Content-Type": media_type, "Content-Encoding": coding, "X-P-Stream": "app"}
            measured(lambda p=path, c=content, h=headers: service.call("POST", p, data=c, headers=h))
    snappy = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-P-Stream": "prometheus"}
    measured(lambda: service.call("POST", "/api/v1/write", data=TEXT, headers=snappy))
    for sql in SQL:
        asked = {"query": sql.format(CANARY), "startTime": "1h", "endTime": "now"}
        measured(lambda a=asked: service.call("POST", "/api/v1/query", json=a))
        body = {
            "filter_name": "f",
            "stream_name": "app",
            "query": {"filter_type": "sql", "filter_query": asked["query"]},
        }
        measured(lambda b=body: service.call("POST", "/api/v1/filters", json=b))
    for head in (
        f"GET / HTTP/1.1\r\nX-API-Key {CANARY}\r\n\r\n",
        f"GET / HTTP/1.1\r\nX-API-Key:\x01{CANARY}\r\n\r\n",
        f"{CANARY} / HTTP/1.1\r\n\r\n",
        f"GET /?token={CANARY} HTTP/9.9\r\n\r\n",
        f"POST /api/v1/ingest HTTP/1.1\r\nX-API-Key: {CANARY}\r\nContent-Length: {CANARY}\r\n\r\n",
        f"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{CANARY}\r\n",
    ):
        measured(lambda h=head: _raw(service, h.encode()))
    broken = struct.pack(">I", 7) + CANARY.encode()
    measured(lambda: _raw(service, broken))
    measured(lambda: service.call("GET", "/api/v1/about", auth=(CANARY, CANARY)))
    measured(lambda: service.call("GET", f"/api/v1/logstream?token={CANARY}"))
    service.stop()

    everything = {path: path.read_bytes() for path in (service.log, *service.data_dir.rglob("*.log"))}

    assert [str(path) for path, text in everything.items() if CANARY.encode() in text] == []
    assert max(sizes) < MOST_BYTES


def _raw(service: Service, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_stranger_cannot_forge_a_line_nor_fill_the_log(start_service: Callable[..., Service]):
    service = start_service(workers=1)
    before = service.log.stat().st_size

    service.call("GET", "/api/v1/logstream/x%0AFORGED%1B[2J%C2%9B31m/schema", auth=None)
    service.call("GET", "/api/v1/logstream/" + "y" * 7_900, auth=None)

    written = service.log.read_bytes()[before:]
    assert b"FORGED" in written
    assert not any(line.startswith(b"FORGED") for line in written.splitlines())
    assert b"\x1b" not in written
    assert b"\xc2\x9b" not in written
    assert len(written) < MOST_BYTES


def test_accounts_of_others_can_read_no_events_and_no_statements(start_service: Callable[..., Service]):
    service = start_service(workers=1)
    service.ingest("app", [{"a": 1}]).raise_for_status()
    service.query("SELECT a FROM app")
    service.stop()

    ours = [path for path in service.data_dir.rglob("*") if "postgres" not in path.parts and path != service.log]
    assert any(path.suffix == ".wal" for path in ours)
    assert [path for path in ours if path.stat().st_mode & 0o007] == []
    assert (service.data_dir / "queries").stat().st_mode & 0o777 == 0o700


def test_refusal_names_who_was_refused(service: Service):
    secret = service.make_key("only-reads", {"privilege": "reader", "resource": {"dataset": "nothing"}})
    headers = {"X-API-Key": secret, "X-P-Stream": "refused"}

    known = service.call("POST", "/api/v1/ingest", json=[{"a": 1}], headers=headers)
    unknown = service.call("POST", "/api/v1/ingest", json=[{"a": 1}], headers=headers | {"X-API-Key": "wrong"})

    assert (known.status_code, unknown.status_code) == (403, 401)
    said = service.log.read_text()
    assert re.search(rf"403 forbidden, from 127.0.0.1 \S+:only-reads \(request {known.headers['X-Request-Id']}\)", said)
    assert f"401 unauthenticated, from 127.0.0.1 (request {unknown.headers['X-Request-Id']})" in said
