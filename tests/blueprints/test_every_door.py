"""The same attack at every way in: none has limits, rights or bodies of its own (docs/security.md)."""

import base64
import gzip
from functools import cache

import pytest

from errors import WeirError
from models import dataset
from otlp_grpc.answers import failure_of
from otlp_grpc.call import Call, environ_of
from otlp_grpc.caller import Callers
from otlp_grpc.receiver import Limits, Receiver
from tests.blueprints.conftest import ADMIN, Caller
from web.inflight import Inflight
from web.ingestion.otlp import EXPORTS
from web.ingestion.protocols import protocols
from web.ingestion.writer import Writer
from web.services import services_of

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
# OTLP/gRPC has no HTTP: its calls are judged by the same stages, and refused with a status that HTTP has a number for.
GRPC = tuple(EXPORTS)
ALL = pytest.mark.parametrize("path", [*DOORS, *GRPC])


@cache
def bomb() -> bytes:
    """64 MiB and one byte, once it is decompressed."""
    return gzip.compress(bytes(64 * 1024 * 1024 + 1), 1)


def knock(call: Caller, path: str, body: bytes = b"", *auth: object, **headers: str) -> int:
    """The status of the answer."""
    sent = {"X-P-Stream": "door", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if path in GRPC:
        return knock_by_grpc(call, path, body, sent, *auth)
    return call("POST", path, *auth, data=body, headers={**DOORS[path], **sent}).status_code


def knock_by_grpc(call: Caller, path: str, body: bytes, sent: dict[str, str], auth: object = ADMIN) -> int:
    credential = {"X-API-Key": auth} if isinstance(auth, str) else {}
    if isinstance(auth, tuple):
        credential["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    metadata = {name.lower(): value for name, value in {**credential, **sent}.items()}
    asked = Call(path, environ_of(metadata.items()), "127.0.0.1", "id")
    try:
        receiver = receiver_of(call)
        receiver.store(receiver.admit(asked), body, lambda: False)
    except WeirError as error:
        return failure_of(error, asked.id).status
    return 200


def receiver_of(call: Caller) -> Receiver:
    """As the process of OTLP/gRPC builds it, over the application's storage."""
    parts = services_of(call.app)
    callers = Callers(parts.access, lambda *_: None)
    limits = Limits(parts.settings.max_decoded_bytes, parts.settings.max_columns)
    writer = Writer(parts.storage)
    return Receiver(callers, writer, parts.meters, Inflight(parts.settings.max_inflight_bytes), limits)


def test_every_way_in_is_in_the_table():
    """`/api/v1/logstream/<name>` is the first one's other path."""
    paths = {endpoint.path for protocol in protocols() for endpoint in protocol.endpoints}

    assert paths - set(DOORS) == {"/api/v1/logstream/<name>"}


@ALL
def test_nobody_gets_in_without_a_credential_or_right(call: Caller, path: str):
    reader = call.make_key("reader", {"privilege": "reader"})["apiKey"]
    other = call.make_key("other", {"privilege": "ingestor", "resource": {"dataset": "other"}})["apiKey"]

    answers = [knock(call, path, b"x", auth) for auth in (None, "wrong", reader, other)]

    assert answers == [401, 401, 403, 403]
    assert dataset.find_all("default") == []


@ALL
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"X_P_Stream": "a.b"}, 400, id="a name that no dataset can have"),
        pytest.param({"X_P_Stream": "p_audit"}, 400, id="the audit"),
        pytest.param({"Idempotency_Key": "k" * 256}, 400, id="long key"),
        pytest.param({f"X_P_C{number}": "v" for number in range(11)}, 400, id="eleven columns"),
        pytest.param({"X_API_Key": "also"}, 400, id="two credentials"),
        pytest.param({"X_P_Tenant": "other"}, 400, id="another tenant"),
    ],
)
def test_headers_are_judged(call: Caller, path: str, headers: dict[str, str], status: int):
    assert knock(call, path, b"x", **headers) == status
    assert dataset.find_all("default") == []


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize(
    ("coding", "status"),
    [
        pytest.param("br", 415, id="unknown coding"),
        pytest.param("gzip, gzip, gzip, gzip, gzip", 415, id="five codings"),
        pytest.param("gzip", 400, id="no gzip"),
    ],
)
def test_codings_are_judged(call: Caller, path: str, coding: str, status: int):
    """gRPC has its own, which its library reads."""
    assert knock(call, path, b"x", Content_Encoding=coding) == status
    assert dataset.find_all("default") == []


@ALL
def test_bomb_is_refused(call: Caller, path: str):
    assert knock(call, path, bomb(), Content_Encoding="gzip") == 413
    assert dataset.find_all("default") == []


@ALL
def test_body_that_ends_early_is_refused(call: Caller, path: str):
    assert knock(call, path, gzip.compress(b'{"a":1}' * 100)[:-9], Content_Encoding="gzip") == 400
    assert dataset.find_all("default") == []


@pytest.mark.parametrize("path", [path for path in [*DOORS, *GRPC] if path != "/services/collector/raw"])
@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b'{"a":', b"[" * 100_000, b'[{"a":NaN}]'], ids=range(4))
def test_garbage_is_refused_and_makes_no_dataset(call: Caller, path: str, body: bytes):
    assert knock(call, path, body) == 400
    assert dataset.find_all("default") == []
