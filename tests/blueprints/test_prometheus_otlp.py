"""OTLP metrics in PromQL, under the names that Prometheus translates them to. api.md section 7."""

import pytest
import requests

from tests.running import ADMIN, Service

START_S = 1_795_000_000
DATASET = "prom_otlp"


def points(*values: object, **members: object) -> list[dict[str, object]]:
    """A data point every 15 s."""
    attributes = [{"key": "http.route", "value": {"stringValue": "/a"}}]
    return [
        {"timeUnixNano": str((START_S + 15 * n) * 10**9), "attributes": attributes, **members, **value}
        for n, value in enumerate(values)
    ]


def histogram(count: int) -> dict[str, object]:
    return {"count": str(2 * count), "sum": 3.0 * count, "bucketCounts": [str(count), "0", str(count)]}


METRICS = [
    {
        "name": "room.temperature",
        "unit": "Cel",
        "gauge": {"dataPoints": points(*({"asDouble": 20.0 + n} for n in range(5)))},
    },
    {
        "name": "rpc.latency",
        "summary": {
            "dataPoints": points(
                {"count": "3", "sum": 6.0, "quantileValues": [{"quantile": q, "value": 2.0} for q in (0.5, 0.99)]}
            )
        },
    },
    {"name": "cpu.utilization", "unit": "1", "gauge": {"dataPoints": points({"asDouble": 0.5})}},
    {
        "name": "http.requests",
        "unit": "{request}",
        "sum": {
            "aggregationTemporality": 2,
            "isMonotonic": True,
            "dataPoints": points(*({"asInt": str(30 * n)} for n in range(5))),
        },
    },
    {
        "name": "sent",
        "unit": "By",
        "sum": {
            "aggregationTemporality": 1,
            "isMonotonic": True,
            "dataPoints": points(*({"asInt": "10"} for _ in range(5))),
        },
    },
    {"name": "queue.length", "sum": {"aggregationTemporality": 2, "dataPoints": points({"asInt": "7"})}},
    {
        "name": "http.duration",
        "unit": "s",
        "histogram": {
            "aggregationTemporality": 2,
            "dataPoints": points(*(histogram(n) for n in range(5)), explicitBounds=[0.5, 1.0]),
        },
    },
    {
        "name": "size",
        "exponentialHistogram": {
            "aggregationTemporality": 2,
            "dataPoints": points(
                *(
                    {
                        "count": str(2 * n),
                        "sum": 3.0 * n,
                        "scale": 0,
                        "positive": {"offset": 0, "bucketCounts": [str(2 * n)]},
                    }
                    for n in range(5)
                )
            ),
        },
    },
]


@pytest.fixture(scope="module")
def sent(service: Service) -> Service:
    resource = [
        {"key": name, "value": {"stringValue": value}}
        for name, value in (("service.name", "shop"), ("service.namespace", "eu"), ("service.instance.id", "i-1"))
    ]
    body = {"resourceMetrics": [{"resource": {"attributes": resource}, "scopeMetrics": [{"metrics": METRICS}]}]}
    headers = {"X-P-Stream": DATASET, "X-P-Log-Source": "otel-metrics"}
    answer = service.call("POST", "/v1/metrics", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return service


def ask(service: Service, path: str, **parameters: object) -> dict[str, object]:
    url = f"{service.url}/prometheus/{DATASET}/api/v1/{path}"
    answer = requests.post(url, data=parameters, auth=ADMIN, timeout=30)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()["data"]
    return found


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("room_temperature_celsius", 24.0),
        ("cpu_utilization_ratio", 0.5),
        ("http_requests_total", 120.0),
        ("queue_length", 7.0),
        ("increase(http_requests_total[1m])", 120.0),
        ("increase(sent_bytes_total[1m])", 40.0),
        ("http_duration_seconds_count", 8.0),
        ("http_duration_seconds_sum", 12.0),
        ('http_duration_seconds_bucket{le="0.5"}', 4.0),
        ('http_duration_seconds_bucket{le="+Inf"}', 8.0),
        ("histogram_quantile(0.5, rate(http_duration_seconds_bucket[1m]))", 0.5),
        ("histogram_count(size)", 8.0),
        ("histogram_avg(rate(size[1m]))", 1.5),
    ],
)
def test_metric_is_readable_under_its_translated_name(sent: Service, query: str, value: float):
    (found,) = ask(sent, "query", query=query, time=START_S + 60)["result"]

    assert float(found["value"][1]) == pytest.approx(value)


def test_labels_are_translated_and_the_service_is_job_and_instance(sent: Service):
    (found,) = ask(sent, "query", query="room_temperature_celsius", time=START_S + 60)["result"]

    assert found["metric"] == {
        "__name__": "room_temperature_celsius",
        "http_route": "/a",
        "instance": "i-1",
        "job": "eu/shop",
        "service_instance_id": "i-1",
        "service_name": "shop",
        "service_namespace": "eu",
    }


def test_names_are_listed_translated(sent: Service):
    found = sent.call("GET", f"/prometheus/{DATASET}/api/v1/label/__name__/values").json()["data"]

    assert found == sorted(
        """cpu_utilization_ratio http_duration_seconds_bucket http_duration_seconds_count http_duration_seconds_sum
        http_requests_total queue_length room_temperature_celsius rpc_latency rpc_latency_count rpc_latency_sum
        sent_bytes_total size""".split()
    )


def test_series_are_listed_as_they_are_read(sent: Service):
    """With `le` and `quantile`, of which Grafana's query builder asks for the values."""
    selector = '{__name__=~".+"}'
    read = ask(sent, "query", query=f"last_over_time({selector}[5m])", time=START_S + 60)["result"]

    listed = ask(sent, "series", **{"match[]": selector})
    values = {
        name: sent.call("GET", f"/prometheus/{DATASET}/api/v1/label/{name}/values").json()["data"]
        for name in ("le", "quantile")
    }

    # last_over_time keeps the name.
    assert sorted(map(pairs, listed)) == sorted(pairs(each["metric"]) for each in read)
    assert values == {"le": ["+Inf", "0.5", "1"], "quantile": ["0.5", "0.99"]}


def pairs(labels: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(labels.items())
