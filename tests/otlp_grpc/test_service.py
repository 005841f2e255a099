"""OTLP/gRPC by its contract (api.md section 12): what is stored, what is refused, and with which status."""

import base64
import gzip
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.otlp_grpc.conftest import BODY_BYTES, DECODED_BYTES, METHODS, Door, attribute, logs_of
from tests.running import ADMIN

pytestmark = pytest.mark.service

CODE = grpc.StatusCode
SIGNALS = pytest.mark.parametrize("signal", METHODS)


def details(refused: grpc.Call) -> Status:
    """The google.rpc.Status, which says the same as the call's own status."""
    status = Status.FromString(dict(refused.trailing_metadata())["grpc-status-details-bin"])
    assert (status.code, status.message) == (refused.code().value[0], refused.details())
    return status


def count(door: Door, dataset: str) -> int:
    return door.service.query(f'select count(*) as n from "{dataset}"')[0]["n"]


def exists(door: Door, dataset: str) -> bool:
    return {"name": dataset} in door.service.call("GET", "/api/v1/logstream").json()


def test_records_are_stored_as_those_of_http(door: Door):
    message = logs_of(shop=["one", "two"])
    headers = {"X-P-Stream": "same_http", "X-P-Log-Source": "otel-logs", "Content-Type": "application/x-protobuf"}

    response = door.call("logs", message, door.metadata("same_grpc", ("x-p-region", "eu")))
    door.service.call("POST", "/v1/logs", data=message, headers={**headers, "X-P-Region": "eu"}).raise_for_status()

    columns = 'time_unix_nano, body, "service.name", region, p_src_ip'
    found = [door.service.query(f"select {columns} from {name} order by body") for name in ("same_grpc", "same_http")]
    assert response == b""
    assert found[0] == found[1]
    assert [row["body"] for row in found[0]] == ["one", "two"]
    infos = [door.service.call("GET", f"/api/v1/logstream/{name}/info").json() for name in ("same_grpc", "same_http")]
    assert {(each["telemetryType"], each["timePartition"]) for each in infos} == {("logs", "time_unix_nano")}


def test_without_a_dataset_each_service_has_its_own(door: Door):
    """api.md section 12: metadata `x-p-stream`, else attribute `service.name`."""
    door.call("logs", logs_of(**{"cart": ["a"], "pay.v2": ["b", "c"]}), door.metadata())

    assert count(door, "cart") == 1
    assert count(door, "pay_v2") == 2


def test_a_resource_without_a_name_has_no_dataset(door: Door):
    message = LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[LogRecord()])])])

    refused = door.refusal("logs", logs_of(nameless_beside=["a"]) + message.SerializeToString(), door.metadata())

    assert refused.code() is CODE.INVALID_ARGUMENT
    assert "service.name" in refused.details()
    assert not exists(door, "nameless_beside")


def test_nothing_is_stored_unless_every_service_may_be(door: Door):
    key = door.service.make_key("grpc-one", {"privilege": "ingestor", "resource": {"dataset": "own_service"}})

    refused = door.refusal("logs", logs_of(own_service=["a"], other_service=["b"]), [("x-api-key", key)])

    assert refused.code() is CODE.PERMISSION_DENIED
    assert not exists(door, "own_service")


@pytest.mark.parametrize("compression", ["NoCompression", "Gzip", "Deflate"])
def test_compressed_messages_are_taken(door: Door, compression: str):
    dataset = f"compressed_{compression.lower()}"

    door.call("logs", logs_of(a=["x" * 1000] * 50), door.metadata(dataset), compression=grpc.Compression[compression])

    assert count(door, dataset) == 50


@SIGNALS
def test_an_empty_request_is_a_success(door: Door, signal: str):
    assert door.call(signal, b"", door.metadata(f"empty_{signal}")) == b""
    assert door.call(signal, b"", door.metadata()) == b""


def test_refused_records_are_told_of_and_the_others_stored(door: Door):
    """OTLP/gRPC, "Partial Success"."""
    records = [LogRecord(body=AnyValue(string_value="good")), LogRecord(attributes=[attribute("p_timestamp", "x")])]
    message = LogsData(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])]).SerializeToString()

    response = ExportLogsServiceResponse.FromString(door.call("logs", message, door.metadata("partly")))

    assert response.partial_success.rejected_log_records == 1
    assert "p_timestamp" in response.partial_success.error_message
    assert door.service.query("select body from partly") == [{"body": "good"}]


def basic(user: str, password: str) -> tuple[str, str]:
    return ("authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


def test_every_kind_of_credential_is_taken(door: Door):
    for metadata in ([basic(*ADMIN)], [("authorization", f"Bearer {door.key}")], [("x-api-key", door.key)]):
        door.call("logs", logs_of(a=["x"]), [*metadata, ("x-p-stream", "credentials")])

    assert count(door, "credentials") == 3


@SIGNALS
@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param([], id="none"),
        pytest.param([("x-api-key", "wrong")], id="wrong key"),
        pytest.param([("authorization", "Bearer wrong")], id="wrong token"),
        pytest.param([("authorization", "Basic !!")], id="no base64"),
        pytest.param([("authorization", "Digest abc")], id="another scheme"),
        pytest.param([basic("admin", "wrong")], id="wrong password"),
    ],
)
def test_without_a_good_credential_nobody_gets_in(door: Door, signal: str, metadata: list[tuple[str, str]]):
    refused = door.refusal(signal, b"", [*metadata, ("x-p-stream", "closed")])

    assert refused.code() is CODE.UNAUTHENTICATED
    assert "valid credentials" in details(refused).message
    assert not details(refused).details
    assert not exists(door, "closed")


def test_a_wrong_password_is_in_the_audit(door: Door):
    door.refusal("logs", b"", [basic("admin", "wrong again"), ("x-request-id", "guess-1")])

    found = door.service.query("select action, target, status, path from p_audit where request_id = 'guess-1'")
    assert found == [{"action": "password.refuse", "target": "admin", "status": 401, "path": METHODS["logs"]}]


@SIGNALS
def test_who_may_not_send_is_told(door: Door, signal: str):
    reader = door.service.make_key(f"grpc-reader-{signal}", {"privilege": "reader"})

    for metadata in ([], [("x-p-stream", "forbidden")]):
        assert door.refusal(signal, b"", [("x-api-key", reader), *metadata]).code() is CODE.PERMISSION_DENIED
    assert not exists(door, "forbidden")


@SIGNALS
@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param([("x-p-stream", "a.b")], id="a name that no dataset can have"),
        pytest.param([("x-p-stream", "p_audit")], id="the audit"),
        pytest.param([("x-p-stream", "judged"), ("x-p-log-source", "otel-nothing")], id="another source"),
        pytest.param([("x-p-stream", "judged"), ("idempotency-key", "k" * 256)], id="long key"),
        pytest.param([("x-p-stream", "judged"), *((f"x-p-c{n}", "v") for n in range(11))], id="eleven columns"),
        pytest.param([("x-p-stream", "judged"), ("authorization", "Bearer x")], id="two credentials"),
        pytest.param([("x-p-stream", "judged"), ("x-p-tenant", "other")], id="another tenant"),
        pytest.param([("x-p-stream", "judged"), ("x-p-stream", "twice")], id="two names"),
    ],
)
def test_metadata_is_judged_as_headers_are(door: Door, signal: str, metadata: list[tuple[str, str]]):
    refused = door.refusal(signal, b"", [("x-api-key", door.key), *metadata])

    assert refused.code() is CODE.INVALID_ARGUMENT
    assert not exists(door, "judged")


@SIGNALS
@pytest.mark.parametrize(
    "message", [b"\xff\xfe\x00", b"\x0a\xff\x01", gzip.compress(b"\x0a", mtime=0)[:-6], b"\x78\x9c\x00"]
)
def test_garbage_is_refused_and_makes_no_dataset(door: Door, signal: str, message: bytes):
    for dataset in ("garbage", None):
        assert door.refusal(signal, message, door.metadata(dataset)).code() is CODE.INVALID_ARGUMENT
    assert not exists(door, "garbage")


@pytest.mark.parametrize("signal", ["logs"])
@pytest.mark.parametrize(
    ("size", "compression"),
    [
        pytest.param(BODY_BYTES + 1, "NoCompression", id="over the wire limit"),
        pytest.param(DECODED_BYTES + 1, "Gzip", id="a bomb"),
        pytest.param(DECODED_BYTES + 1, "Deflate", id="a bomb of the other kind"),
        pytest.param(200 * DECODED_BYTES, "Gzip", id="a large bomb"),
    ],
)
def test_what_is_too_large_is_never_to_be_tried_again(door: Door, signal: str, size: int, compression: str):
    """OTLP/gRPC, "Failures": RESOURCE_EXHAUSTED without RetryInfo is not retryable."""
    refused = door.refusal(signal, bytes(size), door.metadata("large"), compression=grpc.Compression[compression])

    assert refused.code() is CODE.RESOURCE_EXHAUSTED
    assert b"RetryInfo" not in dict(refused.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    assert not exists(door, "large")


def test_a_message_of_the_wire_limit_is_taken(door: Door):
    room = BODY_BYTES - len(logs_of(a=["x" * BODY_BYTES])) + BODY_BYTES

    door.call("logs", logs_of(a=["x" * room]), door.metadata("largest"))

    assert door.service.query("select length(body) as n from largest") == [{"n": room}]


def test_a_key_is_refused_from_its_deletion_on(door: Door):
    """api.md section 2: on the next request, in every process."""
    made = door.service.call("POST", "/api/console/v1/apikeys", json={"keyName": "gone", "roles": ["grpc-ingestor"]})
    metadata = [("x-api-key", made.json()["apiKey"]), ("x-p-stream", "revoked")]
    door.call("logs", logs_of(a=["x"]), metadata)

    door.service.call("DELETE", f"/api/console/v1/apikeys/{made.json()['keyId']}").raise_for_status()

    assert door.refusal("logs", logs_of(a=["y"]), metadata).code() is CODE.UNAUTHENTICATED
    assert count(door, "revoked") == 1


def test_a_repeated_key_stores_once_and_another_body_is_refused(door: Door):
    metadata = door.metadata("repeated", ("idempotency-key", "k1"))

    for _ in range(2):
        door.call("logs", logs_of(a=["x"]), metadata)
    refused = door.refusal("logs", logs_of(a=["y"]), metadata)

    assert count(door, "repeated") == 1
    assert refused.code() is CODE.INVALID_ARGUMENT


def test_a_key_that_was_used_over_http_is_the_same_key(door: Door):
    message = logs_of(a=["x"])
    headers = {"X-P-Stream": "both_doors", "X-P-Log-Source": "otel-logs", "Idempotency-Key": "k2"}
    sent = {**headers, "X-API-Key": door.key, "Content-Type": "application/x-protobuf"}
    door.service.call("POST", "/v1/logs", data=message, headers=sent).raise_for_status()

    door.call("logs", message, door.metadata("both_doors", ("idempotency-key", "k2")))

    assert count(door, "both_doors") == 1


def test_calls_are_counted_and_told_by_their_id(door: Door):
    method = door.channel.unary_unary(METHODS["traces"])
    _, call = method.with_call(b"", metadata=door.metadata("counted", ("x-request-id", "mine-1")), timeout=30)
    refused = door.refusal("traces", b"", [("x-request-id", "mine-2")])

    text = door.service.call("GET", "/api/v1/metrics").text
    assert dict(call.trailing_metadata())["x-request-id"] == "mine-1"
    assert dict(refused.trailing_metadata())["x-request-id"] == "mine-2"
    for status in ("200", "401"):
        assert f'weir_requests_total{{method="POST",route="{METHODS["traces"]}",status="{status}"}}' in text
    assert "mine-2" in door.service.log.read_text()


def test_the_health_service_answers_without_a_credential(door: Door):
    stub = health_pb2_grpc.HealthStub(door.channel)

    for service in ("", *(path.split("/")[1] for path in METHODS.values())):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_another_method_is_unimplemented(door: Door):
    with pytest.raises(grpc.RpcError) as raised:
        door.channel.unary_unary("/opentelemetry.proto.collector.logs.v1.LogsService/Other")(b"", timeout=30)

    assert raised.value.code() is CODE.UNIMPLEMENTED


def test_senders_that_say_nothing_keep_nobody_out(door: Door):
    """Calls are judged before their message; those without a credential wait for none."""
    ended = threading.Event()
    method = door.channel.stream_unary(METHODS["logs"])
    silent = [method.future(_silence(ended), timeout=20) for _ in range(200)]

    door.call("logs", logs_of(a=["x"]), door.metadata("loud"))

    assert {each.exception().code() for each in silent} == {CODE.UNAUTHENTICATED}
    ended.set()
    assert count(door, "loud") == 1


def _silence(ended: threading.Event) -> Iterator[bytes]:
    ended.wait()
    yield from ()


def retry_seconds(refused: grpc.Call) -> int:
    info = RetryInfo()
    assert details(refused).details[0].Unpack(info)
    return info.retry_delay.seconds


def test_a_full_disk_asks_for_another_attempt(start_door: Any):
    """OTLP/gRPC, "Failures": UNAVAILABLE with RetryInfo."""
    door = start_door(workers=1, WEIR_DISK_HIGH_WATER_PERCENT="1", WEIR_DISK_LOW_WATER_PERCENT="1")

    refused = door.refusal("logs", logs_of(a=["x"]), door.metadata("full_disk"))

    assert refused.code() is CODE.UNAVAILABLE
    assert retry_seconds(refused) >= 1


def test_too_much_at_once_asks_for_another_attempt(start_door: Any):
    """A body that fits, for whose objects there is no room beside another one (api.md section 12: overload)."""
    door = start_door(workers=1, WEIR_MAX_INFLIGHT_BYTES="60000", WEIR_MAX_BODY_BYTES="50000")
    message = logs_of(a=["x" * 30] * 40)
    method = door.channel.unary_unary(METHODS["logs"])

    calls = [method.future(message, metadata=door.metadata("crowd"), timeout=30) for _ in range(100)]

    refused = [each.exception() for each in calls if each.exception() is not None]
    assert {each.code() for each in refused} <= {CODE.UNAVAILABLE}
    assert all(retry_seconds(each) >= 1 for each in refused)
    assert count(door, "crowd") == (100 - len(refused)) * 40
    assert refused


def one_of(signal: str, service: str) -> bytes:
    """An export request of one record, point or span of the service."""
    if signal == "logs":
        return logs_of(**{service: ["x"]})
    request = MetricsData() if signal == "metrics" else TracesData()
    group = (request.resource_metrics if signal == "metrics" else request.resource_spans).add()
    group.resource.attributes.append(attribute("service.name", service))
    if signal == "metrics":
        group.scope_metrics.add().metrics.add(name="m").gauge.data_points.add(time_unix_nano=10**18, as_int=1)
    else:
        group.scope_spans.add().spans.add(trace_id=b"1" * 16, span_id=b"1" * 8, start_time_unix_nano=10**18)
    return request.SerializeToString()


@SIGNALS
def test_a_repeated_message_is_stored_once_where_the_dataset_says_so(door: Door, signal: str):
    """By its service's name, too."""
    path = f"/api/v1/logstream/again_{signal}"
    door.service.call("PUT", path).raise_for_status()
    door.service.call("PUT", f"{path}/deduplication", json={"enabled": True}).raise_for_status()
    message = one_of(signal, f"again_{signal}")
    other = door.service.make_key(f"grpc-other-{signal}", {"privilege": "ingestor"})

    for metadata in (door.metadata(f"again_{signal}"), door.metadata(), [("x-api-key", other)]):
        for _ in range(2):
            door.call(signal, message, metadata)

    # One with the dataset's name in metadata, which is the same as without; and one of the other key.
    assert count(door, f"again_{signal}") == 2
