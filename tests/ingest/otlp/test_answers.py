"""Bodies of OTLP answers, held against the classes of the protocol. OTLP/HTTP, "OTLP/HTTP Response"."""

import orjson
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ingest.otlp import answers

PROTOBUF, JSON = "application/x-protobuf", "application/json"
REFUSED = {"rejected": 2, "message": "two refused"}
SIGNALS = [
    (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
    (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
]


@pytest.mark.parametrize(("media_type", "body"), [(PROTOBUF, b""), (JSON, b"{}")])
def test_a_full_success_is_the_empty_message(media_type, body):
    """Partial success must be absent, not empty."""
    assert answers.success(media_type, rejected=0, rejected_name="rejected_spans", message="") == (body, media_type)


@pytest.mark.parametrize(("response", "name", "json_name"), SIGNALS)
def test_a_partial_success_says_how_many_and_why(response, name, json_name):
    protobuf = answers.success(PROTOBUF, rejected_name=name, **REFUSED)
    json = answers.success(JSON, rejected_name=name, **REFUSED)

    partial = response.FromString(protobuf.body).partial_success
    assert (getattr(partial, name), partial.error_message) == (2, "two refused")
    assert orjson.loads(json.body) == {"partialSuccess": {json_name: "2", "errorMessage": "two refused"}}


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 3), (401, 16), (403, 7), (404, 5), (413, 8), (415, 3), (429, 8), (500, 13), (503, 14), (504, 4), (418, 2)],
)
def test_a_failure_is_a_status_message(status, code):
    """google/rpc/code.proto tells which HTTP status each code stands for."""
    protobuf = answers.failure(PROTOBUF, status=status, message="no")
    json = answers.failure(JSON, status=status, message="no")

    assert Status.FromString(protobuf.body) == Status(code=code, message="no")
    assert orjson.loads(json.body) == {"code": code, "message": "no"}


@pytest.mark.parametrize(("asked", "answered"), [(PROTOBUF, PROTOBUF), (JSON, JSON), ("text/plain", JSON), ("", JSON)])
def test_an_answer_has_the_media_type_of_its_request(asked, answered):
    assert answers.answer_type(asked) == answered
