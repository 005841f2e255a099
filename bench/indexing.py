"""What text indexes cost ingestion: `python -m bench.indexing [--rounds 6] [--thousands 400]`.

Access-log events of `bench.needle` go as JSON to datasets of one service, in turns one with indexes and one without.
Printed is the processor time of all processes from the first request until the last event is in a Parquet file, of the
first as a ratio of the neighbouring round of the second. Each round has a dataset of its own, with too few files to be
compacted.
"""

import argparse
import io
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from bench.needle import HOUR_NS, events
from bench.tail import cpu
from tests.running import ADMIN, Service

SIDES: Final = {"indexed": None, "plain": []}
"""The columns with an index, as `PUT .../text-index` takes them."""
PORTION: Final = 2_000
ENVIRONMENT: Final = {
    "WEIR_ADMIN_USERNAME": ADMIN[0],
    "WEIR_ADMIN_PASSWORD": ADMIN[1],
    "WEIR_FLUSH_SECONDS": "1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--thousands", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        service = Service(Path(root), ENVIRONMENT, workers=2).start()
        try:
            measure(service, options.rounds, options.thousands * 1_000)
        finally:
            service.stop()


def measure(service: Service, rounds: int, count: int) -> None:
    bodies = [_body(first) for first in range(0, count, PORTION)]
    spent: dict[str, list[float]] = {name: [] for name in SIDES}
    for number in range(rounds + 1):
        for name, columns in [*SIDES.items()][:: (-1) ** number]:
            seconds = _round(service, f"{name}_{number}", columns, bodies)
            # The first round starts what starts with the first events.
            if number:
                spent[name].append(seconds / count * 1e6)
    ratios = [a / b for a, b in zip(*spent.values(), strict=True)]
    print(*(f"{name} {median(each):.1f} us of processor time an event" for name, each in spent.items()), sep="\n")
    print(f"ratio {median(ratios):.2f} (aim 1.15); rounds: {', '.join(f'{each:.2f}' for each in ratios)}")


def _body(first: int) -> bytes:
    content = io.BytesIO()
    events(first, PORTION, HOUR_NS / 1e6).write_ndjson(content)
    return content.getvalue()


def _round(service: Service, dataset: str, columns: list[str] | None, bodies: list[bytes]) -> float:
    """Seconds of processor time until everything is in files."""
    service.call("PUT", f"/api/v1/logstream/{dataset}").raise_for_status()
    path = f"/api/v1/logstream/{dataset}/text-index"
    service.call("PUT", path, json={"columns": columns}).raise_for_status()
    before = sum(cpu(service).values())
    headers = {"X-P-Stream": dataset, "Content-Type": "application/x-ndjson"}
    for body in bodies:
        service.call("POST", "/api/v1/ingest", data=body, headers=headers).raise_for_status()
    while "not yet converted" in str(service.query(f"EXPLAIN SELECT * FROM {dataset}")):
        time.sleep(0.5)
    return sum(cpu(service).values()) - before


if __name__ == "__main__":
    main()
