"""The processor time of a service's processes, by what they do. Reads /proc; knows a service by its session."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    parent: int
    session: int
    seconds: float
    command: bytes


def cpu_seconds(session: int, data_dir: Path) -> dict[str, float]:
    """Seconds so far by group: workers, alerting, queries (of alerts), maintenance, database, others."""
    processes = _processes()
    postmaster = int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    found: dict[str, float] = defaultdict(float)
    for pid, process in processes.items():
        if postmaster in (pid, process.parent):
            found["database"] += process.seconds
        elif process.session == session:
            found[_group(process, processes, session)] += process.seconds
    return dict(found)


def _group(process: Process, processes: dict[int, Process], master: int) -> str:
    if b"alerting.process" in process.command:
        return "alerting"
    if b"storage.maintenance" in process.command:
        return "maintenance"
    if b"query.worker" in process.command:
        parent = processes.get(process.parent)
        return "queries" if parent is not None and b"alerting.process" in parent.command else "others"
    return "workers" if process.parent == master else "others"


def _processes() -> dict[int, Process]:
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            numbers = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        used = (int(numbers[11]) + int(numbers[12])) / tick
        found[int(path.parent.name)] = Process(int(numbers[1]), int(numbers[3]), used, command)
    return found
