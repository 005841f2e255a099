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


QUERY = b"query.process.worker"
Usage = dict[int, tuple[str, float]]


def usage(session: int, data_dir: Path) -> Usage:
    """Group and processor seconds so far of each process: workers, alerting, queries (of alerts), maintenance,
    database, others."""
    processes = _processes()
    postmaster = int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    found: Usage = {}
    for pid, process in processes.items():
        if postmaster in (pid, process.parent):
            found[pid] = "database", process.seconds
        elif process.session == session:
            found[pid] = _group(process, processes, session), process.seconds
    return found


def kinds(session: int, data_dir: Path) -> dict[int, str]:
    """The group of each process, where query processes, whoever owns them, and the master are groups too."""
    processes = _processes()
    named = {pid: group for pid, (group, _) in usage(session, data_dir).items()}
    queries = {pid: "queries" for pid in named if pid in processes and QUERY in processes[pid].command}
    return named | queries | {session: "master"}


def spent(before: Usage, after: Usage) -> dict[str, float]:
    """Seconds by group between the two, but for processes that have ended."""
    total: dict[str, float] = defaultdict(float)
    for pid, (group, seconds) in after.items():
        total[group] += seconds - before.get(pid, (group, 0.0))[1]
    return dict(total)


def _group(process: Process, processes: dict[int, Process], master: int) -> str:
    if b"alerting.process" in process.command:
        return "alerting"
    if b"storage.upkeep.maintenance" in process.command:
        return "maintenance"
    if QUERY in process.command:
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
