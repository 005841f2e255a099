"""Durable JSON ingestion against its ceilings, in one run: `python -m bench.ingest [--seconds 5] [--workers 1]`.

- 1,000-event bodies: events/s through HTTP, acknowledged after fdatasync, against what one core can do in process
  with the parser alone (Polars `read_json` with full inference, plus unnest).
- Single events: requests/s against a bare Flask view under the same gunicorn.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

from bench import load
from tests.running import ADMIN, Service, free_port

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
    """A run and the processor seconds that the workers spent on one request of it."""

    outcome: load.Outcome
    cpu_per_request: float


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


def workers_cpu_seconds(master: int) -> float:
    """Processor time so far of the master's children, without their own children (maintenance, queries)."""
    total = 0
    for child in Path(f"/proc/{master}/task/{master}/children").read_text().split():
        numbers = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        total += int(numbers[11]) + int(numbers[12])
    return total / os.sysconf("SC_CLK_TCK")


def measure(master: int, url: str, headers: dict[str, str], bodies: list[bytes], arguments: Namespace) -> Measured:
    prepared = [load.request(url, headers, body) for body in bodies]
    load.run(url, prepared, connections=2, seconds=0.5)
    before = workers_cpu_seconds(master)
    outcome = load.run(url, prepared, connections=arguments.connections, seconds=arguments.seconds)
    return Measured(outcome, (workers_cpu_seconds(master) - before) / max(1, outcome.succeeded))


def bare_flask(arguments: Namespace) -> Measured:
    """A Flask view that reads the body and does nothing, under the same server and options."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bare.py").write_text(BARE)
        command = [sys.executable, "-m", "gunicorn", "bare:app", "-k", "gevent", "-w", str(arguments.workers)]
        options = ["--bind", f"127.0.0.1:{port}", "--keep-alive", "75", "--no-control-socket", "--log-level", "error"]
        server = subprocess.Popen([*command, *options], cwd=folder)
        try:
            time.sleep(2)
            headers = {"Content-Type": "application/json"}
            return measure(server.pid, f"http://127.0.0.1:{port}/bare", headers, load.bodies("flat", 1), arguments)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def durable(service: Service, key: str, kind: str, events: int, arguments: Namespace) -> Measured:
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": f"bench_{kind}_{events}"}
    url = f"{service.url}/api/v1/ingest"
    return measure(service.process.pid, url, headers, load.bodies(kind, events), arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=16)
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
        parser = ceiling(kind, arguments.seconds / 2)
        for events in (1000, 100):
            found = durable(service, key, kind, events, arguments)
            rate = found.outcome.requests_per_second * events
            against = f"{rate * parser:5.2f} / {parser * events / found.cpu_per_request:5.2f} of one core's parser"
            print(f"{kind:6} {events:5} events/request {rate:10,.0f} events/s   {against}  {_latency(found.outcome)}")
    bare = bare_flask(arguments)
    single = durable(service, key, "flat", 1, arguments)
    by_clock = single.outcome.requests_per_second / bare.outcome.requests_per_second
    against = f"{by_clock:5.2f} / {bare.cpu_per_request / single.cpu_per_request:5.2f} of a bare Flask view"
    print(
        f"single events        {single.outcome.requests_per_second:10,.0f} requests/s {against}"
        f"  {_latency(single.outcome)}; bare: {_latency(bare.outcome)}"
    )


def _latency(outcome: load.Outcome) -> str:
    milliseconds = [outcome.percentile(fraction) * 1000 for fraction in (0.5, 0.99)]
    return f"p50 {milliseconds[0]:.1f} ms, p99 {milliseconds[1]:.1f} ms, {outcome.failed} failed"


if __name__ == "__main__":
    main()
