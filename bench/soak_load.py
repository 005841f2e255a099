"""The load of the soak: every protocol, queries in every format, keys made and deleted, each in a thread of its own."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import cramjam
import requests
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.proto.remote_write import WriteRequest
from tests.running import ADMIN

PAUSE_SECONDS = 0.2
LARGE_EVENTS = 200
RECORDS = 100
FORMATS = ("application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream")
JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}


@dataclass
class Load:
    """Threads that repeat their work until told to stop. `stored` counts the acknowledged events of each dataset."""

    url: str
    running: bool = True
    stored: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        senders = (self.large, self.single, self.repeated, self.logs, self.metrics, self.traces, self.remote_write)
        for work in (*senders, self.query, self.keys):
            thread = threading.Thread(target=self._repeat, args=(work.__name__, work), daemon=True)
            thread.start()
            self.threads.append(thread)

    def stop(self) -> None:
        self.running = False
        for thread in self.threads:
            thread.join(60)

    def _repeat(self, name: str, work: Callable[[requests.Session, int], None]) -> None:
        with requests.Session() as session:
            session.auth = ADMIN
            while self.running:
                number = self.done.get(name, 0)
                try:
                    work(session, number)
                except (requests.RequestException, AssertionError) as error:
                    self.failures.append(f"{name}: {error}")
                self.done[name] = number + 1

    def large(self, session: requests.Session, number: int) -> None:
        events = [{"n": number * 200 + each, "level": "info", "http": {"status": 200}} for each in range(LARGE_EVENTS)]
        self._store(session, "soak-json", "/api/v1/ingest", json.dumps(events).encode(), JSON, LARGE_EVENTS)

    def single(self, session: requests.Session, number: int) -> None:
        body = json.dumps({"n": number, "level": "warning", "odd": number % 2 or "even"}).encode()
        self._store(session, "soak-small", "/api/v1/ingest", body, JSON, 1)

    def repeated(self, session: requests.Session, number: int) -> None:
        """Each request twice: the second is answered, and stores nothing."""
        body, headers = json.dumps([{"n": number}]).encode(), JSON | {"Idempotency-Key": f"soak-{number}"}
        self._store(session, "soak-once", "/api/v1/ingest", body, headers, 1)
        self._store(session, "soak-once", "/api/v1/ingest", body, headers, 0)
        time.sleep(PAUSE_SECONDS)

    def logs(self, session: requests.Session, number: int) -> None:
        records = [{"timeUnixNano": str(number), "body": {"stringValue": f"line {each}"}} for each in range(RECORDS)]
        body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()
        self._store(session, "soak-logs", "/v1/logs", body, JSON | {"X-P-Log-Source": "otel-logs"}, RECORDS)

    def metrics(self, session: requests.Session, number: int) -> None:
        request = ExportMetricsServiceRequest()
        metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="soak.sum")
        metric.sum.is_monotonic = True
        for each in range(RECORDS):
            metric.sum.data_points.add(time_unix_nano=1_767_225_600_000_000_000 + number, as_int=each)
        headers = PROTOBUF | {"X-P-Log-Source": "otel-metrics"}
        self._store(session, "soak-metrics", "/v1/metrics", request.SerializeToString(), headers, RECORDS)

    def traces(self, session: requests.Session, number: int) -> None:
        request = ExportTraceServiceRequest()
        spans = request.resource_spans.add().scope_spans.add().spans
        for each in range(RECORDS):
            spans.add(name=f"span-{each}", trace_id=number.to_bytes(16, "big"), span_id=each.to_bytes(8, "big"))
        headers = PROTOBUF | {"X-P-Log-Source": "otel-traces"}
        self._store(session, "soak-traces", "/v1/traces", request.SerializeToString(), headers, RECORDS)

    def remote_write(self, session: requests.Session, number: int) -> None:
        request = WriteRequest()
        for each in range(RECORDS):
            series = request.timeseries.add()
            for name, value in (("__name__", "up"), ("instance", f"host-{each}")):
                series.labels.add(name=name, value=value)
            series.samples.add(value=float(number), timestamp=1_767_225_600_000 + number)
        headers = PROTOBUF | {"X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
        body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
        self._store(session, "soak-samples", "/v1/prometheus/write", body, headers, RECORDS)

    def query(self, session: requests.Session, number: int) -> None:
        sql = 'SELECT level, count(*), max(n) FROM "soak-json" GROUP BY level'
        body = json.dumps({"query": sql, "startTime": "1m", "endTime": "now"}).encode()
        self._send(session, "/api/v1/query", body, JSON | {"Accept": FORMATS[number % len(FORMATS)]})
        time.sleep(PAUSE_SECONDS)

    def keys(self, session: requests.Session, number: int) -> None:
        body = json.dumps({"keyName": f"soak-{number}", "roles": []}).encode()
        made = self._send(session, "/api/console/v1/apikeys", body, JSON).json()
        session.delete(f"{self.url}/api/console/v1/apikeys/{made['keyId']}", timeout=60).raise_for_status()
        time.sleep(PAUSE_SECONDS)

    def _store(
        self, session: requests.Session, dataset: str, path: str, body: bytes, headers: dict[str, str], events: int
    ) -> None:
        self._send(session, path, body, headers | {"X-P-Stream": dataset})
        self.stored[dataset] = self.stored.get(dataset, 0) + events

    def _send(self, session: requests.Session, path: str, body: bytes, headers: dict[str, str]) -> requests.Response:
        answer = session.post(self.url + path, data=body, headers=headers, timeout=60)
        assert answer.status_code < 300, f"{answer.status_code} {answer.text[:200]}"
        return answer
