"""The contents of a snapshot: equal exactly as long as the range holds the same rows."""

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from models import dataset
from models.column import Schema
from storage.read.fingerprint import Fingerprint, fingerprint
from storage.read.snapshot import Snapshot, take_snapshot
from storage.wal.index import SegmentIndex
from tests.storage.read.test_unconverted_rows import frame, segment
from tests.storage.workbench import NOON, Bench

MINUTE = timedelta(minutes=1)


def ns(moment: datetime) -> int:
    return int(moment.timestamp()) * 10**9


def seen(
    bench: Bench, places: SegmentIndex, start: datetime = NOON - MINUTE, end: datetime = NOON + MINUTE
) -> Fingerprint | None:
    return fingerprint(take_snapshot(bench.layout, bench.app, ns(start), ns(end)), places)


def test_contents_are_equal_until_something_comes_or_goes(bench: Bench) -> None:
    places = SegmentIndex()
    bench.append(at=NOON, x=[1])
    first = seen(bench, places)
    bench.append(target=dataset.create("default", "other"), at=NOON, x=[5])
    bench.append(at=NOON + 5 * MINUTE, x=[2])

    assert first is not None
    assert seen(bench, places) == first == seen(bench, SegmentIndex())
    assert seen(bench, places, end=NOON + 2 * MINUTE) == first

    bench.append(at=NOON, x=[3])
    assert seen(bench, places) not in (None, first)


def test_converted_events_are_other_contents(bench: Bench) -> None:
    places = SegmentIndex()
    bench.append(at=NOON, x=[1])
    before = seen(bench, places)
    bench.convert()

    assert seen(bench, places) not in (None, before)
    assert seen(bench, places) == seen(bench, places)


def test_a_new_column_makes_other_contents(bench: Bench) -> None:
    """SELECT * has one more, though no row of the range does."""
    places = SegmentIndex()
    bench.append(at=NOON, x=[1])
    before = seen(bench, places)
    bench.append(at=NOON + 5 * MINUTE, x=[1], y=[1])

    assert seen(bench, places) not in (None, before)


def test_what_is_partly_in_the_range_has_no_name(bench: Bench) -> None:
    places = SegmentIndex()
    bench.append(at=NOON, x=[1])
    bench.append(at=NOON + MINUTE, x=[2])
    bench.convert()

    assert seen(bench, places, NOON, NOON + MINUTE) is None
    assert seen(bench, places, NOON, NOON + 2 * MINUTE) is not None


@pytest.mark.parametrize(
    ("start", "end", "places"),
    [(10, 31, [0]), (10, 30, None), (11, 40, None), (31, 40, []), (0, 10, [])],
    ids=["all of it", "all but its last", "all but its first", "before", "after"],
)
def test_frame_counts_only_when_all_of_it_is_in_the_range(
    tmp_path: Path, start: int, end: int, places: list[int] | None
) -> None:
    staged = segment(tmp_path, frame(pl.DataFrame({"x": [1, 2]}), tmin=10, tmax=30))
    snapshot = Snapshot(str(tmp_path), Schema(1, ()), "p_timestamp", start, end, (), (staged,))

    found = fingerprint(snapshot, SegmentIndex())

    assert (None if found is None else [start for _, start, _ in found.records]) == places
