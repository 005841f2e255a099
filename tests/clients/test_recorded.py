"""What real senders sent when they were recorded, for machines on which they cannot be installed.

`tests/data/otlp`: the OpenTelemetry JavaScript exporters 0.223, chunked as they send. `tests/data/remote_write`:
Debian's Prometheus 2.42, scraping itself.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.running import Service

DATA = Path(__file__).parents[1] / "data"
SAMPLES = 353


@pytest.mark.parametrize("coding", ["", ".gz"], ids=["plain", "gzip"])
@pytest.mark.parametrize(("suffix", "media_type"), [("json", "application/json"), ("bin", "application/x-protobuf")])
def test_recorded_exports_arrive(
    service: Service, headers: Callable[[str, str], dict[str, str]], suffix: str, media_type: str, coding: str
):
    prefix = f"recorded_{suffix}{'_gzip' if coding else ''}"

    for signal in ("logs", "traces", "metrics"):
        body = (DATA / "otlp" / f"javascript-{signal}.{suffix}{coding}").read_bytes()
        sent = headers(signal, f"{prefix}_{signal}") | {"Content-Type": media_type}
        encoding = {"Content-Encoding": "gzip"} if coding else {}
        answer = requests.post(f"{service.url}/v1/{signal}", data=_chunks(body), headers=sent | encoding, timeout=30)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, media_type)
        assert answer.content == (b"{}" if suffix == "json" else b"")

    assert service.query(f"select body, severity_text, n from {prefix}_logs") == [
        {"body": "hello", "severity_text": "INFO", "n": 5}
    ]
    assert service.query(f"select span_name from {prefix}_traces") == [{"span_name": "work"}]
    assert service.query(f"select data_point_value, route from {prefix}_metrics order by route") == [
        {"data_point_value": 3.0, "route": "/a"},
        {"data_point_value": 4.0, "route": "/b"},
    ]


def test_recorded_remote_writes_arrive(service: Service, ingest_key: str):
    sent = {
        "X-API-Key": ingest_key,
        "X-P-Stream": "recorded_prometheus",
        "X-P-Log-Source": "otel-metrics",
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }

    answers = [
        requests.post(
            f"{service.url}/v1/prometheus/write",
            data=(DATA / "remote_write" / f"prometheus-{kind}.snappy").read_bytes(),
            headers=sent,
            timeout=30,
        )
        for kind in ("metadata", "samples")
    ]

    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b""), (204, b"")]
    written = int(answers[1].headers["X-Prometheus-Remote-Write-Samples-Written"])
    assert written == SAMPLES
    assert service.query("select count(*) as n from recorded_prometheus") == [{"n": SAMPLES}]


def _chunks(body: bytes) -> Iterator[bytes]:
    """A body without a length goes out chunked."""
    yield body[:10]
    yield body[10:]
