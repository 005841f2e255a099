"""Bodies of OTLP answers, held against the classes of the protocol. OTLP/HTTP, "OTLP/HTTP Response"."""

import orjson
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from columns import Batch
from errors import InvalidBody
from ingest.decoded import Decoded, Stored
from ingest.otlp import answers

PROTOBUF, JSON = "application/x-protobuf", "application/json"
REFUSED = Decoded(Batch((), (), 0), {"reserved_name": 2}, "two refused")
SIGNALS = [
    (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
    (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
]


def stored(decoded: Decoded, media_type: str) -> Stored[Decoded]:
    return Stored("app", decoded.batch.height, False, media_type, lambda: decoded)


@pytest.mark.parametrize(("media_type", "body"), [(PROTOBUF, b""), (JSON, b"{}")])
def test_a_full_success_is_the_empty_message(media_type, body):
    """Partial success must be absent, not empty."""
    answer = answers.success(stored(Decoded(Batch((), (), 0)), media_type), rejected_name="rejected_spans")

    assert (answer.status, answer.body, answer.media_type) == (200, body, media_type)


@pytest.mark.parametrize(("response", "name", "json_name"), SIGNALS)
def test_a_partial_success_says_how_many_and_why(response, name, json_name):
    protobuf = answers.success(stored(REFUSED, PROTOBUF), rejected_name=name)
    json = answers.success(stored(REFUSED, JSON), rejected_name=name)

    partial = response.FromString(protobuf.body).partial_success
    assert (getattr(partial, name), partial.error_message) == (2, "two refused")
    assert orjson.loads(json.body) == {"partialSuccess": {json_name: "2", "errorMessage": "two refused"}}


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 3), (401, 16), (403, 7), (404, 5), (413, 8), (415, 3), (429, 8), (500, 13), (503, 14), (504, 4), (418, 2)],
)
def test_a_failure_is_a_status_message(status, code):
    """google/rpc/code.proto tells which HTTP status each code stands for."""
    protobuf = answers.failure(PROTOBUF, status, InvalidBody("no"))
    json = answers.failure(JSON, status, InvalidBody("no"))

    assert (protobuf.status, json.status) == (status, status)
    assert Status.FromString(protobuf.body) == Status(code=code, message="no")
    assert orjson.loads(json.body) == {"code": code, "message": "no"}


@pytest.mark.parametrize(("asked", "answered"), [(PROTOBUF, PROTOBUF), (JSON, JSON), ("text/plain", JSON), ("", JSON)])
def test_an_answer_has_the_media_type_of_its_request(asked, answered):
    assert answers.failure(asked, 400, InvalidBody("no")).media_type == answered
