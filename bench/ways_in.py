"""What a batch of log events costs Weir at each way in, against `/api/v1/ingest` with the same events, in one run.

    python -m bench.ways_in [--events 1000]

One worker, whole requests until durable, four connections, the ways in turns. What counts is the processor time of the
process that answers (the worker, or that of OTLP/gRPC) per event: the senders and the disk do not.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cramjam
import grpc
import orjson
import requests
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from bench import otlp_decode
from ingest.proto.loki import LabelPair, PushRequest
from tests.running import ADMIN, Service, free_port

CONNECTIONS = 4
ROUNDS = 5
SECONDS = 1.0
LABELS = '{service_name="shop", env="prod"}'
GRPC_METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


class Way(NamedTuple):
    """`path` of None: over gRPC."""

    path: str | None
    body: bytes
    headers: Mapping[str, str]


def events(count: int) -> list[dict[str, str | int]]:
    """The records of bench/otlp_decode.py as JSON has them."""
    request = otlp_decode.payload(max(count, 8))
    records = [record for group in request.resource_logs for record in group.scope_logs[0].log_records][:count]
    return [
        {
            "time_unix_nano": record.time_unix_nano,
            "severity_text": record.severity_text,
            "body": record.body.string_value,
            "trace_id": record.trace_id.hex(),
            "span_id": record.span_id.hex(),
            "service.name": "shop",
            "env": "prod",
            **{pair.key: pair.value.string_value or pair.value.int_value for pair in record.attributes},
        }
        for record in records
    ]


def otlp(count: int) -> LogsData:
    """The same events as one resource sends them."""
    request = otlp_decode.payload(max(count, 8))
    groups = list(request.resource_logs)
    records = [record for group in groups for record in group.scope_logs[0].log_records][:count]
    one = LogsData()
    group = one.resource_logs.add(resource=groups[0].resource)
    group.scope_logs.add(scope=groups[0].scope_logs[0].scope).log_records.extend(records)
    return one


def ways(count: int) -> dict[str, Way]:
    """Each with the events in its own words: as its senders write them."""
    sent = events(count)
    attributes = [{name: str(value) for name, value in each.items() if name != "body"} for each in sent]
    lines = b"\n".join(map(orjson.dumps, sent))
    protobuf = otlp(count).SerializeToString()
    proto = {"Content-Type": "application/x-protobuf"}
    json = {"Content-Type": "application/json"}
    push = PushRequest()
    stream = push.streams.add(labels=LABELS.encode())
    for event, metadata in zip(sent, attributes, strict=True):
        entry = stream.entries.add(line=str(event["body"]).encode())
        entry.timestamp.seconds, entry.timestamp.nanos = divmod(int(event["time_unix_nano"]), 10**9)
        for name, value in metadata.items():
            entry.structuredMetadata.append(LabelPair(name=name.encode(), value=value.encode()).SerializeToString())
    values = [
        [str(event["time_unix_nano"]), event["body"], metadata]
        for event, metadata in zip(sent, attributes, strict=True)
    ]
    streams = {"streams": [{"stream": {"service_name": "shop", "env": "prod"}, "values": values}]}
    bulk = b"".join(b'{"create":{"_index":"shop"}}\n' + orjson.dumps(each) + b"\n" for each in sent)
    hec = b"".join(orjson.dumps({"time": 1_795_000_000.5, "event": each}) for each in sent)
    return {
        "JSON, /api/v1/ingest": Way("/api/v1/ingest", orjson.dumps(sent), json),
        "NDJSON, /api/v1/ingest": Way("/api/v1/ingest", lines, json),
        "OTLP/HTTP, protobuf": Way("/v1/logs", protobuf, {**proto, "X-P-Log-Source": "otel-logs"}),
        "OTLP/HTTP, JSON": Way("/v1/logs", otlp_decode.to_json(otlp(count)), {**json, "X-P-Log-Source": "otel-logs"}),
        "OTLP/gRPC": Way(None, protobuf, {}),
        "Loki, protobuf": Way("/loki/api/v1/push", _snappy(push.SerializeToString()), proto),
        "Loki, JSON": Way("/loki/api/v1/push", orjson.dumps(streams), json),
        "Elasticsearch bulk": Way("/_bulk", bulk, {"Content-Type": "application/x-ndjson"}),
        "Splunk HEC": Way("/services/collector", hec, json),
    }


def _snappy(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


def sender(service: Service, port: int, key: str, way: Way, dataset: str) -> Callable[[], object]:
    """A function that sends the body once, on a connection of its own."""
    if way.path is None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
        method = grpc.insecure_channel(f"127.0.0.1:{port}", options).unary_unary(GRPC_METHOD)
        metadata = [("x-api-key", key), ("x-p-stream", dataset)]
        return lambda: method(way.body, metadata=metadata, timeout=60, wait_for_ready=True)
    session = requests.Session()
    headers = {**way.headers, "X-API-Key": key, "X-P-Stream": dataset}
    url = service.url + way.path
    return lambda: session.post(url, data=way.body, headers=headers, timeout=60).raise_for_status()


def cpu_seconds(pid: int) -> float:
    found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def us_per_request(pid: int, senders: list[Callable[[], object]]) -> float:
    """Processor time of the process, while all senders send for some seconds."""
    began, before, counts = time.monotonic(), cpu_seconds(pid), []

    def send(once: Callable[[], object]) -> None:
        sent = 0
        while time.monotonic() - began < SECONDS:
            once()
            sent += 1
        counts.append(sent)

    with ThreadPoolExecutor(len(senders)) as pool:
        list(pool.map(send, senders))
    return (cpu_seconds(pid) - before) / sum(counts) * 1e6


def measure(service: Service, port: int, count: int) -> dict[str, list[float]]:
    """For each way the microseconds of each round."""
    key = service.make_key("bench", {"privilege": "ingestor"})
    found: dict[str, list[float]] = {}
    senders = {}
    for number, (name, way) in enumerate(ways(count).items()):
        senders[name] = [sender(service, port, key, way, f"bench_{number}") for _ in range(CONNECTIONS)]
        senders[name][0]()
        found[name] = []
    worker = children(service.process.pid)[0]
    grpc_process = next(pid for pid in children(worker) if b"otlp_grpc" in Path(f"/proc/{pid}/cmdline").read_bytes())
    for _ in range(ROUNDS):
        for name in senders:
            found[name].append(us_per_request(grpc_process if name == "OTLP/gRPC" else worker, senders[name]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000)
    count = parser.parse_args().events
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the embedded PostgreSQL runs as another account
        port = free_port()
        environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        environment["WEIR_OTLP_GRPC_BIND"] = f"127.0.0.1:{port}"
        service = Service(Path(folder), environment, workers=1).start()
        try:
            found = measure(service, port, count)
        finally:
            service.stop()
    plain = found["JSON, /api/v1/ingest"]
    over_http = found["OTLP/HTTP, protobuf"]
    for name, rounds in found.items():
        ratio = statistics.median(each / base for each, base in zip(rounds, plain, strict=True))
        print(f"{name:24} {statistics.median(rounds) / count:8.1f} us an event {ratio:6.2f} of JSON")
    grpc_ratio = statistics.median(each / base for each, base in zip(found["OTLP/gRPC"], over_http, strict=True))
    print(f"OTLP/gRPC against OTLP/HTTP: {grpc_ratio:.2f}")


if __name__ == "__main__":
    main()
