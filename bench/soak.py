"""A mixed load on a running service, and whether anything grows: `python -m bench.soak [--seconds 600]`.

Shippers send JSON, OTLP and remote write, readers query, an administrator makes and deletes keys, maintenance converts
and compacts. Every few seconds the memory, descriptors and processes of the service and the files of its data directory
are counted. At the end no event may be missing or twice, and the second half may not need more than the first.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import cramjam
import requests

from ingest.proto.remote_write import WriteRequest
from tests.running import ADMIN, Service

SAMPLE_SECONDS = 5.0
# Caches fill and allocators keep what they once had; a leak of a request's size would be hundreds of times more.
MOST_GROWTH = 1.25
KIB = 1024


@dataclass
class Load:
    """Threads that repeat their work until told to stop; what they stored and what failed."""

    url: str
    running: bool = True
    stored: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)

    def repeat(self, name: str, work: Callable[[requests.Session, int], int]) -> threading.Thread:
        def run() -> None:
            with requests.Session() as session:
                session.auth = ADMIN
                while self.running:
                    number = self.done.get(name, 0)
                    try:
                        self.stored[name] = self.stored.get(name, 0) + work(session, number)
                    except (requests.RequestException, AssertionError) as error:
                        self.failures.append(f"{name}: {error}")
                    self.done[name] = number + 1

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def send(self, session: requests.Session, path: str, body: bytes, headers: dict[str, str]) -> requests.Response:
        answer = session.post(self.url + path, data=body, headers=headers, timeout=60)
        assert answer.status_code < 300, f"{answer.status_code} {answer.text[:200]}"
        return answer

    def json_events(self, session: requests.Session, number: int) -> int:
        events = [{"n": number * 200 + each, "level": "info", "http": {"status": 200}} for each in range(200)]
        self.send(session, "/api/v1/ingest", json.dumps(events).encode(), {"X-P-Stream": "soak-json"})
        return len(events)

    def otlp(self, session: requests.Session, number: int) -> int:
        records = [{"timeUnixNano": str(number), "body": {"stringValue": f"line {each}"}} for each in range(100)]
        body = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
        headers = {"X-P-Stream": "soak-otlp", "X-P-Log-Source": "otel-logs", "Content-Type": "application/json"}
        self.send(session, "/v1/logs", json.dumps(body).encode(), headers)
        return len(records)

    def remote_write(self, session: requests.Session, number: int) -> int:
        request = WriteRequest()
        for each in range(100):
            series = request.timeseries.add()
            for name, value in (("__name__", "up"), ("instance", f"host-{each}")):
                series.labels.add(name=name, value=value)
            series.samples.add(value=float(number), timestamp=1_767_225_600_000 + number)
        headers = {"X-P-Stream": "soak-prom", "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
        body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
        self.send(session, "/v1/prometheus/write", body, headers | {"Content-Type": "application/x-protobuf"})
        return 100

    def query(self, session: requests.Session, number: int) -> int:
        sql = 'SELECT level, count(*), max(n) FROM "soak-json" GROUP BY level'
        body = json.dumps({"query": sql, "startTime": "10m", "endTime": "now"}).encode()
        self.send(session, "/api/v1/query", body, {"Content-Type": "application/json"})
        time.sleep(0.2)
        return 0

    def keys(self, session: requests.Session, number: int) -> int:
        body = json.dumps({"keyName": f"soak-{number}", "roles": []}).encode()
        made = self.send(session, "/api/console/v1/apikeys", body, {"Content-Type": "application/json"}).json()
        session.delete(f"{self.url}/api/console/v1/apikeys/{made['keyId']}", timeout=60).raise_for_status()
        time.sleep(0.2)
        return 0


@dataclass(frozen=True)
class Usage:
    """What the service's processes hold, and how many files the data directory has."""

    memory_bytes: int
    descriptors: int
    files: int


def usage(service: Service) -> Usage:
    pids = descendants(service.process.pid if service.process else 0)
    memory = sum(private_bytes(pid) for pid in pids)
    descriptors = sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids if Path(f"/proc/{pid}/fd").exists())
    return Usage(memory, descriptors, sum(1 for path in service.data_dir.rglob("*") if path.is_file()))


def descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(each for child in children for each in descendants(int(child)))]


def private_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return KIB * sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def watch(service: Service, load: Load, seconds: float) -> list[Usage]:
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(SAMPLE_SECONDS)
        found.append(usage(service))
        print(
            f"{found[-1].memory_bytes / 1e6:7.0f} MB {found[-1].descriptors:5} fds {found[-1].files:6} files "
            f"{sum(load.stored.values()):9} events",
            flush=True,
        )
    return found


def missing(service: Service, load: Load) -> list[str]:
    """The datasets whose count is not that of what was acknowledged."""
    datasets = {"json": "soak-json", "otlp": "soak-otlp", "remote_write": "soak-prom"}
    counts = {
        name: service.query(f'SELECT count(*) FROM "{dataset}"')[0]["count"] for name, dataset in datasets.items()
    }
    return [f"{name}: {counts[name]} of {load.stored[name]}" for name in datasets if counts[name] != load.stored[name]]


def growth(found: list[Usage], of: Callable[[Usage], int]) -> float:
    """The median of the last third over that of the middle third; the first third is warming up."""
    third = max(1, len(found) // 3)
    middle, last = (sorted(map(of, part))[len(part) // 2] for part in (found[third : 2 * third], found[-third:]))
    return last / max(1, middle)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as directory:
        environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(directory), environment).start()
        try:
            load = Load(service.url)
            works = (load.json_events, load.otlp, load.remote_write, load.query, load.keys)
            names = ("json", "otlp", "remote_write", "query", "keys")
            threads = [load.repeat(name, work) for name, work in zip(names, works, strict=True)]
            found = watch(service, load, seconds)
            load.running = False
            for thread in threads:
                thread.join(60)
            wrong = missing(service, load)
        finally:
            service.stop()
    memory, descriptors = growth(found, lambda each: each.memory_bytes), growth(found, lambda each: each.descriptors)
    print(f"growth from the middle third to the last: memory {memory:.2f}, descriptors {descriptors:.2f}")
    print(f"requests {load.done}, failures {len(load.failures)} {load.failures[:3]}, not exactly once: {wrong}")
    return int(bool(load.failures or wrong) or max(memory, descriptors) > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
