"""kill -9 at any moment: what was acknowledged is in every query exactly once (issue of the main job, item 4)."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from models import dataset
from storage.convert import convert_all
from storage.names import Layout
from storage.scan import SnapshotExpired, scan
from storage.snapshot import take
from storage.tails import Tails

ROOT = Path(__file__).parents[2]
RUN_SECONDS = 8.0


@dataclass
class Fleet:
    """Two writers and one maintenance process; a killed one is started again."""

    url: str
    root: Path
    logs: list[Path] = field(default_factory=list)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, role: str) -> None:
        arguments = [sys.executable, "-m", "tests.storage.processes", role.rstrip("12"), self.url, str(self.root)]
        if role.startswith("write"):
            self.logs.append(self.root.parent / f"acked-{len(self.logs)}")
            arguments += [str(self.logs[-1]), str(len(self.logs) * 10**9)]
        self.running[role] = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def kill(self, role: str) -> None:
        self.running[role].send_signal(signal.SIGKILL)
        self.running[role].wait()

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


def query(layout: Layout, tails: Tails) -> list[int]:
    """The ids of all events, as a query sees them."""
    app = dataset.find("default", "app")
    while True:
        try:
            rows = scan(take(layout, app), tails)
            return rows.collect()["id"].to_list() if "id" in rows.collect_schema() else []
        except SnapshotExpired:
            continue


def test_acknowledged_events_are_in_every_query_exactly_once_while_everything_is_killed(fleet: Fleet) -> None:
    """architecture.md section 3, invariants 1, 2, 4 and 7."""
    layout, tails, kills, queries = Layout(fleet.root), Tails(), 0, 0
    roles = ["write1", "write2", "maintain"]
    for role in roles:
        fleet.start(role)
    deadline, next_kill = time.monotonic() + RUN_SECONDS, time.monotonic() + 1.5

    for number in itertools.count():
        acked = fleet.acked()
        found = query(layout, tails if number % 2 else Tails())
        queries += 1
        assert len(found) == len(set(found)), "an event was seen twice"
        assert set(acked) <= set(found), "an acknowledged event was not seen"
        if time.monotonic() > next_kill:
            victim = random.choice(roles)
            fleet.kill(victim)
            fleet.start(victim)
            kills += 1
            next_kill = time.monotonic() + random.uniform(0.1, 0.8)
        if time.monotonic() > deadline:
            break
    for role in roles:
        fleet.kill(role)
    acked = fleet.acked()
    convert_all(layout)
    found = query(layout, Tails())

    assert len(found) == len(set(found))
    assert set(acked) <= set(found)
    assert len(acked) > 100
    assert kills > 3
    print(f"{len(acked)} acknowledged, {kills} kills, {queries} queries")
