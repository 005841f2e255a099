"""Live tails beside ingestion: `python -m bench.tail`.

First at a steady rate of events: how long after its acknowledgement an event is with each of ten clients, and whether
each has every one of them once. Then at full load: rounds with and without the tails take turns, because the speed of a
shared host changes; printed is the ingest rate as a ratio of the neighbouring rounds.
"""

import argparse
import json
import multiprocessing
import socket
import tempfile
import threading
import time
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

from bench import load
from bench.processes import usage
from tests.running import ADMIN, Service

DATASET: Final = "bench_tail"
EVENTS: Final = 100
WARM_UP_SECONDS: Final = 4.0
# One event of each request is followed; its number says which request that was.
SQL: Final = f"SELECT number FROM {DATASET} WHERE number >= 0 AND level <> 'FATAL'"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tails", type=int, default=10)
    parser.add_argument("--rate", type=int, default=20_000, help="events per second of the steady part")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--connections", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(root), environment, workers=2).start()
        try:
            key = service.make_key("bench", {"privilege": "admin"})
            service.ingest(DATASET, [{**json.loads(body(-1))[0], "number": -1}]).raise_for_status()
            steady(service, key, arguments)
            full_load(service, key, arguments)
        finally:
            service.stop()


def body(number: int) -> bytes:
    """A request's events, of which the last has the number."""
    events = json.loads(TEMPLATE)
    events[-1]["number"] = number
    return json.dumps(events, separators=(",", ":")).encode()


TEMPLATE: Final = load.bodies("flat", EVENTS, 1)[0]


def steady(service: Service, key: str, arguments: Namespace) -> None:
    """Print the latencies at the steady rate."""
    acknowledged: dict[int, float] = {}
    with Readers(service, key, arguments.tails) as readers:
        before = cpu(service)
        started = time.monotonic()
        send_steadily(service, key, arguments, acknowledged)
        seconds = time.monotonic() - started
        used = {name: round((value - before.get(name, 0)) / seconds, 2) for name, value in cpu(service).items()}
        time.sleep(3)
        seen = readers.finish()
    late = sorted(at - acknowledged[number] for rows in seen for number, at in rows if number in acknowledged)
    counts = [Counter(number for number, _ in rows) for rows in seen]
    once = sum(all(each[number] == 1 for number in acknowledged) for each in counts)
    rate = len(acknowledged) * EVENTS / seconds
    print(f"steady: {rate:,.0f} events/s, {arguments.tails} tails, {len(late) / seconds:,.0f} rows/s to them")
    print(f"each acknowledged row once: in {once} of {len(counts)} tails, of {len(acknowledged)} rows")
    shown = ", ".join(f"p{int(100 * q)} {1000 * at(late, q):.0f} ms" for q in (0.5, 0.95, 0.99))
    print(f"from acknowledgement to client: {shown}, most {1000 * late[-1]:.0f} ms")
    print(f"cores used: {used}")


def at(values: list[float], fraction: float) -> float:
    return values[min(len(values) - 1, int(len(values) * fraction))]


def send_steadily(service: Service, key: str, arguments: Namespace, acknowledged: dict[int, float]) -> None:
    """Requests at the rate, over several connections; when each was acknowledged."""
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": DATASET}
    url, pause = f"{service.url}/api/v1/ingest", EVENTS / arguments.rate
    count = int(arguments.seconds / pause)
    prepared = [load.request(url, headers, body(number)) for number in range(count)]
    begin = time.monotonic() + 0.5

    def work(first: int) -> None:
        parts = urlsplit(url)
        connection = socket.create_connection((parts.hostname, parts.port))
        for number in range(first, count, arguments.connections):
            time.sleep(max(0.0, begin + number * pause - time.monotonic()))
            connection.sendall(prepared[number])
            if load._status(connection) < 300:
                acknowledged[number] = time.time()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(arguments.connections)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def full_load(service: Service, key: str, arguments: Namespace) -> None:
    """Print what tails cost ingestion that takes all it can get."""
    ingest(service, key, arguments)
    with Readers(service, key, arguments.tails) as readers:
        # The tail processes start, and others take their places among the query processes.
        time.sleep(WARM_UP_SECONDS)
        readers.finish()
    ratios, rounds = [], []
    for number in range(arguments.rounds):
        pair = [
            round_of(service, key, arguments, with_tails=with_tails) for with_tails in (False, True)[:: (-1) ** number]
        ]
        alone, beside = pair[:: (-1) ** number]
        ratios.append(beside.rate / alone.rate)
        rounds.append((alone, beside))
    rate = median(alone.rate for alone, _ in rounds)
    print(f"full load: {rate:,.0f} events/s alone; with {arguments.tails} tails {median(ratios):.3f} of that")
    print(f"rounds: {', '.join(f'{ratio:.3f}' for ratio in ratios)}")
    for name, each in (("alone", [alone for alone, _ in rounds]), ("with tails", [beside for _, beside in rounds])):
        groups = {group: median(round.us_per_event[group] for round in each) for group in ("workers", "queries")}
        print(f"{name}, processor time per event: {', '.join(f'{group} {us:.1f} us' for group, us in groups.items())}")


@dataclass(frozen=True)
class Round:
    """Events per second, and the processor time that each took, in microseconds by what the processes do."""

    rate: float
    us_per_event: dict[str, float]


def round_of(service: Service, key: str, arguments: Namespace, *, with_tails: bool) -> Round:
    if not with_tails:
        return ingest(service, key, arguments)
    with Readers(service, key, arguments.tails) as readers:
        done = ingest(service, key, arguments)
        readers.finish()
    return done


def ingest(service: Service, key: str, arguments: Namespace) -> Round:
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": DATASET}
    url = f"{service.url}/api/v1/ingest"
    prepared = [load.request(url, headers, body(number)) for number in range(4)]
    seconds, before = arguments.seconds / 2, cpu(service)
    done = load.run(url, prepared, connections=arguments.connections, seconds=seconds)
    rate = done.requests_per_second * EVENTS
    spent = {group: value - before.get(group, 0.0) for group, value in cpu(service).items()}
    return Round(rate, {group: 1e6 * value / (rate * seconds) for group, value in spent.items()})


class Readers:
    """Clients of tails, in a process of their own: what they do is not to slow down those who send."""

    def __init__(self, service: Service, key: str, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=read, args=(service.url, key, count, theirs), daemon=True)

    def __enter__(self) -> "Readers":
        self._process.start()
        self._ours.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def finish(self) -> list[list[tuple[int, float]]]:
        """By tail, the numbers of its rows and when they came."""
        self._ours.send("stop")
        found: list[list[tuple[int, float]]] = self._ours.recv()
        return found


def read(url: str, key: str, count: int, pipe: Connection) -> None:
    """Follow with so many clients until told to stop."""
    found: list[list[tuple[bytes, float]]] = [[] for _ in range(count)]
    ready = threading.Barrier(count + 1)
    for rows in found:
        threading.Thread(target=follow, args=(url, key, rows, ready), daemon=True).start()
    ready.wait()
    pipe.send("ready")
    pipe.recv()
    told = [[(json.loads(line[6:]), at) for line, at in rows] for rows in found]
    # Who reads too slowly is told of a gap, which has no number.
    pipe.send([[(row["number"], at) for row, at in rows if "number" in row] for rows in told])


def follow(url: str, key: str, rows: list[tuple[bytes, float]], ready: threading.Barrier) -> None:
    """Note the lines and when they came; they are parsed when nobody measures any more."""
    parts = urlsplit(url)
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    connection = socket.create_connection((parts.hostname, parts.port))
    connection.sendall(load.request(f"{url}/api/v1/tail", headers, json.dumps({"query": SQL}).encode()))
    stream = connection.makefile("rb")
    while not stream.readline().startswith(b": following"):
        pass
    ready.wait()
    for line in stream:
        if line.startswith(b"data: "):
            rows.append((line, time.time()))


def cpu(service: Service) -> dict[str, float]:
    """Processor seconds so far, by what the processes do."""
    assert service.process is not None
    total: dict[str, float] = {}
    for group, seconds in usage(service.process.pid, service.data_dir).values():
        total[group] = total.get(group, 0.0) + seconds
    return total


if __name__ == "__main__":
    main()
