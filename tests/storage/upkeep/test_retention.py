"""Retention, deletion and the sweep: what is gone is gone, and nothing else is."""

import os
from datetime import timedelta

import pytest

from errors import DatasetNotFound
from models import dataset
from models.dataset import Retention
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import remove_replaced
from storage.upkeep.retention import expire_all
from storage.upkeep.sweep import sweep
from storage.wal.segments import Segment
from tests.storage.workbench import NOON, Bench


def test_retention_is_kept_and_can_be_taken_back(bench: Bench) -> None:
    assert dataset.retention(bench.app.id) is None
    dataset.set_retention(bench.app.id, Retention(20, "as the law says"))

    assert dataset.retention(bench.app.id) == Retention(20, "as the law says")
    assert dataset.retained() == [(bench.app.id, 20)]
    dataset.set_retention(bench.app.id, None)
    assert dataset.retained() == []


def test_retention_of_a_deleted_dataset_is_not_found(bench: Bench) -> None:
    dataset.delete("default", "app")

    with pytest.raises(DatasetNotFound):
        dataset.set_retention(bench.app.id, Retention(1))


def test_files_older_than_the_retention_expire(bench: Bench) -> None:
    other = dataset.create("default", "other")
    dataset.set_retention(bench.app.id, Retention(2))
    for hours in (0, 23, 24, 25):
        bench.append(at=NOON + timedelta(hours=hours), x=[hours])
    bench.append(target=other, x=[1])
    bench.convert()

    assert expire_all(NOON + timedelta(days=3)) == 2

    assert sorted(bench.rows()["x"]) == [24, 25]
    assert len(take_snapshot(bench.layout, other).files) == 1
    assert expire_all(NOON + timedelta(days=3)) == 0


def test_expired_files_leave_the_disk_after_the_grace(bench: Bench) -> None:
    dataset.set_retention(bench.app.id, Retention(2))
    bench.append(x=[1])
    bench.convert()
    expire_all(NOON + timedelta(days=3))

    assert remove_replaced(bench.layout, 3600, now=NOON + timedelta(days=3)) == 0
    assert remove_replaced(bench.layout, 3600, now=NOON + timedelta(days=4)) == 1
    assert list(bench.layout.root.rglob("*.parquet")) == []


def test_deleted_dataset_leaves_nothing_on_disk(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    bench.storage.delete("default", "app")

    remove_replaced(bench.layout, -1)
    sweep(bench.layout, -1)

    assert [path for path in (bench.layout.root / "default").rglob("*") if path.is_file() or "=" in path.name] == []


def test_sweep_removes_what_the_manifest_has_not_and_nothing_else(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    (live,) = take_snapshot(bench.layout, bench.app).files
    directory = (bench.layout.root / live.path).parent
    (directory / "01ORPHAN.parquet").touch()
    (directory / "01UNFINISHED.new").touch()
    (bench.layout.staging / "01SEGMENT.new").touch()

    assert sweep(bench.layout, -1) == 3

    assert [path.name for path in directory.iterdir()] == [live.path.rpartition("/")[2]]
    assert list(bench.layout.staging.glob("*.new")) == []
    assert bench.rows().height == 1


def test_sweep_keeps_files_that_are_removed_but_still_in_their_grace(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    early = take_snapshot(bench.layout, bench.app)
    bench.storage.delete("default", "app")

    assert sweep(bench.layout, -1) == 0
    assert (bench.layout.root / early.files[0].path).exists()


def test_sweep_keeps_what_is_young(bench: Bench) -> None:
    """A converter has written its file and not yet its row."""
    directory = bench.layout.root / "default" / "app" / "date=2026-01-02" / "hour=12"
    directory.mkdir(parents=True)
    (directory / "01YOUNG.parquet").touch()

    assert sweep(bench.layout, 3600) == 0
    assert (directory / "01YOUNG.parquet").exists()


def test_sweep_keeps_the_segment_that_a_worker_is_about_to_rename(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def sweep_then_rename(*paths: str) -> None:
        sweep(bench.layout, -1)
        real(*paths)

    monkeypatch.setattr(os, "rename", sweep_then_rename)

    assert Segment(bench.layout.staging).path.exists()
