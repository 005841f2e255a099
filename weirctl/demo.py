"""`weirctl demo`: an hour of a small shop with an incident in it, and ten questions that find it.

The same seed gives the same hour; only its end is the moment at which it is made.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import click

from weirctl.client import Server
from weirctl.printing import note

LOGS, TRACES, METRICS = "demo_logs", "demo_traces", "demo_metrics"
REQUESTS: Final = 6_000
BATCH: Final = 2_000
SECONDS: Final = 3_600
# Seconds of the hour in which the payment database has no connections left, after a deployment.
DEPLOYED, RECOVERED = 2_400, 2_880
HOSTS: Final = ("web-1", "web-2", "web-3")
PATHS: Final = {"/": 30, "/products": 25, "/cart": 15, "/checkout": 12, "/search": 13, "/login": 5}
SERVICES: Final = {"/checkout": ("cart", "payment"), "/cart": ("cart",), "/login": ("accounts",)}
FIELDS: Final = {LOGS: "timestamp", TRACES: "start_time", METRICS: "timestamp"}
TELEMETRY: Final = {LOGS: "logs", TRACES: "traces", METRICS: "metrics"}
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    sql: str


QUESTIONS: Final = (
    Question(
        "How many errors are there, minute by minute?",
        "SELECT date_trunc('minute', timestamp) AS minute, count(*) AS events,"
        " count(*) FILTER (WHERE level = 'error') AS errors FROM demo_logs GROUP BY 1 ORDER BY 1",
    ),
    Question(
        "What are the most frequent errors, numbers left out?",
        "SELECT regexp_replace(message, '[0-9]+', 'N', 'g') AS pattern, count(*) AS events"
        " FROM demo_logs WHERE level = 'error' GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
    ),
    Question(
        "Which paths are slow for one request in twenty?",
        "SELECT path, count(*) AS requests,"
        " round(percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)) AS p95_ms"
        " FROM demo_logs WHERE path IS NOT NULL GROUP BY path ORDER BY p95_ms DESC",
    ),
    Question(
        "What happened just before the first failed payment?",
        "SELECT timestamp, service, level, message FROM demo_logs WHERE service IN ('deploy', 'payment')"
        " AND timestamp <= (SELECT min(timestamp) FROM demo_logs WHERE service = 'payment' AND level = 'error')"
        " ORDER BY timestamp DESC LIMIT 10",
    ),
    Question(
        "Which service has the largest share of failed spans?",
        "SELECT service, count(*) AS spans, round(100.0 * count(*) FILTER (WHERE status = 'error') / count(*), 2)"
        " AS failed_percent FROM demo_traces GROUP BY service ORDER BY failed_percent DESC",
    ),
    Question(
        "Where does the time of the slowest requests go?",
        "SELECT t.trace_id, t.service, t.name, t.duration_ms FROM demo_traces t JOIN (SELECT trace_id FROM demo_traces"
        " WHERE parent_span_id IS NULL ORDER BY duration_ms DESC LIMIT 3) AS slowest USING (trace_id)"
        " ORDER BY t.trace_id, t.start_time",
    ),
    Question(
        "What did the log say about those requests?",
        "SELECT l.timestamp, l.service, l.level, l.message FROM demo_logs l WHERE l.trace_id IN (SELECT trace_id"
        " FROM demo_traces WHERE parent_span_id IS NULL ORDER BY duration_ms DESC LIMIT 3) ORDER BY l.timestamp",
    ),
    Question(
        "How busy is each host, in steps of five minutes?",
        "SELECT date_bin('5 minutes', timestamp, '2000-01-01') AS since, host, round(avg(value)) AS cpu_percent"
        " FROM demo_metrics WHERE name = 'cpu_percent' GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    Question(
        "How many requests per second does the counter of each host tell?",
        "SELECT host, timestamp, round((value - lag(value) OVER w)::numeric / 60, 2) AS per_second FROM demo_metrics"
        " WHERE name = 'http_requests_total' WINDOW w AS (PARTITION BY host ORDER BY timestamp) ORDER BY 1, 2",
    ),
    Question(
        "Which customers met more than one error?",
        "SELECT customer, count(*) AS errors, max(timestamp) AS latest FROM demo_logs"
        " WHERE status >= 500 GROUP BY customer HAVING count(*) > 1 ORDER BY errors DESC, customer LIMIT 10",
    ),
)


@click.command()
@click.option("--seed", default=1, show_default=True, help="The same seed makes the same hour.")
@click.pass_obj
def demo(server: Server, seed: int) -> None:
    """Fill demo_logs, demo_traces and demo_metrics with the last hour of a small shop, and print ten questions."""
    end = datetime.now(UTC).replace(microsecond=0)
    for name, events in hour(seed, end).items():
        _send(server, name, events)
        note(f"{name}: {len(events)} events of the last hour")
    click.echo("\nTen questions worth asking:")
    for number, question in enumerate(QUESTIONS, 1):
        click.echo(f'\n{number}. {question.text}\n   weirctl query "{question.sql}"')


def hour(seed: int, end: datetime) -> dict[str, list[Event]]:
    """The events of the hour before `end`, by dataset, in the order of their times."""
    random = Random(seed)
    start = end - timedelta(seconds=SECONDS)
    logs: list[Event] = [_deployment(start)]
    traces: list[Event] = []
    for second in sorted(_busy(random) for _ in range(REQUESTS)):
        request = _request(random, second, start)
        traces += _spans(random, request, start)
        logs += _lines(request, start)
    metrics = list(_metrics(random, start, logs))
    return {
        LOGS: sorted(logs, key=lambda event: str(event["timestamp"])),
        TRACES: sorted(traces, key=lambda event: str(event["start_time"])),
        METRICS: metrics,
    }


def _busy(random: Random) -> float:
    """A second of the hour; towards its end more people are there."""
    return SECONDS * random.betavariate(1.3, 1.0)


@dataclass(frozen=True, slots=True)
class _Request:
    second: float
    trace_id: str
    host: str
    path: str
    status: int
    duration_ms: float
    payment_ms: float
    customer: str


def _request(random: Random, second: float, start: datetime) -> _Request:
    path = random.choices(list(PATHS), list(PATHS.values()))[0]
    is_broken = path == "/checkout" and DEPLOYED + 20 <= second < RECOVERED
    failed = is_broken and random.random() < 0.7
    waited = 5_000.0 if failed else random.uniform(800, 4_500) if is_broken else random.lognormvariate(3.5, 0.4)
    payment_ms = round(waited, 1) if path == "/checkout" else 0.0
    status = 503 if failed else random.choices((200, 302, 404, 500), (93, 4, 2.7, 0.3))[0]
    own_ms = random.lognormvariate(4.6 if path == "/search" else 3.2, 0.5)
    return _Request(
        second=second,
        trace_id=f"{random.getrandbits(128):032x}",
        host=random.choice(HOSTS),
        path=path,
        status=status,
        duration_ms=round(own_ms + payment_ms, 1),
        payment_ms=payment_ms,
        customer=f"c{min(int(random.paretovariate(0.7)), 4000):04d}",
    )


def _lines(request: _Request, start: datetime) -> Iterator[Event]:
    """What the services write about a request."""
    done = request.second + request.duration_ms / 1000
    level = "error" if request.status >= 500 else "warn" if request.status == 404 else "info"
    common = {"trace_id": request.trace_id, "host": request.host, "customer": request.customer}
    yield {
        "timestamp": _at(start, done),
        "level": level,
        "service": "gateway",
        "message": f"GET {request.path} {request.status} in {request.duration_ms:.0f} ms",
        "path": request.path,
        "status": request.status,
        "duration_ms": request.duration_ms,
        **common,
    }
    if request.status == 503:
        message = f"no connection to payments-db after {request.payment_ms:.0f} ms: pool of 4 is exhausted"
        yield {"timestamp": _at(start, done), "level": "error", "service": "payment", "message": message, **common}
    elif request.payment_ms:
        message = f"payment taken in {request.payment_ms:.0f} ms"
        yield {"timestamp": _at(start, done), "level": "info", "service": "payment", "message": message, **common}


def _spans(random: Random, request: _Request, start: datetime) -> Iterator[Event]:
    """The gateway's span, and one for each service behind it."""
    root = f"{random.getrandbits(64):016x}"
    failed = "error" if request.status >= 500 else "ok"
    yield _span(request, start, root, None, "gateway", f"GET {request.path}", request.duration_ms, failed)
    for service in SERVICES.get(request.path, ()):
        own_ms = request.payment_ms if service == "payment" else round(request.duration_ms * 0.2, 1)
        status = failed if service == "payment" or len(SERVICES[request.path]) == 1 else "ok"
        span_id = f"{random.getrandbits(64):016x}"
        yield _span(request, start, span_id, root, service, f"{service}.handle", own_ms, status)


def _span(
    request: _Request,
    start: datetime,
    span_id: str,
    parent: str | None,
    service: str,
    name: str,
    duration_ms: float,
    status: str,
) -> Event:
    return {
        "start_time": _at(start, request.second),
        "trace_id": request.trace_id,
        "span_id": span_id,
        "parent_span_id": parent,
        "service": service,
        "name": name,
        "duration_ms": duration_ms,
        "status": status,
    }


def _deployment(start: datetime) -> Event:
    message = "payment 2.4.0 deployed: DB_POOL_SIZE 40 -> 4"
    return {"timestamp": _at(start, DEPLOYED), "level": "info", "service": "deploy", "message": message}


def _metrics(random: Random, start: datetime, logs: Sequence[Event]) -> Iterator[Event]:
    """Of each host every minute: processor, memory, and the counter of its requests."""
    ends = [(str(event["timestamp"]), event["host"]) for event in logs if event["service"] == "gateway"]
    for minute in range(1, SECONDS // 60 + 1):
        at = _at(start, minute * 60)
        for number, host in enumerate(HOSTS):
            counted = sum(each <= at and of == host for each, of in ends)
            cpu = 20 + minute / 2 + random.gauss(0, 4)
            memory = 400_000_000 + minute * 1_500_000 * (number == 0) + int(random.gauss(0, 4e6))
            values = {
                "cpu_percent": round(cpu, 1),
                "memory_bytes": float(memory),
                "http_requests_total": float(counted),
            }
            yield from ({"timestamp": at, "host": host, "name": name, "value": value} for name, value in values.items())


def _at(start: datetime, second: float) -> str:
    moment = start + timedelta(milliseconds=round(min(second, SECONDS) * 1000))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _send(server: Server, name: str, events: Sequence[Mapping[str, Any]]) -> None:
    headers = {
        "X-P-Stream": name,
        "X-P-Time-Partition": FIELDS[name],
        "X-P-Telemetry-Type": TELEMETRY[name],
        "Content-Type": "application/x-ndjson",
    }
    for first in range(0, len(events), BATCH):
        lines = "\n".join(json.dumps(event) for event in events[first : first + BATCH])
        server.call("POST", "/api/v1/ingest", data=lines.encode(), headers=headers)
