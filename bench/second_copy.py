"""What a copy on a second host costs a request: `python -m bench.second_copy`. Ratios within one run.

Three hosts of one worker each, on one machine and one disk: one has copies kept, another keeps them, so that both syncs
share the disk, and the third takes events without.
"""

import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

from bench.hosts import environment_of
from embedded_postgres import server
from tests.running import ADMIN, Service, free_port

ROUNDS = 400
CLIENTS = 8
SHAPES = {"1 event": 1, "100 events": 100, "1000 events": 1000}


def host(root: Path, url: str, name: str, *, has_copy: bool) -> Service:
    port = free_port()
    copied = {"WEIR_SECOND_COPY": "true"} if has_copy else {}
    (root / name).mkdir()
    return Service(root / name, environment_of(url, port) | copied, workers=1, port=port).start()


def events(count: int) -> list[dict[str, object]]:
    line = "a line of text of some length, as logs have it"
    return [{"message": line, "status": 200, "ms": 12.5, "n": number} for number in range(count)]


def times_ms(service: Service, count: int, rounds: int) -> list[float]:
    """The time of each of so many requests, one after the other."""
    body, taken = events(count), []
    with requests.Session() as session:
        session.auth = ADMIN
        for _ in range(rounds):
            started = time.perf_counter()
            session.post(f"{service.url}/api/v1/ingest", json=body, headers={"X-P-Stream": "app"}).raise_for_status()
            taken.append((time.perf_counter() - started) * 1000)
    return taken


def rate(service: Service, count: int, rounds: int) -> float:
    """Requests per second of several clients."""
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda _: times_ms(service, count, rounds // CLIENTS), range(CLIENTS)))
    return rounds / (time.perf_counter() - started)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        url = server.ensure_running(root)
        keeper, alone = (host(root, url, name, has_copy=False) for name in ("keeper", "alone"))
        copied = host(root, url, "copied", has_copy=True)
        try:
            for name, count in SHAPES.items():
                rounds = ROUNDS if count < 1000 else ROUNDS // 4
                turns = [(times_ms(alone, count, rounds // 4), times_ms(copied, count, rounds // 4)) for _ in range(4)]
                without, with_copy = (
                    statistics.median([ms for turn in each for ms in turn]) for each in zip(*turns, strict=True)
                )
                rates = [(rate(alone, count, rounds), rate(copied, count, rounds)) for _ in range(2)]
                one, two = (statistics.mean(each) for each in zip(*rates, strict=True))
                print(
                    f"{name:12} alone {without:6.2f} ms, with a copy {with_copy:6.2f} ms: {with_copy / without:.2f};"
                    f" {CLIENTS} clients {one:6.0f} and {two:6.0f} requests/s: {two / one:.2f}"
                )
        finally:
            for each in (copied, alone, keeper):
                each.kill()
            server.stop(root)


if __name__ == "__main__":
    main()
