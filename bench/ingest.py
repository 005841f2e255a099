"""Durable JSON ingestion against its ceilings, in one run: `python -m bench.ingest [--workers 1] [--rounds 5]`.

- Bodies of 1,000 and 100 events: events/s through HTTP, acknowledged after fdatasync, against what one core can do in
  process with the parser alone (Polars `read_json` with full inference, plus unnest).
- Single events: requests/s against a bare Flask view under gunicorn's own gevent worker, as anybody would run one, or
  under ours (`--bare-worker serving.gunicorn_worker.worker.Worker`).

Ceiling and load take turns in short rounds, because machines change their speed; each ratio is the rounds' median.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

from bench import load
from tests.running import ADMIN, ROOT, Service, free_port

BARE = """
from gevent import monkey; monkey.patch_all()
from flask import Flask, request
app = Flask(__name__)
@app.post("/bare")
def bare():
    request.get_data()
    return {"ok": True}
"""


@dataclass(frozen=True)
class Measured:
    """A round of load, and the processor seconds that the workers spent on one request of it."""

    outcome: load.Outcome
    cpu_per_request: float


@dataclass(frozen=True)
class Round:
    """A round and its ratios to its ceiling: by the clock, and by processor time."""

    outcome: load.Outcome
    by_clock: float
    by_processor: float


def ceiling(kind: str, seconds: float) -> float:
    """Processor seconds per event of a process that only parses: on an idle core, the inverse of its rate."""
    prepared = load.bodies(kind, 1000)
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        frame = pl.read_json(prepared[done % len(prepared)], infer_schema_length=None)
        while structs := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
            frame = frame.unnest(structs, separator="_")
        done += 1
    return (time.process_time() - cpu) / (1000 * done)


def workers(master: int) -> list[Path]:
    """Of the master's children, without their own children (maintenance, queries), what the kernel tells."""
    return [Path("/proc", child) for child in Path(f"/proc/{master}/task/{master}/children").read_text().split()]


def workers_cpu_seconds(master: int) -> float:
    """Processor time of the workers so far."""
    total = 0
    for worker in workers(master):
        numbers = (worker / "stat").read_text().rpartition(")")[2].split()
        total += int(numbers[11]) + int(numbers[12])
    return total / os.sysconf("SC_CLK_TCK")


def workers_peak_mib(master: int) -> list[int]:
    """The most memory that each worker has had."""
    peaks = [re.search(r"VmHWM:\s+(\d+) kB", (worker / "status").read_text()) for worker in workers(master)]
    return [int(peak[1]) // 1024 for peak in peaks if peak]


class Target:
    """A server under load: one URL, and the bodies for it."""

    def __init__(self, master: int, url: str, headers: dict[str, str], bodies: list[bytes]) -> None:
        self._master = master
        self._url = url
        self._requests = [load.request(url, headers, body) for body in bodies]
        load.run(url, self._requests, connections=2, seconds=0.5)

    def measure(self, arguments: Namespace) -> Measured:
        before = workers_cpu_seconds(self._master)
        outcome = load.run(self._url, self._requests, connections=arguments.connections, seconds=arguments.seconds)
        return Measured(outcome, (workers_cpu_seconds(self._master) - before) / max(1, outcome.succeeded))


@contextmanager
def bare_flask(arguments: Namespace) -> Iterator[Target]:
    """A Flask view that reads the body and does nothing."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bare.py").write_text(BARE)
        command = [sys.executable, "-m", "gunicorn", "bare:app", "-k", arguments.bare_worker, "--pythonpath", str(ROOT)]
        options = ["--bind", f"127.0.0.1:{port}", "--keep-alive", "75", "--no-control-socket", "--log-level", "error"]
        options += ["-w", str(arguments.workers)]
        server = subprocess.Popen([*command, *options], cwd=folder)
        try:
            time.sleep(2)
            headers = {"Content-Type": "application/json"}
            yield Target(server.pid, f"http://127.0.0.1:{port}/bare", headers, load.bodies("flat", 1))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def durable(service: Service, key: str, kind: str, events: int) -> Target:
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": f"bench_{kind}_{events}"}
    return Target(service.process.pid, f"{service.url}/api/v1/ingest", headers, load.bodies(kind, events))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="of load in one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--bare-worker", default="gevent")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        credentials = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(folder), credentials, arguments.workers).start()
        try:
            report(service, arguments)
        finally:
            service.stop()


def report(service: Service, arguments: Namespace) -> None:
    key = service.make_key("bench", {"privilege": "ingestor"})
    print("ratios: by the clock (the load generator has its share of the cores) and by processor time")
    for kind in ("flat", "nested"):
        for events in (1000, 100):
            rounds = list(against_parser(durable(service, key, kind, events), kind, events, arguments))
            rate = median(each.outcome.requests_per_second for each in rounds) * events
            print(f"{kind:6} {events:5} events/request {rate:10,.0f} events/s   {_ratios(rounds)} of one core's parser")
            print(f"{'':22} {_latency([each.outcome for each in rounds])}", flush=True)
    report_single_events(durable(service, key, "flat", 1), arguments)
    print(f"most memory of a worker: {max(workers_peak_mib(service.process.pid))} MiB")


def report_single_events(target: Target, arguments: Namespace) -> None:
    with bare_flask(arguments) as bare:
        pairs = [(bare.measure(arguments), target.measure(arguments)) for _ in range(arguments.rounds)]
    rounds = [against_bare(*pair) for pair in pairs]
    rate = median(each.outcome.requests_per_second for each in rounds)
    print(f"single events         {rate:10,.0f} requests/s {_ratios(rounds)} of a bare Flask view")
    bare_latency = _latency([each.outcome for each, _ in pairs])
    print(f"{'':22} {_latency([each.outcome for each in rounds])}; bare: {bare_latency}")


def against_parser(target: Target, kind: str, events: int, arguments: Namespace) -> Iterator[Round]:
    for _ in range(arguments.rounds):
        before = ceiling(kind, arguments.seconds / 4)
        found = target.measure(arguments)
        parser = (before + ceiling(kind, arguments.seconds / 4)) / 2 * events
        yield Round(found.outcome, found.outcome.requests_per_second * parser, parser / found.cpu_per_request)


def against_bare(bare: Measured, found: Measured) -> Round:
    by_clock = found.outcome.requests_per_second / bare.outcome.requests_per_second
    return Round(found.outcome, by_clock, bare.cpu_per_request / found.cpu_per_request)


def _ratios(rounds: Sequence[Round]) -> str:
    clock = sorted(each.by_clock for each in rounds)
    by_processor = median(each.by_processor for each in rounds)
    return f"{median(clock):5.2f} / {by_processor:5.2f} ({clock[0]:.2f} to {clock[-1]:.2f})"


def _latency(outcomes: Sequence[load.Outcome]) -> str:
    milliseconds = [median(each.percentile(fraction) for each in outcomes) * 1000 for fraction in (0.5, 0.99)]
    failed = sum(each.failed for each in outcomes)
    return f"p50 {milliseconds[0]:.1f} ms, p99 {milliseconds[1]:.1f} ms, {failed} failed"


if __name__ == "__main__":
    main()
