"""A crash or a failure at every single step: nothing acknowledged is lost or doubled, and nothing needs a hand."""

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar

import pytest
from peewee import OperationalError

from errors import WeirError
from models import base, dataset, file
from models.dataset import Retention
from storage.context import Layout
from storage.read.dataset_stats import dataset_stats
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep import compaction as compaction
from storage.upkeep.compaction import compact, remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from storage.upkeep.retention import expire_all
from storage.upkeep.sweep import sweep
from storage.wal.segments import list_segments
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.faults import Crash, Steps, injected
from tests.storage.workbench import NOON, batch_of

pytestmark = pytest.mark.crash

R = TypeVar("R")
TABLES = "dataset, dataset_column, dataset_total, file, segment"


class Attempt(Protocol):
    """How an action is done: once, or until it succeeds."""

    def __call__(self, action: Callable[[], R], /) -> R: ...


class World:
    """A storage, what was sent to it and what it acknowledged."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        base.database.execute_sql(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE")
        self.layout = Layout(root)
        self.app = dataset.create("default", "app")
        self.short = dataset.create("default", "short")
        dataset.set_retention(self.short.id, Retention(1))
        self.sent = 0
        self.acked: list[int] = []

    def append(self, storage: Storage) -> None:
        ids: list[object] = [self.sent, self.sent + 1]
        self.sent += 2
        storage.append(self.app, batch_of(id=ids, x=[ids[0] if self.sent % 3 else "text"] * 2), Arrival(NOON))
        self.acked += ids  # type: ignore[arg-type]

    def ids(self) -> list[int]:
        rows = scan(take_snapshot(self.layout, self.app)).collect()
        return rows["id"].to_list() if "id" in rows.columns else []

    def maintain(self) -> None:
        """All tasks, with a grace that is over at once: there are no queries."""
        convert_all(self.layout)
        remove_converted(self.layout, -1)
        while compact(self.layout):
            pass
        expire_all(NOON + timedelta(days=9))
        remove_replaced(self.layout, -1)
        sweep(self.layout, -1)


def life(world: World, attempt: Attempt) -> None:
    """Two workers one after the other, maintenance between and after; each action through `attempt`."""
    for _ in range(2):
        storage = attempt(lambda: Storage(world.layout, flush_seconds=60))
        try:
            attempt(lambda storage=storage: world.append(storage))
            attempt(lambda storage=storage: world.append(storage))
            attempt(lambda storage=storage: storage.append(world.short, batch_of(x=[1]), Arrival(NOON)))
        finally:
            storage.close()
        attempt(lambda: convert_all(world.layout))
    attempt(world.maintain)


def check(world: World) -> None:
    """Right now, without any repair."""
    found = Counter(world.ids())
    assert set(found.values()) <= {1}, "an event was stored twice"
    assert set(world.acked) <= set(found) <= set(range(world.sent)), "an acknowledged event was lost"


def check_clean(world: World) -> None:
    """After maintenance nothing is left but what the manifest has, and the account is right."""
    seen = sorted(world.ids())
    world.maintain()
    live = {each.path for target in (world.app, world.short) for each in file.find(target.id, None, None)}
    on_disk = {str(path.relative_to(world.layout.root)) for path in world.layout.root.rglob("*.parquet")}

    check(world)
    assert sorted(world.ids()) == seen
    assert on_disk == live
    assert list_segments(world.layout.staging) == []
    assert list(world.layout.root.rglob("*.new")) == []
    assert (
        dataset_stats(world.layout, world.app).events
        == dataset_stats(world.layout, world.app).lifetime_events
        == len(seen)
    )


@pytest.fixture(autouse=True)
def small_fan_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FAN_IN", 2)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Each injected failure is logged, with its traceback."""
    caplog.set_level(logging.CRITICAL)


@pytest.fixture
def worlds(database: None) -> Iterator[Iterator[World]]:
    """Worlds in memory: hundreds of them sync for nothing, since nobody pulls the plug."""
    base.database.execute_sql("SET synchronous_commit = off")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as root:
        yield (World(Path(root) / str(number)) for number in range(10_000))


def run(action: Callable[[], R]) -> R:
    return action()


def persist(action: Callable[[], R]) -> R:
    """The action, tried again while it fails, as clients and maintenance do."""
    for _ in range(3):
        with suppress(OSError, OperationalError, WeirError):
            return action()
    raise AssertionError("three failures in a row")


def count_steps(world: World) -> int:
    with injected(Steps()) as steps:
        life(world, run)
    check_clean(world)
    assert len(world.acked) == 8
    assert {"pwritev", "fdatasync", "fsync", "rename", "unlink", "commit", "execute_sql"} <= set(steps.taken)
    return len(steps.taken)


def test_crash_at_any_step_loses_nothing_and_doubles_nothing(worlds: Iterator[World]) -> None:
    """architecture.md section 3, invariants 1, 2 and 6."""
    for step in range(count_steps(next(worlds))):
        world = next(worlds)
        with injected(Steps(step)) as steps, suppress(Crash, WeirError):
            life(world, run)
        assert steps.is_dead

        check(world)
        check_clean(world)


def test_failure_of_any_step_is_survived_by_trying_again(worlds: Iterator[World]) -> None:
    """A failing write, sync, rename or database: what is refused is not stored, and the next attempt succeeds."""

    for step in range(count_steps(next(worlds))):
        world = next(worlds)
        with injected(Steps(step, is_crash=False)):
            life(world, persist)

        check(world)
        check_clean(world)
        assert len(world.acked) == 8
