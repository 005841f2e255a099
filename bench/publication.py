"""Ingestion beside publication as Iceberg tables: `python -m bench.publication`.

Two services take turns at full load, one that publishes every second, one that never does; both make a Parquet file
each second. Printed is the ingest rate of the first as a ratio of the neighbouring round of the second, and the
processor time of maintenance, which converts and publishes.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench import load
from bench.tail import cpu
from tests.running import ADMIN, Service

DATASET: Final = "bench_publication"
EVENTS: Final = 100
SIDES: Final = {"published": "1", "alone": "0"}
"""WEIR_ICEBERG_SECONDS of each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--connections", type=int, default=8)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        services = {name: stack.enter_context(_service(seconds)) for name, seconds in SIDES.items()}
        keys = {name: each.make_key("bench", {"privilege": "admin"}) for name, each in services.items()}
        rates: dict[str, list[float]] = {name: [] for name in SIDES}
        maintenance: dict[str, list[float]] = {name: [] for name in SIDES}
        for number in range(arguments.rounds + 1):
            for name in [*SIDES][:: (-1) ** number]:
                rate, spent = _round(services[name], keys[name], arguments)
                # The first round makes connections, columns and tables.
                if number:
                    rates[name].append(rate)
                    maintenance[name].append(spent)
    ratios = [a / b for a, b in zip(rates["published"], rates["alone"], strict=True)]
    rate, ratio = median(rates["alone"]), median(ratios)
    print(f"{rate:,.0f} events/s alone; published each second {ratio:.3f} of that (aim: >= 0.97)")
    print(f"rounds: {', '.join(f'{ratio:.3f}' for ratio in ratios)}")
    print(f"cores of maintenance: { {name: round(median(spent), 3) for name, spent in maintenance.items()} }")


@contextmanager
def _service(iceberg_seconds: str) -> Iterator[Service]:
    environment = {
        "WEIR_ADMIN_USERNAME": ADMIN[0],
        "WEIR_ADMIN_PASSWORD": ADMIN[1],
        "WEIR_FLUSH_SECONDS": "1",
        "WEIR_ICEBERG_SECONDS": iceberg_seconds,
    }
    with tempfile.TemporaryDirectory() as root:
        service = Service(Path(root), environment, workers=2).start()
        try:
            yield service
        finally:
            service.stop()


def _round(service: Service, key: str, arguments: argparse.Namespace) -> tuple[float, float]:
    """Events per second, and the cores that maintenance used."""
    headers = {"Content-Type": "application/json", "X-API-Key": key, "X-P-Stream": DATASET}
    url = f"{service.url}/api/v1/ingest"
    prepared = [load.request(url, headers, body) for body in load.bodies("flat", EVENTS)]
    before = cpu(service)["maintenance"]
    done = load.run(url, prepared, connections=arguments.connections, seconds=arguments.seconds)
    spent = (cpu(service)["maintenance"] - before) / arguments.seconds
    return done.requests_per_second * EVENTS, spent


if __name__ == "__main__":
    main()
