"""The OpenTelemetry Python SDK and its OTLP/HTTP exporters, as a user sets them up."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from tests.running import Service

SDK = "the OpenTelemetry SDK is not installed"
sdk_logs = pytest.importorskip("opentelemetry.sdk._logs", reason=SDK)
http = pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason=SDK)
log_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter", reason=SDK)
metric_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter", reason=SDK)
trace_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter", reason=SDK)
api_logs = pytest.importorskip("opentelemetry._logs", reason=SDK)
logs_export = pytest.importorskip("opentelemetry.sdk._logs.export", reason=SDK)
sdk_metrics = pytest.importorskip("opentelemetry.sdk.metrics", reason=SDK)
metrics_export = pytest.importorskip("opentelemetry.sdk.metrics.export", reason=SDK)
sdk_resources = pytest.importorskip("opentelemetry.sdk.resources", reason=SDK)
sdk_trace = pytest.importorskip("opentelemetry.sdk.trace", reason=SDK)
trace_export = pytest.importorskip("opentelemetry.sdk.trace.export", reason=SDK)

RESOURCE = sdk_resources.Resource({"service.name": "shop"})
COMPRESSIONS = pytest.mark.parametrize("compression", ["NoCompression", "Gzip", "Deflate"])


@COMPRESSIONS
def test_log_records_arrive(service: Service, headers: Callable[..., dict[str, str]], compression: str):
    dataset = f"python_logs_{compression.lower()}"
    exporter = log_exporter.OTLPLogExporter(
        f"{service.url}/v1/logs", headers=headers("logs", dataset), compression=http.Compression[compression]
    )
    provider = sdk_logs.LoggerProvider(RESOURCE)
    provider.add_log_record_processor(logs_export.BatchLogRecordProcessor(exporter))

    for number in range(3):
        provider.get_logger("test").emit(
            api_logs.LogRecord(
                timestamp=1_795_000_000_000_000_001,
                severity_number=api_logs.SeverityNumber.WARN,
                body=f"record {number}",
                attributes={"n": number, "list": ["a", "b"]},
            )
        )
    provider.shutdown()

    assert service.query(f'select body, severity_text, n, list, "service.name" from {dataset} order by n') == [
        {"body": f"record {n}", "severity_text": "WARN", "n": n, "list": ["a", "b"], "service.name": "shop"}
        for n in range(3)
    ]


@COMPRESSIONS
def test_spans_arrive(service: Service, headers: Callable[..., dict[str, str]], compression: str):
    dataset = f"python_traces_{compression.lower()}"
    exporter = trace_exporter.OTLPSpanExporter(
        f"{service.url}/v1/traces", headers=headers("traces", dataset), compression=http.Compression[compression]
    )
    provider = sdk_trace.TracerProvider(resource=RESOURCE)
    provider.add_span_processor(trace_export.BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")

    with tracer.start_as_current_span("outer") as outer, tracer.start_as_current_span("inner") as inner:
        inner.add_event("retry", {"attempt": 2})
    provider.shutdown()

    found = service.query(
        f"select span_name, span_trace_id, span_span_id, span_parent_span_id, events from {dataset} order by span_name"
    )
    context = outer.get_span_context()
    assert [row["span_name"] for row in found] == ["inner", "outer"]
    assert {row["span_trace_id"] for row in found} == {f"{context.trace_id:032x}"}
    assert found[0]["span_parent_span_id"] == found[1]["span_span_id"] == f"{context.span_id:016x}"
    assert found[0]["events"][0]["attributes"] == {"attempt": 2}


@COMPRESSIONS
def test_data_points_arrive(service: Service, headers: Callable[..., dict[str, str]], compression: str):
    dataset = f"python_metrics_{compression.lower()}"
    exporter = metric_exporter.OTLPMetricExporter(
        f"{service.url}/v1/metrics", headers=headers("metrics", dataset), compression=http.Compression[compression]
    )
    reader = metrics_export.PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = sdk_metrics.MeterProvider([reader], resource=RESOURCE)
    counter = provider.get_meter("test").create_counter("requests", unit="1")
    histogram = provider.get_meter("test").create_histogram("latency")

    counter.add(3, {"route": "/a"})
    counter.add(4, {"route": "/b"})
    histogram.record(12.0)
    provider.shutdown()

    assert service.query(
        f"select metric_name, metric_type, data_point_value, data_point_count, route from {dataset} order by 1, 5"
    ) == [
        {"metric_name": name, "metric_type": kind, "data_point_value": value, "data_point_count": count, "route": route}
        for name, kind, value, count, route in (
            ("latency", "histogram", None, 1, None),
            ("requests", "sum", 3, None, "/a"),
            ("requests", "sum", 4, None, "/b"),
        )
    ]


class Reluctant(BaseHTTPRequestHandler):
    """Hands requests to the service, after it has refused the first with 503 and Retry-After."""

    protocol_version = "HTTP/1.1"
    target: str
    statuses: list[int]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.statuses:
            self._answer(503, b"", {"Retry-After": "1"})
            return
        sent = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        answer = requests.post(self.target + self.path, data=body, headers=sent, timeout=30)
        self._answer(answer.status_code, answer.content, {"Content-Type": answer.headers["Content-Type"]})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.statuses.append(status)
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Not to the terminal."""


@pytest.fixture
def reluctant(service: Service) -> Iterator[tuple[str, list[int]]]:
    """The address of a reluctant way to the service, and the statuses it has given."""
    handler = type("Handler", (Reluctant,), {"target": service.url, "statuses": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", handler.statuses
    server.shutdown()
    server.server_close()


def test_after_a_refusal_exactly_one_copy_is_stored(
    service: Service, headers: Callable[..., dict[str, str]], reluctant: tuple[str, list[int]]
):
    """OTLP/HTTP: the exporter waits as Retry-After says and sends the same again."""
    url, statuses = reluctant
    exporter = trace_exporter.OTLPSpanExporter(f"{url}/v1/traces", headers=headers("traces", "python_retry"))
    provider = sdk_trace.TracerProvider(resource=RESOURCE)
    provider.add_span_processor(trace_export.SimpleSpanProcessor(exporter))

    provider.get_tracer("test").start_span("once").end()
    provider.shutdown()

    assert statuses == [503, 200]
    assert service.query("select span_name from python_retry") == [{"span_name": "once"}]
