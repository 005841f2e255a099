"""A shop after a bad hour, as a service with everything in it that pages show: for pictures, and to look at by hand."""

import time
from datetime import UTC, datetime
from typing import Any

import cramjam

from ingest.proto.remote_write import WriteRequest
from tests.running import Service
from weirctl import demo

METRICS = "shop_metrics"
BOUNDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
ROUTES = ("/cart", "/checkout", "/search")
STEP_SECONDS = 15
BOARD = "Shop"


def fill(service: Service) -> dict[str, str]:
    """Everything, through the API; the ids of what pages open by id."""
    for name, events in demo.hour(1, datetime.now(UTC).replace(microsecond=0)).items():
        headers = {"X-P-Time-Partition": demo.FIELDS[name], "X-P-Telemetry-Type": demo.TELEMETRY[name]}
        service.ingest(name, events, **headers).raise_for_status()
    _send_odd_events(service)
    _send_metrics(service)
    _make_people(service)
    alert = _make_alerts(service)
    _remember_statements(service)
    trace = service.query(
        f"SELECT trace_id FROM {demo.TRACES} WHERE status = 'error' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
    )
    return {"board": _make_board(service), "alert": alert, "trace": trace[0]["trace_id"]}


def _send_odd_events(service: Service) -> None:
    """Fields that change their types, nested values, long lines."""
    events = [
        {"level": "debug", "message": "cache warmed", "took": 12},
        {"level": "warn", "message": "cache is slow", "took": "1.2 s", "tags": ["cache", "eu-1"]},
        {"level": "error", "message": "Traceback:\n" + "\n".join(f"  File worker.py, line {n}" for n in range(9))},
        {"level": "info", "message": "request", "http": {"request": {"method": "GET", "path": "/cart"}}, "took": 3},
    ]
    service.ingest("inventory-worker-eu-central-1", events * 20).raise_for_status()


def _send_metrics(service: Service) -> None:
    """Half an hour of a histogram and of gauges, as Prometheus sends them."""
    request, now_ms = WriteRequest(), time.time_ns() // 1_000_000
    for route_at, route in enumerate(ROUTES):
        for rank, bound in enumerate([*map(str, BOUNDS), "+Inf"], 1):
            labels = {"__name__": "http_server_duration_seconds_bucket", "job": "shop", "le": bound, "route": route}
            _series(request, labels, now_ms, lambda ago, r=rank, a=route_at: (1800 - ago) * (r / 9) ** (1 + a) * 3)
        labels = {"__name__": "shop_sessions", "job": "shop", "route": route}
        _series(request, labels, now_ms, lambda ago, a=route_at: 40 + 10 * a + (ago * (a + 3)) % 17)
    headers = {"X-P-Stream": METRICS, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    headers |= {"Content-Type": "application/x-protobuf"}
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
    service.call("POST", "/v1/prometheus/write", data=body, headers=headers).raise_for_status()


def _series(request: Any, labels: dict[str, str], now_ms: int, value: Any) -> None:
    series = request.timeseries.add()
    for label, text in labels.items():
        series.labels.add(name=label, value=text)
    for ago in range(1800, -1, -STEP_SECONDS):
        series.samples.add(value=float(value(ago)), timestamp=now_ms - 1000 * ago)


ROLES: dict[str, list[dict[str, Any]]] = {
    "on-call": [{"privilege": "writer"}],
    "shop-sender": [{"privilege": "ingestor", "resource": {"dataset": demo.LOGS}}],
    "payment-team": [
        {"privilege": "reader", "resource": {"dataset": demo.LOGS, "tag": "service=payment"}},
        {"privilege": "reader", "resource": {"dataset": demo.TRACES}},
    ],
}
KEYS = {"fluent-bit-web-1": "shop-sender", "fluent-bit-web-2": "shop-sender", "grafana": "on-call"}
USERS = {"ann": ["on-call"], "bob": ["payment-team"], "carol": ["on-call", "payment-team"]}


def _make_people(service: Service) -> None:
    for name, entries in ROLES.items():
        service.call("PUT", f"/api/v1/role/{name}", json=entries).raise_for_status()
    for name, role in KEYS.items():
        made = service.call("POST", "/api/v1/apikeys", json={"keyName": name, "roles": [role]})
        made.raise_for_status()
        service.call("GET", "/api/v1/session", headers={"X-API-Key": made.json()["apiKey"]}).raise_for_status()
    for name, roles in USERS.items():
        service.call("POST", f"/api/v1/user/{name}", json=roles).raise_for_status()


def _make_alerts(service: Service) -> str:
    """Four alerts, of which one is triggered, one silenced, one disabled; the id of the first."""
    target = {"name": "ops hook", "type": "webhook", "endpoint": "https://hooks.example.com/weir"}
    service.call("POST", "/api/v1/targets", json=target).raise_for_status()
    errors = f"SELECT service, count(*) AS errors FROM {demo.LOGS} WHERE level = 'error' GROUP BY service"
    slow = f"SELECT max(duration_ms) AS slowest FROM {demo.TRACES}"
    triggered = _make_alert(service, "Errors of a service", errors, 5, "60m", "critical")
    _make_alert(service, "Slow request", slow, 4_000, "60m", "high")
    quiet = _make_alert(service, "Slow request for minutes", slow, 60_000, "30m", "medium")
    off = _make_alert(service, "Sessions are gone", f"SELECT count(*) FROM {METRICS}", -1, "5m", "low")
    service.call("PATCH", f"/api/v1/alerts/{quiet}/update_notification_state", json={"state": "2h"}).raise_for_status()
    service.call("PATCH", f"/api/v1/alerts/{off}/disable").raise_for_status()
    return triggered


def _make_alert(service: Service, title: str, query: str, threshold: float, window: str, severity: str) -> str:
    body = {
        "title": title,
        "severity": severity,
        "query": query,
        "thresholdConfig": {"operator": ">", "value": threshold},
        "evalConfig": {"rollingWindow": {"evalStart": window, "evalEnd": "now", "evalFrequency": 1}},
        "notificationConfig": {"interval": 60},
        "targets": [],
        "tags": ["shop"],
    }
    made = service.call("POST", "/api/v1/alerts", json=body)
    made.raise_for_status()
    service.call("PUT", f"/api/v1/alerts/{made.json()['id']}/evaluate_alert").raise_for_status()
    return str(made.json()["id"])


def _remember_statements(service: Service) -> None:
    for question in demo.QUESTIONS[:6]:
        service.call("POST", "/api/v1/saved-queries", json={"query": question.sql}).raise_for_status()
    for question in demo.QUESTIONS[6:8]:
        body = {"name": question.text, "query": question.sql}
        service.call("POST", "/api/v1/saved-queries", json=body).raise_for_status()


def _make_board(service: Service) -> str:
    host = "WHERE ('$host' = '*' OR host = '$host')"
    asked = f"{host} AND path IS NOT NULL"
    minute = "date_trunc('minute', timestamp) AS minute"
    tiles = [
        (
            "Requests",
            "number",
            f"SELECT count(*) AS requests FROM {demo.LOGS} {asked}",
            (0, 0, 3, 3),
        ),
        ("Failed", "number", f"SELECT count(*) AS failed FROM {demo.LOGS} {host} AND status >= 500", (3, 0, 3, 3)),
        (
            "Events by level",
            "stacked-bar",
            f"SELECT {minute}, level, count(*) AS events FROM {demo.LOGS} {host} GROUP BY 1, 2 ORDER BY 1",
            (6, 0, 6, 5),
        ),
        (
            "Slowest tenth of requests, ms",
            "line",
            f"SELECT {minute}, percentile_cont(0.9) WITHIN GROUP (ORDER BY duration_ms) AS p90"
            f" FROM {demo.LOGS} {asked} GROUP BY 1 ORDER BY 1",
            (0, 3, 6, 6),
        ),
        (
            "Requests by path",
            "bar",
            f"SELECT path, count(*) AS requests FROM {demo.LOGS} {asked} GROUP BY 1 ORDER BY 2 DESC",
            (6, 5, 3, 4),
        ),
        (
            "Spans by service",
            "pie",
            f"SELECT service, count(*) AS spans FROM {demo.TRACES} GROUP BY 1 ORDER BY 2 DESC",
            (9, 5, 3, 4),
        ),
        (
            "Latest errors",
            "table",
            f"SELECT timestamp, service, message FROM {demo.LOGS} {host} AND level = 'error' ORDER BY 1 DESC LIMIT 50",
            (0, 9, 12, 4),
        ),
    ]
    made = service.call(
        "POST",
        "/api/v1/dashboards",
        json={
            "title": BOARD,
            "tags": ["shop", "on-call"],
            "tiles": [
                {"title": title, "chart": chart, "query": query, "layout": dict(zip("xywh", place, strict=True))}
                for title, chart, query, place in tiles
            ],
            "variables": [
                {
                    "name": "host",
                    "query": f"SELECT DISTINCT host FROM {demo.LOGS} WHERE host IS NOT NULL ORDER BY 1",
                    "value": "*",
                }
            ],
        },
    )
    made.raise_for_status()
    board = str(made.json()["dashboardId"])
    other = {"title": "Payments", "tags": [], "tiles": []}
    service.call("POST", "/api/v1/dashboards", json=other).raise_for_status()
    return board
