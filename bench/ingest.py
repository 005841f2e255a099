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


def ceiling(kind: str, seconds: float) -> float:
    """Events per second of one core that only parses."""
    prepared = load.bodies(kind, 1000)
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        frame = pl.read_json(prepared[done % len(prepared)], infer_schema_length=None)
        while structs := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
            frame = frame.unnest(structs, separator="_")
        done += 1
    return 1000 * done / (time.perf_counter() - start)


def bare_flask(workers: int, connections: int, seconds: float) -> load.Outcome:
    """A Flask view that reads the body and does nothing, under the same server and options."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bare.py").write_text(BARE)
        command = [sys.executable, "-m", "gunicorn", "bare:app", "-k", "gevent", "-w", str(workers)]
        options = ["--bind", f"127.0.0.1:{port}", "--keep-alive", "75", "--no-control-socket", "--log-level", "error"]
        server = subprocess.Popen([*command, *options], cwd=folder)
        try:
            time.sleep(2)
            url = f"http://127.0.0.1:{port}/bare"
            headers = {"Content-Type": "application/json"}
            prepared = [load.request(url, headers, body) for body in load.bodies("flat", 1)]
            return load.run(url, prepared, connections=connections, seconds=seconds)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def durable(service: Service, key: str, kind: str, events: int, connections: int, seconds: float) -> load.Outcome:
    url = f"{service.url}/api/v1/ingest"
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": f"bench_{kind}_{events}"}
    prepared = [load.request(url, headers, body) for body in load.bodies(kind, events)]
    load.run(url, prepared, connections=2, seconds=0.5)
    return load.run(url, prepared, connections=connections, seconds=seconds)


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


def report(service: Service, arguments: argparse.Namespace) -> None:
    key = service.make_key("bench", {"privilege": "ingestor"})
    for kind in ("flat", "nested"):
        limit = ceiling(kind, arguments.seconds / 2)
        for events in (1000, 100):
            found = durable(service, key, kind, events, arguments.connections, arguments.seconds)
            rate = found.requests_per_second * events
            print(
                f"{kind:6} {events:5}/request  {rate:10,.0f} events/s  {rate / limit:5.2f} of one core's parser"
                f"  p50 {found.percentile(0.5) * 1e3:6.1f} ms  p99 {found.percentile(0.99) * 1e3:6.1f} ms"
                f"  failed {found.failed}"
            )
    bare = bare_flask(arguments.workers, arguments.connections, arguments.seconds)
    single = durable(service, key, "flat", 1, arguments.connections, arguments.seconds)
    print(
        f"single events      {single.requests_per_second:10,.0f} requests/s  "
        f"{single.requests_per_second / bare.requests_per_second:5.2f} of a bare Flask view"
        f"  p99 {single.percentile(0.99) * 1e3:6.1f} ms (bare {bare.percentile(0.99) * 1e3:.1f} ms)"
    )


if __name__ == "__main__":
    main()
