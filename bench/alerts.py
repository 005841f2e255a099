"""Many alerts beside ingestion at full load, in one run: `python -m bench.alerts [--alerts 1000] [--seconds 60]`.

Phases take turns: ingestion alone, ingestion with all alerts at a frequency of one minute. Reported: the ingest rate
of each, how late evaluations were beyond their slot and the time to settle, and the processor time of one evaluation.
"""

import argparse
import os
import tempfile
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from alerting import schedule
from bench import load
from models import server
from tests.running import ADMIN, Service

DATASETS = 10
QUERIES = (
    "SELECT count(*) FROM {}",
    "SELECT count(*) FROM {} WHERE level = 'error'",
    "SELECT level, count(*) AS n FROM {} GROUP BY level",
    "SELECT max(duration_ms) FROM {}",
)


@dataclass
class Phase:
    """What was seen while it lasted. `late` are seconds, one sample a second of the alert that was most behind."""

    events_per_second: float = 0.0
    late: list[float] = field(default_factory=list)
    evaluations: int = 0
    cpu_seconds: float = 0.0


def make_alerts(service: Service, count: int) -> None:
    for number in range(DATASETS):
        events = [{"level": ("info", "error")[n % 2], "duration_ms": n, "text": "x" * 100} for n in range(1000)]
        for _ in range(10):
            service.ingest(f"bench_{number}", events).raise_for_status()
    for number in range(count):
        body = {
            "title": f"alert {number}",
            "query": QUERIES[number % len(QUERIES)].format(f"bench_{number % DATASETS}"),
            "thresholdConfig": {"operator": ">", "value": 1e9},
            "evalConfig": {"rollingWindow": {"evalStart": "10m", "evalEnd": "now", "evalFrequency": 1}},
        }
        service.call("POST", "/api/v1/alerts", json=body).raise_for_status()


def park(database: str) -> None:
    """No alert is due for a century."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE alert SET next_run_at = now() + interval '100 years'")


def resume(database: str) -> None:
    """Every alert is due at its next slot."""
    with psycopg.connect(database, autocommit=True) as connection:
        ids = [alert_id for (alert_id,) in connection.execute("SELECT id FROM alert").fetchall()]
        now = datetime.now(UTC)
        slots = [(schedule.following(alert_id, 60, now), alert_id) for alert_id in ids]
        connection.cursor().executemany("UPDATE alert SET next_run_at = %s WHERE id = %s", slots)


@contextmanager
def observed(database: str, phase: Phase, session: int) -> Iterator[None]:
    """Watch lateness once a second while the block runs; count evaluations and their processor time."""
    stop = threading.Event()

    def watch() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            while not stop.wait(1.0):
                (late,) = connection.execute(
                    "SELECT extract(epoch FROM greatest(now() - min(next_run_at), interval '0')) FROM alert"
                ).fetchone()
                phase.late.append(max(0.0, float(late) - schedule.SETTLE.total_seconds()))

    cpu = alerting_cpu_seconds(session)
    started = datetime.now(UTC)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    phase.cpu_seconds = alerting_cpu_seconds(session) - cpu
    with psycopg.connect(database, autocommit=True) as connection:
        # Each alert is evaluated once a minute, so those evaluated since are close to all evaluations per minute.
        (evaluated,) = connection.execute(
            "SELECT count(*) FROM alert WHERE last_evaluated_at >= %s", (started,)
        ).fetchone()
    phase.evaluations = int(evaluated)


def alerting_cpu_seconds(session: int) -> float:
    """Processor time so far of the alerting process and the query processes it started."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            numbers = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(numbers[3]) == session:
            stats[int(path.parent.name)] = (int(numbers[1]), int(numbers[11]) + int(numbers[12]), command)
    owners = {pid for pid, (_, _, command) in stats.items() if b"alerting.process" in command}
    ticks = sum(used for pid, (parent, used, _) in stats.items() if pid in owners or parent in owners)
    return ticks / os.sysconf("SC_CLK_TCK")


def ingest(service: Service, key: str, arguments: Namespace) -> float:
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": "bench_load"}
    url = f"{service.url}/api/v1/ingest"
    prepared = [load.request(url, headers, body) for body in load.bodies("flat", 100)]
    outcome = load.run(url, prepared, connections=arguments.connections, seconds=arguments.seconds)
    return outcome.requests_per_second * 100


def measure(service: Service, key: str, database: str, arguments: Namespace, *, evaluates: bool) -> Phase:
    phase = Phase()
    resume(database) if evaluates else park(database)
    assert service.process is not None
    with observed(database, phase, service.process.pid):
        phase.events_per_second = ingest(service, key, arguments)
    return phase


def report(phases: list[tuple[Phase, Phase]], arguments: Namespace) -> None:
    for alone, beside in phases:
        ratio = beside.events_per_second / alone.events_per_second
        late = sorted(beside.late)
        per_evaluation = 1000 * beside.cpu_seconds / max(1, beside.evaluations)
        print(
            f"ingestion {beside.events_per_second:,.0f} events/s, {ratio:.3f} of {alone.events_per_second:,.0f} alone; "
            f"{beside.evaluations} of {arguments.alerts} alerts evaluated in {arguments.seconds:g} s, "
            f"late p50 {late[len(late) // 2]:.2f} s, max {late[-1]:.2f} s; {per_evaluation:.1f} ms of processor each"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alerts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        credentials = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(folder), credentials, 2).start()
        try:
            database = server.url(None, Path(folder))
            key = service.make_key("bench", {"privilege": "ingestor"})
            make_alerts(service, arguments.alerts)
            phases = [
                tuple(measure(service, key, database, arguments, evaluates=which) for which in (False, True))
                for _ in range(arguments.rounds)
            ]
            report(phases, arguments)
        finally:
            service.stop()


if __name__ == "__main__":
    main()
