"""A closed-loop HTTP load on loopback: prepared requests over kept-alive sockets, as cheap as Python allows."""

import json
import random
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

HOSTS = [f"ip-10-0-{n // 16}-{n % 16}.internal" for n in range(64)]
SERVICES = ["checkout", "cart", "auth", "search", "billing", "frontend", "inventory"]
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Go-http-client/2.0", "python-requests/2.32"]


@dataclass(frozen=True)
class Outcome:
    """What a run achieved. Latencies in seconds, sorted."""

    seconds: float
    succeeded: int
    failed: int
    latencies: list[float]

    @property
    def requests_per_second(self) -> float:
        return self.succeeded / self.seconds

    def percentile(self, fraction: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * fraction))]


def flat(number: random.Random) -> dict[str, Any]:
    """A log event of 14 members, about 420 bytes of JSON."""
    return {
        "ts": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{number.randrange(1000):03d}Z",
        "level": number.choice(["INFO"] * 8 + ["WARN", "ERROR"]),
        "service": number.choice(SERVICES),
        "host": number.choice(HOSTS),
        "status": number.choice([200, 200, 200, 201, 404, 500]),
        "latency_ms": round(number.expovariate(1 / 40), 3),
        "bytes": number.randrange(100_000),
        "method": number.choice(["GET", "POST"]),
        "path": f"/api/v1/items/{number.randrange(10_000)}",
        "user_agent": number.choice(AGENTS),
        "trace_id": f"{number.getrandbits(128):032x}",
        "span_id": f"{number.getrandbits(64):016x}",
        "retry": number.random() < 0.1,
        "message": f"request {number.randrange(10**9)} completed for user {number.randrange(10**6)} with outcome ok",
    }


def nested(number: random.Random) -> dict[str, Any]:
    """The same facts as a Kubernetes shipper nests them."""
    event = flat(number)
    return {
        "ts": event["ts"],
        "level": event["level"],
        "kubernetes": {
            "pod": {"name": f"pod-{number.randrange(100)}", "uid": event["trace_id"]},
            "labels": {"app": event["service"], "tier": "be"},
            "host": event["host"],
        },
        "http": {
            "method": event["method"],
            "status": event["status"],
            "url": {"path": event["path"]},
            "latency_ms": event["latency_ms"],
        },
        "tags": ["a", "b", event["service"]],
        "message": event["message"],
        "user_agent": event["user_agent"],
    }


def bodies(kind: str, events: int, how_many: int = 4) -> list[bytes]:
    """JSON arrays of `events` events; of one event, when `events` is 1, the bare object."""
    number = random.Random(events)
    make = {"flat": flat, "nested": nested}[kind]
    batches = [[make(number) for _ in range(events)] for _ in range(how_many)]
    return [json.dumps(batch[0] if events == 1 else batch, separators=(",", ":")).encode() for batch in batches]


def request(url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of one POST."""
    parts = urlsplit(url)
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def run(url: str, requests: Sequence[bytes], *, connections: int, seconds: float) -> Outcome:
    """Keep `connections` requests in flight for `seconds`."""
    stop = time.perf_counter() + seconds
    results: list[tuple[list[float], int]] = []

    def work(first: int) -> None:
        results.append(_loop(url, requests, first, stop))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    latencies = sorted(value for found, _ in results for value in found)
    return Outcome(time.perf_counter() - start, len(latencies), sum(failed for _, failed in results), latencies)


def _loop(url: str, requests: Sequence[bytes], number: int, stop: float) -> tuple[list[float], int]:
    parts = urlsplit(url)
    latencies, failed = [], 0
    connection = socket.create_connection((parts.hostname, parts.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while (start := time.perf_counter()) < stop:
        connection.sendall(requests[number % len(requests)])
        number += 1
        if _status(connection) < 300:
            latencies.append(time.perf_counter() - start)
        else:
            failed += 1
    connection.close()
    return latencies, failed


def _status(connection: socket.socket) -> int:
    """Read one answer with a Content-Length to its end; return its status."""
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionError("the server closed the connection")
        received += chunk
    head = received[:end].lower()
    at = head.find(b"content-length:")
    length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    missing = end + 4 + length - len(received)
    while missing > 0:
        missing -= len(connection.recv(min(missing, 65536)))
    return int(received[9:12])
