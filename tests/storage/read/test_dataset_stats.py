"""The account is exact at every moment (reference: stats of a dataset)."""

import os
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

from models import dataset
from models.dataset import Dataset, Retention
from models.dataset_totals import Day, Total
from storage.read.dataset_stats import _add, _count_inside, _list_records, dataset_stats, day_stats
from storage.upkeep.compaction import FAN_IN, compact
from storage.upkeep.retention import expire_all
from tests.storage.read.test_unconverted_rows import frame, segment
from tests.storage.workbench import NOON, Bench

BY_AT = Dataset(1, "default", "app", "at", None, False, "logs", NOON)


def test_new_dataset_has_nothing(bench: Bench) -> None:
    found = dataset_stats(bench.layout, bench.app)

    assert (found.lifetime_events, found.events, found.body_bytes, found.stored_bytes) == (0, 0, 0, 0)
    assert (found.first, found.last) == (None, None)


def test_converted_and_unconverted_events_count_alike(bench: Bench) -> None:
    bench.append(x=[1, 2])
    bench.append(target=dataset.create("default", "other"), x=[1])
    unconverted = dataset_stats(bench.layout, bench.app)
    bench.convert()
    converted = dataset_stats(bench.layout, bench.app)
    bench.append(at=NOON + timedelta(seconds=1), x=[3])
    both = dataset_stats(bench.layout, bench.app)

    noon = int(NOON.timestamp()) * 10**9
    assert (unconverted.events, unconverted.body_bytes, unconverted.stored_bytes) == (2, 10, 0)
    assert (converted.events, converted.body_bytes, converted.stored_bytes > 0) == (2, 10, True)
    assert (both.events, both.lifetime_events, both.lifetime_body_bytes) == (3, 3, 20)
    assert (both.first, both.last) == (noon, noon + 10**9)


def test_retention_takes_from_the_present_and_not_from_the_lifetime(bench: Bench) -> None:
    dataset.set_retention(bench.app.id, Retention(1))
    bench.append(x=[1, 2])
    bench.convert()
    stored = dataset_stats(bench.layout, bench.app).stored_bytes

    expire_all(NOON + timedelta(days=2))

    found = dataset_stats(bench.layout, bench.app)
    assert (found.events, found.body_bytes, found.stored_bytes) == (0, 0, 0)
    assert (found.lifetime_events, found.lifetime_body_bytes, found.deleted_stored_bytes) == (2, 10, stored)


def test_compaction_changes_only_the_bytes_stored(bench: Bench) -> None:
    for _ in range(FAN_IN):
        bench.append(x=[1])
        bench.convert()
    before = dataset_stats(bench.layout, bench.app)

    compact(bench.layout)

    after = dataset_stats(bench.layout, bench.app)
    assert after.stored_bytes < before.stored_bytes
    assert (after.events, after.lifetime_events, after.body_bytes) == (FAN_IN, FAN_IN, 10 * FAN_IN)
    assert after.deleted_stored_bytes == 0


@pytest.mark.parametrize("convert", [False, True], ids=["unconverted", "converted"])
def test_day_counts_the_events_of_its_own_24_hours(bench: Bench, convert: bool) -> None:
    for hours in (-13, -12, 11, 12):
        bench.append(at=NOON + timedelta(hours=hours), x=[1])
    if convert:
        bench.convert()

    found = day_stats(bench.layout, bench.app, date(2026, 1, 2))

    assert (found.events, found.body_bytes, found.stored_bytes > 0) == (2, 20, convert)
    assert day_stats(bench.layout, bench.app, date(2026, 1, 9)) == Day(0, 0, 0)


def test_unconverted_events_are_counted_by_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = pl.DataFrame({"x": list(range(50_000))})
    staged = segment(tmp_path, frame(large, dataset_id=2), frame(large, tmin=5, tmax=9), frame(large, tmin=3, tmax=4))
    read: list[int] = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or real(fd, size, at))

    counted = _add(Total(0, 0, 0, 0, 0, 0, 0, None, None), _list_records([staged], 1))

    assert (counted.events, counted.first, counted.last) == (100_000, 3, 9)
    assert sum(read) < staged.size / 4


@pytest.mark.parametrize(("start", "end", "inside"), [(0, 10, 4), (0, 2, 2), (2, 10, 2), (4, 9, 0), (1, 3, 2)])
def test_of_a_frame_that_spans_a_midnight_the_rows_of_the_day_count(
    tmp_path: Path, start: int, end: int, inside: int
) -> None:
    times = pl.Series("at", range(4), pl.Int64()).cast(pl.Datetime("ns", "UTC"))
    staged = segment(tmp_path, frame(pl.DataFrame({"at": times}), tmin=0, tmax=3))
    (found,) = _list_records([staged], 1)

    assert _count_inside(found, BY_AT, start, end) == inside


def test_bytes_of_bodies_are_shared_among_hours_without_remainder(bench: Bench) -> None:
    for hours in range(3):
        bench.append(at=NOON + timedelta(hours=hours), x=[1, 2, 3][: hours + 1])
    bench.convert()

    assert dataset_stats(bench.layout, bench.app).body_bytes == 30
