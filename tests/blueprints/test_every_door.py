"""The same attack at every way in: none has limits, rights or bodies of its own (docs/security.md)."""

import gzip
from functools import cache

import pytest

from models import dataset
from tests.blueprints.conftest import Caller
from web.ingestion.protocols import protocols

# What a sender of each way in has to say besides its body.
JSON = {"Content-Type": "application/json"}
DOORS = {
    "/api/v1/ingest": JSON,
    "/v1/logs": {**JSON, "X-P-Log-Source": "otel-logs"},
    "/v1/metrics": {**JSON, "X-P-Log-Source": "otel-metrics"},
    "/v1/traces": {**JSON, "X-P-Log-Source": "otel-traces"},
    "/v1/prometheus/write": {"Content-Type": "application/x-protobuf", "X-P-Log-Source": "otel-metrics"},
    "/loki/api/v1/push": JSON,
    "/services/collector": {},
    "/services/collector/raw": {},
    "/_bulk": {},
}
ALL = pytest.mark.parametrize("path", DOORS)


@cache
def bomb() -> bytes:
    """64 MiB and one byte, once it is decompressed."""
    return gzip.compress(bytes(64 * 1024 * 1024 + 1), 1)


def knock(call: Caller, path: str, body: bytes = b"", *auth: object, **headers: str):
    sent = {**DOORS[path], "X-P-Stream": "door", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return call("POST", path, *auth, data=body, headers=sent)


def test_every_way_in_is_in_the_table():
    """`/api/v1/logstream/<name>` is the first one's other path."""
    paths = {endpoint.path for protocol in protocols() for endpoint in protocol.endpoints}

    assert paths - set(DOORS) == {"/api/v1/logstream/<name>"}


@ALL
def test_nobody_gets_in_without_a_credential_or_right(call: Caller, path: str):
    reader = call.make_key("reader", {"privilege": "reader"})["apiKey"]
    other = call.make_key("other", {"privilege": "ingestor", "resource": {"dataset": "other"}})["apiKey"]

    answers = [knock(call, path, b"x", auth).status_code for auth in (None, "wrong", reader, other)]

    assert answers == [401, 401, 403, 403]
    assert dataset.find_all("default") == []


@ALL
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"X_P_Stream": "a.b"}, 400, id="a name that no dataset can have"),
        pytest.param({"X_P_Stream": "p_audit"}, 400, id="the audit"),
        pytest.param({"Content_Encoding": "br"}, 415, id="unknown coding"),
        pytest.param({"Content_Encoding": "gzip, gzip, gzip, gzip, gzip"}, 415, id="five codings"),
        pytest.param({"Content_Encoding": "gzip"}, 400, id="no gzip"),
        pytest.param({"Idempotency_Key": "k" * 256}, 400, id="long key"),
        pytest.param({f"X_P_C{number}": "v" for number in range(11)}, 400, id="eleven columns"),
        pytest.param({"X_API_Key": "also"}, 400, id="two credentials"),
        pytest.param({"X_P_Tenant": "other"}, 400, id="another tenant"),
    ],
)
def test_headers_are_judged(call: Caller, path: str, headers: dict[str, str], status: int):
    assert knock(call, path, b"x", **headers).status_code == status
    assert dataset.find_all("default") == []


@ALL
def test_bomb_is_refused(call: Caller, path: str):
    answer = knock(call, path, bomb(), Content_Encoding="gzip")

    assert answer.status_code == 413
    assert dataset.find_all("default") == []


@ALL
def test_body_that_ends_early_is_refused(call: Caller, path: str):
    answer = knock(call, path, gzip.compress(b'{"a":1}' * 100)[:-9], Content_Encoding="gzip")

    assert answer.status_code == 400
    assert dataset.find_all("default") == []


@pytest.mark.parametrize("path", [path for path in DOORS if path != "/services/collector/raw"])
@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b'{"a":', b"[" * 100_000, b'[{"a":NaN}]'], ids=range(4))
def test_garbage_is_refused_and_makes_no_dataset(call: Caller, path: str, body: bytes):
    assert knock(call, path, body).status_code == 400
    assert dataset.find_all("default") == []
