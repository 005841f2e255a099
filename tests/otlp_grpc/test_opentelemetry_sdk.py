"""The OpenTelemetry Python SDK and its OTLP/gRPC exporters, which are its default, as a user sets them up."""

from typing import Any

import grpc
import pytest

from tests.otlp_grpc.conftest import Door

SDK = "the OpenTelemetry SDK is not installed"
sdk_logs = pytest.importorskip("opentelemetry.sdk._logs", reason=SDK)
log_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc._log_exporter", reason=SDK)
metric_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.metric_exporter", reason=SDK)
trace_exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.trace_exporter", reason=SDK)
api_logs = pytest.importorskip("opentelemetry._logs", reason=SDK)
logs_export = pytest.importorskip("opentelemetry.sdk._logs.export", reason=SDK)
sdk_metrics = pytest.importorskip("opentelemetry.sdk.metrics", reason=SDK)
metrics_export = pytest.importorskip("opentelemetry.sdk.metrics.export", reason=SDK)
sdk_resources = pytest.importorskip("opentelemetry.sdk.resources", reason=SDK)
sdk_trace = pytest.importorskip("opentelemetry.sdk.trace", reason=SDK)
trace_export = pytest.importorskip("opentelemetry.sdk.trace.export", reason=SDK)

pytestmark = [pytest.mark.service, pytest.mark.clients]
COMPRESSIONS = pytest.mark.parametrize("compression", ["NoCompression", "Gzip"])


def options(door: Door, dataset: str | None, compression: str) -> dict[str, Any]:
    named = {} if dataset is None else {"x-p-stream": dataset}
    return {
        "endpoint": f"http://127.0.0.1:{door.port}",
        "insecure": True,
        "headers": {"x-api-key": door.key, **named},
        "compression": grpc.Compression[compression],
    }


def resource(service: str) -> Any:
    return sdk_resources.Resource({"service.name": service})


@COMPRESSIONS
def test_log_records_arrive(door: Door, compression: str):
    dataset = f"sdk_logs_{compression.lower()}"
    provider = sdk_logs.LoggerProvider(resource("shop"))
    exporter = log_exporter.OTLPLogExporter(**options(door, dataset, compression))
    provider.add_log_record_processor(logs_export.BatchLogRecordProcessor(exporter))

    for number in range(3):
        record = api_logs.LogRecord(
            timestamp=1_795_000_000_000_000_001,
            severity_number=api_logs.SeverityNumber.WARN,
            body=f"record {number}",
            attributes={"n": number, "list": ["a", "b"]},
        )
        provider.get_logger("test").emit(record)
    provider.shutdown()

    assert door.service.query(f'select body, severity_text, n, list, "service.name" from {dataset} order by n') == [
        {"body": f"record {n}", "severity_text": "WARN", "n": n, "list": ["a", "b"], "service.name": "shop"}
        for n in range(3)
    ]


@COMPRESSIONS
def test_spans_arrive(door: Door, compression: str):
    dataset = f"sdk_traces_{compression.lower()}"
    provider = sdk_trace.TracerProvider(resource=resource("shop"))
    exporter = trace_exporter.OTLPSpanExporter(**options(door, dataset, compression))
    provider.add_span_processor(trace_export.BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")

    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as inner:
        inner.add_event("retry", {"attempt": 2})
    provider.shutdown()

    found = door.service.query(f"select span_name, events from {dataset} order by span_name")
    assert [row["span_name"] for row in found] == ["inner", "outer"]
    assert found[0]["events"][0]["attributes"] == {"attempt": 2}


@COMPRESSIONS
def test_data_points_arrive(door: Door, compression: str):
    dataset = f"sdk_metrics_{compression.lower()}"
    exporter = metric_exporter.OTLPMetricExporter(**options(door, dataset, compression))
    reader = metrics_export.PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = sdk_metrics.MeterProvider([reader], resource=resource("shop"))

    provider.get_meter("test").create_counter("requests").add(3, {"route": "/a"})
    provider.shutdown()

    assert door.service.query(f"select metric_name, data_point_value, route from {dataset}") == [
        {"metric_name": "requests", "data_point_value": 3, "route": "/a"}
    ]


def test_an_exporter_that_knows_nothing_but_its_key_fills_the_dataset_of_its_service(door: Door):
    provider = sdk_trace.TracerProvider(resource=resource("sdk.checkout"))
    exporter = trace_exporter.OTLPSpanExporter(**options(door, None, "NoCompression"))
    provider.add_span_processor(trace_export.SimpleSpanProcessor(exporter))

    provider.get_tracer("test").start_span("once").end()
    provider.shutdown()

    assert door.service.query("select span_name from sdk_checkout") == [{"span_name": "once"}]


def test_an_exporter_tries_again_until_the_service_is_back(start_door: Any):
    """While the process is away the exporter sees UNAVAILABLE, and keeps what it has."""
    door = start_door(workers=1)
    provider = sdk_trace.TracerProvider(resource=resource("shop"))
    exporter = trace_exporter.OTLPSpanExporter(**options(door, "patient", "Gzip"), timeout=60)
    provider.add_span_processor(trace_export.BatchSpanProcessor(exporter))
    door.service.stop()

    provider.get_tracer("test").start_span("kept").end()
    door.service.start()
    provider.shutdown()

    assert door.service.query("select span_name from patient") == [{"span_name": "kept"}]
