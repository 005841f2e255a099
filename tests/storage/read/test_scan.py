"""Every event of a range exactly once, wherever it is, under the schema of today."""

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from columns import Batch, ColumnType, Field
from models import dataset
from storage.read.scan import SnapshotExpired, scan
from storage.read.snapshot import take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.upkeep.conversion import convert_all, remove_converted
from storage.wal.segments import list_segments
from storage.write.arrival import Arrival
from tests.storage.workbench import NOON, Bench

HOUR = timedelta(hours=1)


def ns(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def test_new_dataset_is_empty_and_has_its_columns(bench: Bench) -> None:
    assert bench.rows().schema == {
        "p_timestamp": pl.Datetime("us", "UTC"),
        "p_src_ip": pl.String(),
        "p_user_agent": pl.String(),
    }


def test_converted_and_unconverted_events_are_seen_together(bench: Bench) -> None:
    bench.append(x=[1, 2])
    bench.convert()
    bench.append(x=[3])

    assert sorted(bench.rows()["x"]) == [1, 2, 3]


def test_files_and_frames_of_other_schemas_read_as_if_written_today(bench: Bench) -> None:
    """Missing columns are null, integers of a widened column floats, siblings apart."""
    bench.append(x=[1])
    bench.convert()
    bench.append(x=[1.5], y=["a"])
    bench.append(x=["text"])

    before = bench.rows().sort("x", "x_utf8")
    bench.convert()
    after = bench.rows().sort("x", "x_utf8")

    assert before.select("x", "y", "x_utf8").rows() == [(None, None, "text"), (1.0, None, None), (1.5, "a", None)]
    assert before.columns == ["p_timestamp", "x", "y", "x_utf8", "p_src_ip", "p_user_agent"]
    assert after.equals(before)


def test_filter_on_a_widened_column_is_right_in_old_files(bench: Bench) -> None:
    bench.append(x=[1, 2, 3])
    bench.convert()
    bench.append(x=[2.5])
    bench.convert()

    rows = scan(take_snapshot(bench.layout, bench.app)).filter(pl.col("x") > 2.2).collect()

    assert sorted(rows["x"]) == [2.5, 3.0]


def test_lists_of_a_widened_column_are_read_as_floats_from_old_files_and_segments(bench: Bench) -> None:
    for values in ([[1, 2]], [[None]], [[0.5]], [[3]], [[]]):
        bench.append(x=values)
        if values == [[None]]:
            bench.convert()
    before = bench.rows().sort("p_timestamp")["x"]
    bench.convert()

    assert before.dtype == pl.List(pl.Float64)
    assert sorted(before.to_list(), key=repr) == [[0.5], [1.0, 2.0], [3.0], [None], []]
    assert bench.rows().sort("p_timestamp")["x"].to_list() == before.to_list()


@pytest.mark.parametrize("convert", [False, True], ids=["unconverted", "converted"])
def test_range_is_half_open_and_exact_to_the_nanosecond(bench: Bench, convert: bool) -> None:
    """api.md section 5: the time range is [startTime, endTime), exact, never rounded."""
    for microseconds in range(3):
        bench.append(at=NOON + timedelta(microseconds=microseconds), x=[microseconds])
    if convert:
        bench.convert()
    noon = ns(NOON)

    def found(start: int | None, end: int | None) -> list[int]:
        return sorted(bench.rows(start, end)["x"])

    assert found(noon, noon + 2000) == [0, 1]
    assert found(noon + 1, noon + 2001) == [1, 2]
    assert found(noon + 1000, None) == [1, 2]
    assert found(None, noon + 1) == [0]
    assert found(noon + 1, noon + 1000) == []
    assert found(None, None) == [0, 1, 2]


def test_range_far_outside_everything_finds_nothing(bench: Bench) -> None:
    bench.append(x=[1])

    assert bench.rows(-(2**63), 0).height == 0
    assert bench.rows(2**63 - 1, None).height == 0
    assert bench.rows(-(2**63), 2**63 - 1).height == 1


def test_only_files_of_the_range_are_in_the_snapshot(bench: Bench) -> None:
    for hours in range(5):
        bench.append(at=NOON + hours * HOUR, x=[hours])
    bench.convert()

    snapshot = take_snapshot(bench.layout, bench.app, ns(NOON + HOUR), ns(NOON + 3 * HOUR))

    assert len(snapshot.files) == 2
    assert sorted(scan(snapshot).collect()["x"]) == [1, 2]


def test_range_that_begins_within_an_hour_finds_its_file(bench: Bench) -> None:
    bench.append(at=NOON, x=[1])
    bench.append(at=NOON + timedelta(minutes=59, seconds=59), x=[2])
    bench.convert()

    assert bench.rows(ns(NOON + timedelta(minutes=30)), None)["x"].to_list() == [2]


def test_range_filters_the_datasets_own_time(bench: Bench) -> None:
    at = Field("at", ColumnType.TIMESTAMP_NS)
    bench.app = dataset.create("default", "timed", time_column="at", fields=[at])
    times = pl.Series("at", [10, 11, 12], dtype=pl.Int64).cast(pl.Datetime("ns", "UTC"))
    bench.storage.append(bench.app, Batch((at,), (times,), 3), Arrival(NOON))

    before = bench.rows(11, 12)
    bench.convert()
    after = bench.rows(11, 12)

    assert before["at"].cast(pl.Int64).to_list() == after["at"].cast(pl.Int64).to_list() == [11]


def test_other_datasets_in_the_same_segment_are_not_seen(bench: Bench) -> None:
    other = dataset.create("default", "other")
    bench.append(x=[1])
    bench.append(target=other, x=[2])

    before = bench.rows()["x"].to_list()
    bench.convert()

    assert before == bench.rows()["x"].to_list() == [1]
    assert scan(take_snapshot(bench.layout, other)).collect()["x"].to_list() == [2]


def test_snapshot_travels_to_another_process_as_it_is(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    bench.append(x=[2])
    snapshot = take_snapshot(bench.layout, bench.app)

    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


def test_snapshot_shows_its_moment_though_more_was_appended_since(bench: Bench) -> None:
    tails = UnconvertedRows()
    bench.append(x=[1])
    early = take_snapshot(bench.layout, bench.app)
    bench.append(x=[2], y=[True])

    late = take_snapshot(bench.layout, bench.app)

    assert sorted(scan(late, tails).collect()["x"]) == [1, 2]
    assert scan(early, tails).collect()["x"].to_list() == [1]


def test_snapshot_shows_its_moment_though_everything_was_converted_since(bench: Bench) -> None:
    bench.append(x=[1])
    early = take_snapshot(bench.layout, bench.app)

    bench.convert()

    assert scan(early).collect()["x"].to_list() == [1]


def test_growing_tail_is_read_in_pieces_and_gives_the_same_rows(bench: Bench) -> None:
    tails = UnconvertedRows()
    for number in range(50):
        bench.append(**{"x": [number], f"y{number // 20}": [number]})
        snapshot = take_snapshot(bench.layout, bench.app)

        assert sorted(scan(snapshot, tails).collect()["x"]) == list(range(number + 1))
    assert len(tails.read(bench.app.id, snapshot.segments)) < 15


def test_converted_segments_leave_the_tails(bench: Bench) -> None:
    tails = UnconvertedRows()
    bench.append(x=[1])
    scan(take_snapshot(bench.layout, bench.app), tails).collect()
    assert len(tails._segments) == len(tails.index._indexed) == 1

    bench.convert()
    scan(take_snapshot(bench.layout, bench.app), tails)

    assert (tails._segments, tails.index._indexed) == ({}, {})


def test_tail_that_its_owner_cut_back_is_read_again(bench: Bench) -> None:
    """A frame whose sync failed is taken back; a reader that saw it must not keep it."""
    tails = UnconvertedRows()
    bench.append(x=[1])
    bench.append(x=[2])
    assert scan(take_snapshot(bench.layout, bench.app), tails).collect().height == 2
    (staged,) = list_segments(bench.layout.staging)
    with Path(staged.path).open("r+b") as segment:
        segment.truncate(staged.size - 10)

    assert scan(take_snapshot(bench.layout, bench.app), tails).collect()["x"].to_list() == [1]


ENGINES = ("in-memory", "streaming")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("converted", [False, True], ids=["segments", "both"])
def test_of_segments_only_the_columns_that_are_asked_for_are_decoded(
    bench: Bench, converted: bool, engine: Literal["in-memory", "streaming"], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.append(x=[1, 2], y=["a", "b"], z=[1.5, 2.5])
    if converted:
        bench.convert()
    bench.append(x=[3], z=[3.5])
    asked: list[set[str]] = []
    real = UnconvertedRows.read
    monkeypatch.setattr(UnconvertedRows, "read", lambda *given: asked.append(set(given[-1])) or real(*given))
    tails = UnconvertedRows()

    def rows() -> pl.LazyFrame:
        return scan(take_snapshot(bench.layout, bench.app), tails)

    assert rows().filter(pl.col("x") > 1).select("z").collect(engine=engine)["z"].to_list() == [2.5, 3.5]
    assert asked == [{"x", "z"}]
    assert {name for tail in tails._segments.values() for chunk in tail.chunks for name in chunk.rows.columns} == {
        "x",
        "z",
    }
    assert rows().select("y").collect(engine=engine)["y"].to_list() == ["a", "b", None]
    assert rows().select(pl.len()).collect(engine=engine).item() == 3
    assert rows().select(pl.lit(7).alias("seven")).collect(engine=engine).height == 1
    assert rows().select("x", "y", "z").collect(engine=engine).rows() == [(1, "a", 1.5), (2, "b", 2.5), (3, None, 3.5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_conditions_that_are_functions_are_tried_on_segments(
    bench: Bench, engine: Literal["in-memory", "streaming"]
) -> None:
    """Polars cannot write them down, which it does with conditions that reach a source of ours."""
    bench.append(x=[1, 2, 3])
    rows = scan(take_snapshot(bench.layout, bench.app))

    odd = rows.filter(pl.col("x").map_batches(lambda values: values % 2 == 1, return_dtype=pl.Boolean))

    assert odd.collect(engine=engine)["x"].to_list() == [1, 3]
    assert odd.head(1).collect(engine=engine)["x"].to_list() == [1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_segment_that_is_gone_when_the_rows_are_collected_is_told(
    bench: Bench, engine: Literal["in-memory", "streaming"]
) -> None:
    bench.append(x=[1])
    rows = scan(take_snapshot(bench.layout, bench.app))
    (staged,) = list_segments(bench.layout.staging)
    Path(staged.path).unlink()

    with pytest.raises(FileNotFoundError):
        rows.collect(engine=engine)


def test_vanished_file_asks_for_a_new_snapshot(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    snapshot = take_snapshot(bench.layout, bench.app)
    (bench.layout.root / snapshot.files[0].path).unlink()

    with pytest.raises(SnapshotExpired):
        scan(snapshot)


def test_vanished_segment_asks_for_a_new_snapshot_even_if_its_rows_are_known(bench: Bench) -> None:
    tails = UnconvertedRows()
    bench.append(x=[1])
    snapshot = take_snapshot(bench.layout, bench.app)
    scan(snapshot, tails)
    Path(snapshot.segments[0].path).unlink()

    with pytest.raises(SnapshotExpired):
        scan(snapshot, tails)


def test_filter_and_projection_reach_the_parquet_scan(bench: Bench) -> None:
    bench.append(x=[1], y=["a"], z=[True])
    bench.convert()
    bench.append(x=[2.5], w=["b"])
    snapshot = take_snapshot(bench.layout, bench.app, ns(NOON), ns(NOON + HOUR))

    plan = scan(snapshot).filter(pl.col("x") > 1).select("y").explain()

    # No time: all of the file is within the range.
    assert "PROJECT 2/7 COLUMNS" in plan
    parquet = plan[plan.index("Parquet SCAN") : plan.index("PLAN 1")]
    assert 'col("x") > ' in parquet
    assert 'col("p_timestamp")' not in parquet


def test_segment_converted_between_listing_and_manifest_is_not_seen_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """architecture.md section 3, invariant 4."""
    bench.append(x=[1])
    bench.storage.close()

    def stage_then_convert(*_: object) -> object:
        listed = list_segments(bench.layout.staging)
        convert_all(bench.layout)
        return listed

    monkeypatch.setattr("storage.read.listing.list_segments", stage_then_convert)

    assert bench.rows()["x"].to_list() == [1]


def test_segment_deleted_between_listing_and_manifest_asks_for_a_new_snapshot(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is gone with it, so the snapshot takes it for unconverted; its events are in the files already."""
    bench.append(x=[1])
    bench.storage.close()

    def stage_then_remove(*_: object) -> object:
        listed = list_segments(bench.layout.staging)
        convert_all(bench.layout)
        remove_converted(bench.layout, -1)
        return listed

    with monkeypatch.context() as patch:
        patch.setattr("storage.read.listing.list_segments", stage_then_remove)
        with pytest.raises(SnapshotExpired):
            bench.rows()

    assert bench.rows()["x"].to_list() == [1]
