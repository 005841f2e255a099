"""Snapshots that alerts share: docs/decisions/alerts.md."""

from datetime import timedelta

import pytest

from alerting.windows import SHARED_SECONDS, Window, Windows
from errors import DatasetNotFound
from models import alert, dataset
from tests.alerting.conftest import World
from tests.alerting.samples import NOON

START_NS = int(NOON.timestamp()) * 1_000_000_000
MINUTE = timedelta(minutes=1)
WINDOW = Window("default", "app", START_NS, START_NS + 60_000_000_000)


def test_snapshot_is_shared_for_a_while_and_by_equal_windows_only(world: World):
    seconds = [0.0]
    windows = Windows(world.bench.layout, lambda: seconds[0])
    first = windows.shared(WINDOW)

    same = windows.shared(Window("default", "app", WINDOW.start_ns, WINDOW.end_ns))
    other = windows.shared(Window("default", "app", WINDOW.start_ns - 1, WINDOW.end_ns))
    seconds[0] += SHARED_SECONDS
    later = windows.shared(WINDOW)

    assert same is first
    assert other is not first
    assert later is not first


def test_fresh_snapshot_replaces_the_shared_one(world: World):
    windows = Windows(world.bench.layout)
    first = windows.shared(WINDOW)
    world.bench.append(NOON, n=[1])

    fresh = windows.fresh(WINDOW)

    assert windows.shared(WINDOW) is fresh
    assert len(fresh.source.snapshot.segments) > len(first.source.snapshot.segments)


def test_deleted_dataset_is_not_found(world: World):
    dataset.delete("default", "app")

    with pytest.raises(DatasetNotFound):
        Windows(world.bench.layout).shared(WINDOW)


def test_shared_snapshot_whose_files_are_gone_is_taken_anew(world: World):
    """The segment went into Parquet between two alerts of one window."""
    world.bench.append(NOON, n=[1, 2, 3])
    made = world.make_alert(threshold=1000.0)
    world.run(after=2 * MINUTE)
    world.bench.convert()
    for path in world.bench.layout.staging.rglob("*.wal"):
        path.unlink()
    (again,) = alert.claim("lease", world.now, world.now + MINUTE, world.now + MINUTE, 1)

    world.evaluate([again], "lease")

    assert (world.status(made).last_error, world.status(made).last_value) == (None, 3)
