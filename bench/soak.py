"""A mixed load on a running service, and whether anything grows: `python -m bench.soak [--seconds 600]`.

Shippers send JSON (large, single and repeated), OTLP logs, metrics and traces (JSON and protobuf) and remote write,
readers query in every format, an administrator makes and deletes keys, maintenance converts and compacts, and Weir
stores its own lines. Every few seconds the memory and descriptors of the service and the files of its data directory
are counted. At the end no event may be missing or twice, and none of the three may grow: the first third of the run is
for warming up, and the last may not need more than the middle one.

Files that were merged stay for as long as a query may still read them. So that the run sees many generations of files
come and go, segments are short and so is the longest query.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.soak_load import Load
from tests.running import ADMIN, Service, session

SAMPLE_SECONDS = 5.0
SETTINGS = {"WEIR_FLUSH_SECONDS": "1", "WEIR_QUERY_TIMEOUT_SECONDS": "10", "WEIR_SELF_DATASET": "weir"}
# Caches fill and allocators keep what they once had; a leak of a request's size would be hundreds of times more.
MOST_GROWTH = 1.25
# The embedded PostgreSQL's files are its own business: it recycles its log after it has grown to its full length.
NOT_OURS = "postgres"
KIB = 1024


@dataclass(frozen=True)
class Usage:
    """What the service's processes hold, and how many files the data directory has."""

    memory_bytes: int
    descriptors: int
    files: int


MEASURES: dict[str, Callable[[Usage], int]] = {
    "memory": lambda each: each.memory_bytes,
    "descriptors": lambda each: each.descriptors,
    "files": lambda each: each.files,
}


def usage(service: Service) -> Usage:
    pids = session(service.process.pid) if service.process else {}
    memory = sum(private_bytes(pid) for pid in pids)
    return Usage(memory, sum(map(descriptors, pids)), files(service.data_dir))


def private_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return KIB * sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def files(directory: Path) -> int:
    """Segments, Parquet files and what else there is, however old: a file in its grace is one."""
    ours = [each for each in directory.iterdir() if each.name != NOT_OURS]
    return sum(1 for top in ours for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file())


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


def missing(service: Service, stored: dict[str, int]) -> list[str]:
    """The datasets whose count is not that of what was acknowledged."""
    counts = {dataset: service.query(f'SELECT count(*) FROM "{dataset}"')[0]["count"] for dataset in stored}
    return [
        f"{dataset}: {counts[dataset]} of {stored[dataset]}" for dataset in stored if counts[dataset] != stored[dataset]
    ]


def growth(found: list[Usage], of: Callable[[Usage], int]) -> float:
    """The median of the last third over that of the middle third."""
    third = max(1, len(found) // 3)
    return median(map(of, found[-third:])) / max(1, median(map(of, found[-2 * third : -third])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as directory:
        # PostgreSQL runs as another account when this one is root.
        Path(directory).chmod(0o755)
        environment = {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1], **SETTINGS}
        service = Service(Path(directory), environment).start()
        try:
            load = Load(service.url)
            load.start()
            found = watch(service, load, seconds)
            load.stop()
            wrong = missing(service, load.stored)
        finally:
            service.stop()
    grown = {name: growth(found, of) for name, of in MEASURES.items()}
    print("last third over middle third:", ", ".join(f"{name} {ratio:.2f}" for name, ratio in grown.items()))
    print(f"requests {load.done}, failures {len(load.failures)} {load.failures[:3]}, not exactly once: {wrong}")
    return int(bool(load.failures or wrong) or max(grown.values()) > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
