"""The processor time of a service's processes, by what they do. Reads /proc; knows a service by its session."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from query.process import query_process


@dataclass(frozen=True)
class Process:
    parent: int
    session: int
    seconds: float
    command: bytes
    name: str


FORK_SERVER = b"processes.fork_server"
Usage = dict[int, tuple[str, float]]


def usage(session: int, data_dir: Path) -> Usage:
    """Group and processor seconds so far of each process: workers, alerting, queries, maintenance, database,
    others."""
    processes = _processes()
    postmaster = int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    found: Usage = {}
    for pid, process in processes.items():
        if postmaster in (pid, process.parent):
            found[pid] = "database", process.seconds
        elif process.session == session:
            found[pid] = _group(process, session), process.seconds
    return found


def kinds(session: int, data_dir: Path) -> dict[int, str]:
    """The group of each process, where query processes, whoever owns them, and the master are groups too."""
    processes = _processes()
    named = {pid: group for pid, (group, _) in usage(session, data_dir).items()}
    return {pid: _kind(processes[pid], group) for pid, group in named.items() if pid in processes} | {session: "master"}


def _kind(process: Process, group: str) -> str:
    if process.name == query_process.NAME:
        return "queries"
    return "fork servers" if FORK_SERVER in process.command and group == "others" else group


def spent(before: Usage, after: Usage) -> dict[str, float]:
    """Seconds by group between the two, but for processes that have ended."""
    total: dict[str, float] = defaultdict(float)
    for pid, (group, seconds) in after.items():
        total[group] += seconds - before.get(pid, (group, 0.0))[1]
    return dict(total)


def _group(process: Process, master: int) -> str:
    if b"alerting.process" in process.command:
        return "alerting"
    if b"storage.upkeep.maintenance" in process.command:
        return "maintenance"
    if process.name == query_process.NAME:
        return "queries"
    return "workers" if process.parent == master else "others"


def _processes() -> dict[int, Process]:
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = path.read_text().rpartition(")")
            name, numbers = before.partition("(")[2], after.split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        used = (int(numbers[11]) + int(numbers[12])) / tick
        found[int(path.parent.name)] = Process(int(numbers[1]), int(numbers[3]), used, command, name)
    return found
