"""OTLP and remote write through HTTP until durable, against the decode alone, in one run.

    python -m bench.telemetry_http

One worker, four kept-alive connections, the payloads of bench/otlp_decode.py and bench/remote_write_decode.py. The
senders and the service share the machine, so the ratio is a lower bound.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cramjam
import requests

from bench import otlp_decode, remote_write_decode
from ingest.otlp import logs
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.decoding import decode
from tests.running import ADMIN, Service

CONNECTIONS = 4
REQUESTS = 10


class Case(NamedTuple):
    path: str
    body: bytes
    headers: Mapping[str, str]
    rows: int
    decode: Callable[[], object]


def cases() -> dict[str, Case]:
    samples = remote_write_decode.payload()
    block = bytes(cramjam.snappy.compress_raw(samples))
    request = otlp_decode.payload()
    protobuf, json = request.SerializeToString(), otlp_decode.to_json(request)
    catalogue = Catalogue()
    x_protobuf = "application/x-protobuf"
    return {
        "remote write": Case(
            "/v1/prometheus/write",
            block,
            {"X-P-Log-Source": "otel-metrics", "Content-Type": x_protobuf, "Content-Encoding": "snappy"},
            remote_write_decode.SAMPLES,
            lambda: decode(bytes(cramjam.snappy.decompress_raw(block)), x_protobuf, catalogue=catalogue),
        ),
        "OTLP logs, protobuf": Case(
            "/v1/logs",
            protobuf,
            {"X-P-Log-Source": "otel-logs", "Content-Type": x_protobuf},
            otlp_decode.RECORDS,
            lambda: logs.decode(protobuf, x_protobuf),
        ),
        "OTLP logs, JSON": Case(
            "/v1/logs",
            json,
            {"X-P-Log-Source": "otel-logs", "Content-Type": "application/json"},
            otlp_decode.RECORDS,
            lambda: logs.decode(json, "application/json"),
        ),
    }


def send(service: Service, case: Case, key: str, dataset: str) -> None:
    headers = {**case.headers, "X-API-Key": key, "X-P-Stream": dataset}
    with requests.Session() as session:
        for _ in range(REQUESTS):
            session.post(service.url + case.path, data=case.body, headers=headers, timeout=60).raise_for_status()


def rows_per_second(service: Service, case: Case, key: str, dataset: str) -> float:
    """The best of three rounds."""
    send(service, case, key, dataset)
    found = []
    for _ in range(3):
        start = time.perf_counter()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(lambda _: send(service, case, key, dataset), range(CONNECTIONS)))
        found.append(CONNECTIONS * REQUESTS * case.rows / (time.perf_counter() - start))
    return max(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the embedded PostgreSQL runs as another account
        environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}
        service = Service(Path(folder), environment, workers=1).start()
        try:
            key = service.make_key("bench", {"privilege": "ingestor"})
            for number, (name, case) in enumerate(cases().items()):
                durable = rows_per_second(service, case, key, f"bench_{number}")
                decoded = case.rows / otlp_decode.best_seconds(case.decode)
                print(f"{name:20} {durable:12,.0f} rows/s durable {decoded:12,.0f} decoded {durable / decoded:6.2f}")
        finally:
            service.stop()


if __name__ == "__main__":
    main()
