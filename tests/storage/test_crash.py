"""kill -9 at any moment: what was acknowledged is in every query exactly once (issue of the main job, item 4)."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from models import dataset
from storage.context import Layout
from storage.durable_files import is_locked
from storage.read.scan import SnapshotExpired, scan
from storage.read.snapshot import take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.upkeep.conversion import convert_all

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.crash

KILLS = 10
LONGEST_SECONDS = 120.0


@dataclass
class Fleet:
    """Two writers and one maintenance process; a killed one is started again."""

    url: str
    root: Path
    logs: list[Path] = field(default_factory=list)
    log_of: dict[str, Path] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, role: str) -> None:
        arguments = [sys.executable, "-m", "tests.storage.processes", role.rstrip("12"), self.url, str(self.root)]
        if role.startswith("write"):
            self.logs.append(self.root.parent / f"acked-{len(self.logs)}")
            self.log_of[role] = self.logs[-1]
            arguments += [str(self.logs[-1]), str(len(self.logs) * 10**9)]
        self.running[role] = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def kill(self, role: str) -> None:
        self.running[role].send_signal(signal.SIGKILL)
        self.running[role].wait()

    def is_at_work(self, role: str, layout: Layout) -> bool:
        """Whether a kill would meet it doing something: a machine under load takes seconds to start a process."""
        if role == "maintain":
            return is_locked(layout.leader)
        return self.log_of[role].exists() and self.log_of[role].stat().st_size > 0

    def acked(self) -> list[int]:
        return [int(line) for log in self.logs if log.exists() for line in log.read_text().split()]


@pytest.fixture
def fleet(tmp_path: Path, database: None, database_url: str) -> Iterator[Fleet]:
    root = tmp_path / "data"
    root.mkdir()
    dataset.create("default", "app")
    made = Fleet(database_url, root)
    yield made
    for process in made.running.values():
        process.kill()
        process.wait()


def query(layout: Layout, tails: UnconvertedRows) -> list[int]:
    """The ids of all events, as a query sees them."""
    app = dataset.find("default", "app")
    while True:
        try:
            rows = scan(take_snapshot(layout, app), tails)
            return rows.collect()["id"].to_list() if "id" in rows.collect_schema() else []
        except SnapshotExpired:
            continue


def test_acknowledged_events_are_in_every_query_exactly_once_while_everything_is_killed(fleet: Fleet) -> None:
    """architecture.md section 3, invariants 1, 2, 4 and 7."""
    layout, tails = Layout(fleet.root), UnconvertedRows()
    roles = ["write1", "write2", "maintain"]
    for role in roles:
        fleet.start(role)
    kills: Counter[str] = Counter()
    deadline = time.monotonic() + LONGEST_SECONDS

    for number in itertools.count():
        acked = fleet.acked()
        found = query(layout, tails if number % 2 else UnconvertedRows())
        assert len(found) == len(set(found)), "an event was seen twice"
        assert set(acked) <= set(found), "an acknowledged event was not seen"
        victim = random.choice(roles)
        if random.random() < 0.2 and fleet.is_at_work(victim, layout):
            fleet.kill(victim)
            fleet.start(victim)
            kills[victim] += 1
        if kills.total() >= KILLS and all(kills[role] for role in roles):
            break
        assert time.monotonic() < deadline, f"the processes did not get to work: {kills}"
    for role in roles:
        fleet.kill(role)
    acked = fleet.acked()
    convert_all(layout)
    found = query(layout, UnconvertedRows())

    assert len(found) == len(set(found))
    assert set(acked) <= set(found)
    assert len(acked) > 100
