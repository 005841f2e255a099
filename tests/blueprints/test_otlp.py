"""OTLP/HTTP through a running service. Spec 4.2; api.md sections 1 and 4; OTLP/HTTP."""

import gzip
import zlib
from concurrent.futures import ThreadPoolExecutor

import cramjam
import orjson
import pytest
import requests
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from tests.running import Service

pytestmark = pytest.mark.each_stack

PROTOBUF, JSON = "application/x-protobuf", "application/json"


def records(*bodies: str, **attributes: str) -> LogsData:
    pairs = [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in attributes.items()]
    request = LogsData()
    request.resource_logs.add().scope_logs.add().log_records.extend(
        LogRecord(body=AnyValue(string_value=body), attributes=pairs) for body in bodies
    )
    return request


def encoded(*bodies: str, **attributes: str) -> bytes:
    return records(*bodies, **attributes).SerializeToString()


def send(service: Service, path: str, dataset: str, body: object, media_type: str = PROTOBUF, **headers: str):
    sent = {"X-P-Stream": dataset, "X-P-Log-Source": f"otel-{path}", "Content-Type": media_type, **headers}
    return service.call(
        "POST", f"/v1/{path}", data=body, headers={name: value for name, value in sent.items() if value}
    )


def stored(service: Service, dataset: str) -> list[str]:
    return [row["body"] for row in service.query(f"select body from {dataset} order by body")]


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "a"}}]}]}]}),
        (
            "metrics",
            {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": {"dataPoints": [{"asInt": 1}]}}]}]}]},
        ),
        ("traces", {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}]}]}]}),
    ],
)
def test_json_is_stored_and_answered_in_json(service, path, document):
    answer = send(service, path, f"otlp_json_{path}", orjson.dumps(document), JSON)

    assert (answer.status_code, answer.headers["Content-Type"], answer.content) == (200, JSON, b"{}")
    assert service.query(f"select count(*) from otlp_json_{path}") == [{"count": 1}]


def test_protobuf_is_stored_and_answered_in_protobuf(service):
    answer = send(service, "logs", "otlp_protobuf", encoded("a", "b"))

    assert (answer.status_code, answer.headers["Content-Type"], answer.content) == (200, PROTOBUF, b"")
    assert stored(service, "otlp_protobuf") == ["a", "b"]


def test_a_parameter_of_the_media_type_changes_nothing(service):
    """The Collector compares the answer's type as text, so it has no parameters."""
    answer = send(service, "logs", "otlp_charset", b"{}", "application/json; charset=utf-8")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, JSON)


@pytest.mark.parametrize(
    ("coding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", lambda body: bytes(cramjam.zstd.compress(body))),
        ("snappy", lambda body: bytes(cramjam.snappy.compress_raw(body))),
    ],
)
def test_bodies_may_be_compressed(service, coding, compress):
    answer = send(service, "logs", f"otlp_{coding}", compress(encoded("a")), **{"Content-Encoding": coding})

    assert answer.status_code == 200
    assert stored(service, f"otlp_{coding}") == ["a"]


def test_bodies_may_be_chunked(service):
    """The JavaScript exporters always do that."""
    body = encoded("a")

    answer = send(service, "logs", "otlp_chunked", iter([body[:5], body[5:]]))

    assert answer.status_code == 200
    assert stored(service, "otlp_chunked") == ["a"]


def test_concatenated_messages_are_all_stored(service):
    """Fluent Bit sends such bodies."""
    send(service, "logs", "otlp_concatenated", encoded("a") + encoded("b"))

    assert stored(service, "otlp_concatenated") == ["a", "b"]


@pytest.mark.parametrize(("body", "media_type"), [(b"", PROTOBUF), (b"", JSON), (b"{}", JSON)])
def test_an_empty_request_succeeds(service, body, media_type):
    assert send(service, "logs", "otlp_empty", body, media_type).status_code == 200


def test_refused_records_make_a_partial_success(service):
    """The others are stored; clients must not send again."""
    request = encoded("kept") + encoded("refused", p_timestamp="now")

    answer = send(service, "logs", "otlp_partial", request)

    partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_log_records) == (200, 1)
    assert "p_timestamp" in partial.error_message
    assert stored(service, "otlp_partial") == ["kept"]


def test_a_body_that_is_no_message_is_refused_with_a_status_in_protobuf(service):
    answer = send(service, "logs", "otlp_broken", b"\xff\xff")

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, PROTOBUF)
    status = Status.FromString(answer.content)
    assert (status.code, "protobuf" in status.message) == (3, True)


def test_json_of_the_wrong_shape_is_refused_with_a_status_in_json(service):
    answer = send(service, "logs", "otlp_broken", b'{"resourceLogs":[5]}', JSON)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, JSON)
    assert answer.json() == {"code": 3, "message": "resourceLogs[0]: expected an object"}


def test_another_media_type_is_refused(service):
    answer = send(service, "logs", "otlp_broken", b"<a/>", "text/xml")

    assert (answer.status_code, answer.json()["code"]) == (415, 3)


def test_another_method_is_refused(service):
    assert service.call("GET", "/v1/logs").status_code == 405


@pytest.mark.parametrize("path", ["logs", "metrics", "traces"])
@pytest.mark.parametrize("sent", ["", "otel-other", "json"])
def test_a_missing_or_wrong_log_source_is_refused_by_naming_the_right_one(service, path, sent):
    """Spec 4.2."""
    answer = send(service, path, "otlp_source", b"{}", JSON, **{"X-P-Log-Source": sent})

    assert answer.status_code == 400
    assert f"otel-{path}" in answer.json()["message"]


def test_a_missing_dataset_is_refused_by_naming_the_header(service):
    """Spec 4.2: X-P-Stream is required."""
    answer = send(service, "logs", "", b"{}", JSON)

    assert answer.status_code == 400
    assert "X-P-Stream" in answer.json()["message"]


def test_a_wrong_key_is_refused_in_the_encoding_of_the_request(service):
    headers = {"X-API-Key": "00000000-0000-4000-8000-000000000000", "Content-Type": PROTOBUF}

    answer = requests.post(f"{service.url}/v1/logs", data=b"", headers=headers, timeout=30)

    assert (answer.status_code, answer.headers["Content-Type"]) == (401, PROTOBUF)
    assert Status.FromString(answer.content).code == 16


def test_a_key_without_the_privilege_is_refused(service):
    key = service.make_key("otlp-reader", {"privilege": "reader"})
    headers = {"X-API-Key": key, "X-P-Stream": "otlp_forbidden", "X-P-Log-Source": "otel-logs", "Content-Type": JSON}

    answer = requests.post(f"{service.url}/v1/logs", data=b"{}", headers=headers, timeout=30)

    assert (answer.status_code, answer.json()["code"]) == (403, 7)


def test_a_key_of_one_dataset_may_send_to_that_one(service):
    key = service.make_key("otlp-ingestor", {"privilege": "ingestor", "resource": {"dataset": "otlp_mine"}})
    headers = {"X-API-Key": key, "X-P-Log-Source": "otel-logs", "Content-Type": PROTOBUF}

    mine, other = (
        requests.post(
            f"{service.url}/v1/logs", data=encoded("a"), headers={**headers, "X-P-Stream": name}, timeout=30
        ).status_code
        for name in ("otlp_mine", "otlp_other")
    )

    assert (mine, other) == (200, 403)


def test_overload_asks_to_come_back(start_service):
    """OTLP/HTTP: 503 with Retry-After is what exporters try again after."""
    service = start_service(workers=1, WEIR_MAX_INFLIGHT_BYTES="10000")

    answer = send(service, "logs", "otlp_overload", encoded("x" * 15_000))

    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert Status.FromString(answer.content).code == 14


LARGE = bytes(17 * 1024 * 1024)


@pytest.mark.parametrize("pieces", [1, 17], ids=["one piece", "chunks"])
def test_a_body_above_the_limit_is_refused(service, pieces):
    size = len(LARGE) // pieces
    body = LARGE if pieces == 1 else iter([LARGE[:size]] * pieces)

    answer = send(service, "logs", "otlp_large", body)

    assert answer.status_code == 413
    assert Status.FromString(answer.content).code == 8


def test_a_body_that_grows_above_the_limit_is_refused(service):
    answer = send(service, "logs", "otlp_large", gzip.compress(LARGE * 4, 1), **{"Content-Encoding": "gzip"})

    assert answer.status_code == 413


def test_many_attribute_names_are_refused_and_nothing_is_stored(service):
    many = {f"a{number}": "x" for number in range(1001)}

    answer = send(service, "logs", "otlp_columns", encoded("a", **many))

    assert answer.status_code == 400
    assert "attribute names" in Status.FromString(answer.content).message


def test_times_and_values_come_back_as_they_were_sent(service):
    """api.md section 5: timestamps are RFC 3339 with Z, non-finite numbers null; section 4: nanoseconds."""
    points = [
        {
            "timeUnixNano": "1795000000123456789",
            "asDouble": value,
            "attributes": [{"key": "i", "value": {"intValue": str(2**53 + 1)}}],
        }
        for value in (0.5, "NaN")
    ]
    metrics = [{"name": "m", "gauge": {"dataPoints": points}}]
    send(
        service,
        "metrics",
        "otlp_values",
        orjson.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}),
        JSON,
    )

    first, second = service.query("select time_unix_nano, data_point_value, i from otlp_values order by 2")

    assert first == {"time_unix_nano": "2026-11-18T11:06:40.123456789Z", "data_point_value": 0.5, "i": 2**53 + 1}
    assert second["data_point_value"] is None


def test_events_of_a_span_come_back_as_json(service):
    """api.md section 4: JSON is stored as text and returned as JSON."""
    event = {"name": "retry", "timeUnixNano": "1795000000000000000"}
    spans = [{"name": "a", "events": [event]}, {"name": "b"}]
    send(service, "traces", "otlp_events", orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), JSON)

    first, second = service.query("select events from otlp_events order by span_name")

    assert [found["name"] for found in first["events"]] == ["retry"]
    assert second == {"events": []}
    assert service.query("select events -> 0 ->> 'name' as event from otlp_events order by span_name") == [
        {"event": "retry"},
        {"event": None},
    ]


def test_requests_at_once_are_all_stored(service):
    """Bodies above 16 KiB are decoded in threads."""
    bodies = [f"{number:03}" + "x" * 30_000 for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: send(service, "logs", "otlp_parallel", encoded(body)), bodies))

    assert {answer.status_code for answer in answers} == {200}
    assert stored(service, "otlp_parallel") == bodies


@pytest.mark.parametrize(
    ("signal", "body"),
    [
        pytest.param("logs", b"\x0a\x00" * 2_000_000, id="ResourceLogs"),
        pytest.param("metrics", b"\x0a\x84\x89\x7a\x12\x80\x89\x7a" + b"\x12\x00" * 1_000_000, id="Metric"),
        pytest.param("traces", b"\x0a\x84\x89\x7a\x12\x80\x89\x7a" + b"\x12\x00" * 1_000_000, id="Span"),
    ],
)
def test_bodies_of_empty_messages_are_refused_before_they_are_objects(service, signal, body):
    """Four kilobytes of gzip took two gigabytes of memory (docs/security.md, "Costs")."""
    answer = send(service, signal, f"otlp_bomb_{signal}", gzip.compress(body), **{"Content-Encoding": "gzip"})

    assert answer.status_code == 413
    assert "memory when decoded" in Status.FromString(answer.content).message
