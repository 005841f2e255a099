"""Weir and a real Prometheus 3 get the same remote-write requests and are asked the same. api.md section 7."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import cramjam
import pytest
import requests

from ingest.proto.remote_read import ReadRequest
from tests.promql import prometheus_server
from tests.promql.comparison import differences
from tests.promql.judged_data import INTERVAL_MS, STEPS, judged_series, requests_of
from tests.promql.judged_expressions import expressions
from tests.promql.remote_read_reader import Series, read_chunks, read_samples
from tests.running import ADMIN, Service

pytestmark = pytest.mark.clients

PROGRAM = prometheus_server.program()
DATASET = "judged_metrics"
HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
VERSION = {"X-Prometheus-Remote-Write-Version": "0.1.0"}
LENGTH_SECONDS = STEPS * INTERVAL_MS // 1000


@dataclass(frozen=True)
class Judged:
    """Both sides, and when their samples begin, in seconds."""

    service: Service
    prometheus: str
    start: int

    def ask(self, path: str, **parameters: object) -> tuple[dict[str, object], dict[str, object]]:
        """What Prometheus answers, and what Weir does."""
        expected = requests.post(f"{self.prometheus}/api/v1/{path}", data=parameters, timeout=60).json()
        actual = self.service.call("POST", f"/prometheus/{DATASET}/api/v1/{path}", data=parameters).json()
        return expected, actual


@pytest.fixture(scope="module")
def judged(service: Service) -> Iterator[Judged]:
    if PROGRAM is None:
        pytest.skip("no Prometheus 3: neither PROMETHEUS_BINARY nor the path names one")
    start = (int(time.time()) - LENGTH_SECONDS - 600) // 60 * 60
    with prometheus_server.prometheus(PROGRAM) as url:
        for body in requests_of(judged_series(start * 1000)):
            packed = bytes(cramjam.snappy.compress_raw(body))
            stored = requests.post(f"{url}/api/v1/write", packed, headers=HEADERS | VERSION, timeout=60)
            assert stored.status_code in (200, 204), stored.text
            sent = {"X-P-Stream": DATASET, "X-P-Log-Source": "otel-metrics", **HEADERS}
            answer = service.call("POST", "/v1/prometheus/write", data=packed, headers=sent)
            assert answer.status_code == 204, answer.text
        yield Judged(service, url, start)


@pytest.mark.parametrize("expression", expressions())
def test_expression_has_prometheus_answer(judged: Judged, expression: str):
    ordered = expression.startswith(("sort", "topk", "bottomk"))
    end = judged.start + LENGTH_SECONDS

    found = []
    for at in (judged.start + 1_207, end + 100):
        found += differences(*judged.ask("query", query=expression, time=at), ordered=ordered)
    for step, first in ((60, judged.start - 120), (171, judged.start + 900)):
        parameters = {"query": expression, "start": first, "end": end + 400, "step": step}
        found += differences(*judged.ask("query_range", **parameters), ordered=False)

    assert found == []


def test_there_are_six_hundred_expressions():
    assert len(expressions()) >= 600


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("labels", {}),
        ("labels", {"match[]": "up"}),
        ("series", {"match[]": ["up", '{__name__=~"http.*",code="200"}']}),
        ("series", {"match[]": "nothing"}),
        ("series", {}),
        ("labels", {"match[]": "up("}),
        ("format_query", {"query": "sum by(job)(rate(x{a='b'}[5m])) > 1"}),
        ("format_query", {"query": "sum(("}),
        ("parse_query", {"query": "sum by(job)(rate(x{a='b'}[5m] offset 1m)) > bool on() group_left(z) -1"}),
        ("parse_query", {"query": "topk(3, x) and quantile_over_time(0.5, y[5m:1m] @ end())"}),
        ("query", {"query": "up[2m]"}),
        ("query", {"query": "duration_seconds[2m]"}),
        ("query", {"query": "up", "time": "yesterday"}),
        ("query_range", {"query": "up[2m]", "start": 0, "end": 10, "step": 1}),
        ("query_range", {"query": "up", "start": 0, "end": 100_000, "step": 1}),
        ("query_range", {"query": "up", "start": 10, "end": 0, "step": 1}),
        ("query_range", {"query": "up", "start": 0, "end": 1, "step": 0}),
    ],
)
def test_other_routes_answer_as_prometheus(judged: Judged, path: str, parameters: dict[str, object]):
    times = {"time": judged.start + 3_000} if path == "query" and "time" not in parameters else {}

    expected, actual = judged.ask(path, **parameters, **times)

    assert actual.get("status") == expected.get("status")
    assert actual.get("errorType") == expected.get("errorType")
    if path == "query":
        # Bounds of native buckets differ in the last bit from a table of Prometheus.
        assert differences(expected, actual, ordered=False) == []
    else:
        assert actual.get("data") == expected.get("data")


@pytest.mark.parametrize("label", ["__name__", "job", "code", "U__http_2e_method", "missing"])
def test_label_values_are_prometheus(judged: Judged, label: str):
    expected = requests.get(f"{judged.prometheus}/api/v1/label/{label}/values", timeout=30).json()

    actual = judged.service.call("GET", f"/prometheus/{DATASET}/api/v1/label/{label}/values").json()

    assert actual == expected


def test_exemplars_are_prometheus(judged: Judged):
    parameters = {"query": "rate(http_requests_total[5m])", "start": judged.start, "end": judged.start + LENGTH_SECONDS}

    expected, actual = judged.ask("query_exemplars", **parameters)

    assert actual == expected


@pytest.mark.parametrize("kinds", [[], [0], [1]], ids=["default", "samples", "chunks"])
def test_remote_read_is_prometheus(judged: Judged, kinds: list[int]):
    """prompb/remote.proto: as samples, and as a stream of XOR chunks."""
    request = ReadRequest(accepted_response_types=kinds)
    query = request.queries.add(start_timestamp_ms=judged.start * 1000, end_timestamp_ms=(judged.start + 900) * 1000)
    query.matchers.add(type=2, name="__name__", value="http_requests_total|up")
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))

    expected = requests.post(f"{judged.prometheus}/api/v1/read", body, headers=HEADERS, timeout=30)
    actual = judged.service.call("POST", f"/prometheus/{DATASET}/api/v1/read", data=body, headers=HEADERS)

    assert (actual.status_code, expected.status_code) == (200, 200), actual.text
    assert actual.headers["Content-Type"] == expected.headers["Content-Type"]
    read = read_chunks if kinds == [1] else read_samples
    # Which series comes first, and where chunks end, follows from the order and size of a server's memory.
    assert repr(sorted(within(read(actual.content), judged).items())) == repr(
        sorted(within(read(expected.content), judged).items())
    )


@pytest.fixture(scope="module")
def reader(judged: Judged) -> Iterator[str]:
    """A Prometheus without samples of its own, which reads those of Weir."""
    assert PROGRAM is not None
    user, password = ADMIN
    reads = f"""remote_read:
  - url: {judged.service.url}/prometheus/{DATASET}/api/v1/read
    basic_auth: {{username: {user}, password: {password}}}
    read_recent: true
"""
    with prometheus_server.prometheus(PROGRAM, reads) as url:
        yield url


@pytest.mark.parametrize(
    "expression",
    [
        "http_requests_total",
        "duration_seconds",
        "size_bytes",
        "rate(duration_seconds[5m])",
        "histogram_quantile(0.9, sum(increase(duration_seconds[10m])))",
        "histogram_sum(rate(size_bytes[5m]))",
        "resets(duration_seconds[30m])",
        "up",
    ],
)
def test_prometheus_reads_streamed_chunks(judged: Judged, reader: str, expression: str):
    """Remote read as its client asks for it, native histograms included (storage/remote/client.go)."""
    times = {"start": judged.start, "end": judged.start + LENGTH_SECONDS, "step": 60}

    expected, _ = judged.ask("query_range", query=expression, **times)
    actual = requests.post(f"{reader}/api/v1/query_range", data={"query": expression, **times}, timeout=60).json()

    assert expected["data"]["result"]
    assert differences(expected, actual, ordered=False) == []


def within(series: Series, judged: Judged) -> Series:
    """Chunks of Prometheus reach beyond the times that were asked for."""
    end = (judged.start + 900) * 1000
    return {labels: [point for point in points if point[0] <= end] for labels, points in series.items()}
