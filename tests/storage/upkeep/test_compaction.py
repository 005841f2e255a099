"""Compaction changes where events are, never which."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from models import column, dataset, file
from models.file import CompactionCandidate, File
from storage.files.parquet import MOST_VALUES
from storage.read.scan import SnapshotExpired, scan
from storage.read.snapshot import take_snapshot
from storage.upkeep import compaction as compaction
from storage.upkeep.compaction import FAN_IN, SETTLED, compact, plan, remove_replaced
from tests.storage.workbench import NOON, Bench

NOW = datetime(2026, 1, 2, 15, tzinfo=UTC)


def on_disk(bench: Bench) -> int:
    return len(list(bench.layout.root.rglob("*.parquet")))


def fill(bench: Bench, files: int) -> None:
    for number in range(files):
        bench.append(at=NOON + timedelta(minutes=files - number), x=[number])
        bench.convert()


def pile(count: int, *, level: int = 0, newest: datetime = NOW) -> CompactionCandidate:
    return CompactionCandidate(1, "default/app", level, count, newest)


def test_full_level_is_merged_before_settled_leftovers() -> None:
    old, full, young = pile(2, newest=NOW - SETTLED), pile(FAN_IN, level=1), pile(FAN_IN - 1, level=2)

    assert plan([old, full, young], NOW) == [(full, 1), (old, None)]


def test_files_of_one_hour_become_one_sorted_file_with_the_same_rows(bench: Bench) -> None:
    fill(bench, FAN_IN)
    before = bench.rows().sort("x")

    assert compact(bench.layout) == FAN_IN

    (merged,) = take_snapshot(bench.layout, bench.app).files
    stored = pl.read_parquet(bench.layout.root / merged.path)
    assert bench.rows().sort("x").equals(before)
    assert stored["p_timestamp"].is_sorted()
    assert (merged.level, merged.rows, merged.body_bytes) == (1, FAN_IN, 10 * FAN_IN)
    assert merged.path.startswith("default/app/date=2026-01-02/hour=12/")
    assert compact(bench.layout) == 0


def test_hours_are_not_mixed(bench: Bench) -> None:
    for number in range(2 * FAN_IN):
        bench.append(at=NOON + timedelta(hours=number % 2), x=[number])
        bench.convert()

    assert (compact(bench.layout), compact(bench.layout), compact(bench.layout)) == (FAN_IN, FAN_IN, 0)
    assert len(take_snapshot(bench.layout, bench.app).files) == 2
    assert sorted(bench.rows()["x"]) == list(range(2 * FAN_IN))


def test_few_files_are_merged_when_nothing_was_added_for_a_while(bench: Bench) -> None:
    fill(bench, 2)

    assert compact(bench.layout) == 0
    assert compact(bench.layout, now=datetime.now(UTC) + 2 * SETTLED) == 2
    assert bench.rows().height == 2


def test_files_of_many_schemas_are_merged_under_the_one_of_today(bench: Bench) -> None:
    """Missing columns, a widened one, a sibling."""
    for value in (1, 2.5, "text", True):
        for extra in ("a", "b"):
            bench.append(x=[value], **{extra: [value]})
            bench.convert()
    before = bench.rows().sort("x", "x_utf8", "x_bool", "a", "b")

    assert compact(bench.layout) == 8

    assert bench.rows().sort("x", "x_utf8", "x_bool", "a", "b").equals(before)
    (live,) = take_snapshot(bench.layout, bench.app).files
    (merged,) = file.candidate_files(
        CompactionCandidate(bench.app.id, live.directory, 1, 1, NOW, live.tmin, live.tmin), 10**9
    )
    assert merged.stats["x"] == [1.0, 2.5, 4]
    assert set(merged.stats) == {each.name for each in column.schema(bench.app.id).columns}


def test_queries_that_began_before_finish_on_the_old_files(bench: Bench) -> None:
    fill(bench, FAN_IN)
    early = take_snapshot(bench.layout, bench.app)

    compact(bench.layout)

    assert remove_replaced(bench.layout, 3600) == 0
    assert scan(early).collect().height == FAN_IN
    assert on_disk(bench) == FAN_IN + 1


def test_old_files_leave_the_disk_after_the_grace(bench: Bench) -> None:
    fill(bench, FAN_IN)
    early = take_snapshot(bench.layout, bench.app)
    compact(bench.layout)

    assert remove_replaced(bench.layout, -1) == FAN_IN

    assert on_disk(bench) == 1
    assert bench.rows().height == FAN_IN
    assert remove_replaced(bench.layout, -1) == 0
    with pytest.raises(SnapshotExpired):
        scan(early)


def test_many_files_are_deleted_in_portions(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MOST_REMOVED", 5)
    fill(bench, FAN_IN)
    bench.storage.delete("default", "app")

    assert [remove_replaced(bench.layout, -1) for _ in range(3)] == [5, 3, 0]
    assert on_disk(bench) == 0


def test_file_that_was_removed_during_the_merge_stays_removed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention or deletion was faster: its events must not come back."""
    fill(bench, FAN_IN)
    real = file.replace

    def expire_then_replace(old: list[File], new: File, now: datetime) -> bool:
        file.expire(bench.app.id, old[0].tmax + 1, now)
        return real(old, new, now)

    monkeypatch.setattr(file, "replace", expire_then_replace)

    assert compact(bench.layout) == 0
    assert bench.rows().height == FAN_IN - 1
    assert on_disk(bench) == FAN_IN


def test_files_of_a_deleted_dataset_are_left_to_their_removal(bench: Bench) -> None:
    fill(bench, FAN_IN)
    bench.storage.delete("default", "app")

    assert compact(bench.layout) == 0
    assert remove_replaced(bench.layout, -1) == FAN_IN
    assert on_disk(bench) == 0


def test_directories_are_not_mixed_by_case_or_depth(bench: Bench) -> None:
    """Other programs take a file's place in the tree for the value of its rows."""
    divided = dataset.create("default", "divided", custom_partition="region")
    for number in range(FAN_IN):
        for region in ("EU", "eu"):
            bench.append(target=divided, n=[number], region=[region])
        bench.convert()
        # Too many values for a directory each.
        bench.append(target=divided, n=list(range(MOST_VALUES + 1)), region=[f"r{n}" for n in range(MOST_VALUES + 1)])
        bench.convert()

    while compact(bench.layout):
        pass

    found = take_snapshot(bench.layout, divided).files
    assert sorted(each.directory.partition("hour=12")[2] for each in found) == ["", "/region=EU", "/region=eu"]
    assert sorted(each.rows for each in found) == [FAN_IN, FAN_IN, FAN_IN * (MOST_VALUES + 1)]


def test_merge_stops_at_the_target_size(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench, FAN_IN)
    size = max(each.bytes for each in take_snapshot(bench.layout, bench.app).files)
    monkeypatch.setattr(compaction, "TARGET_BYTES", 3 * size + size // 2)

    assert compact(bench.layout) == 3
    assert bench.rows().height == FAN_IN


def test_large_files_are_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench, FAN_IN)
    monkeypatch.setattr(compaction, "SMALL_BYTES", 10)

    assert compact(bench.layout) == 0
