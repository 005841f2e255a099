"""The order of rows in files; samples lie together by series, whose hash is right whatever hashes may do."""

from datetime import timedelta

import polars as pl
import pytest

from columns import ColumnType
from errors import InternalError
from models import column, dataset, file
from storage.files import row_order
from storage.files.file_schema import SERIES_HASH
from storage.read.scan import scan, scan_series
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import compact
from tests.storage.workbench import NOON, Bench

SAMPLES = (
    ("up", "b", None, 1),
    ("up", "a", "x", 2),
    ("cpu", "a", None, 3),
    ("up", "a", None, 4),
    ("cpu", "a", None, 0),
)


@pytest.fixture
def samples(bench: Bench) -> Bench:
    bench.app = dataset.create("default", "prom", telemetry_type="metrics")
    return bench


def append(bench: Bench, *rows: tuple[str | None, str | None, str | None, int]) -> None:
    """Samples of metric name, labels `job` and `zone`, and the minute at which they come."""
    for name, job, zone, minute in rows:
        columns = {"metric_name": name, "job": job, "zone": zone, "data_point_value": float(minute)}
        given = {key: [value] for key, value in columns.items() if value is not None}
        bench.append(at=NOON + timedelta(minutes=minute), **given)


def in_file(bench: Bench) -> pl.DataFrame:
    (found,) = file.find(bench.app.id, None, None)
    return pl.read_parquet(bench.layout.root / found.path)


def test_samples_are_sorted_by_metric_labels_and_time(samples: Bench) -> None:
    append(samples, *SAMPLES)

    samples.convert()

    rows = in_file(samples).select("metric_name", "job", "zone", "data_point_value").rows()
    assert rows == [
        ("cpu", "a", None, 0.0),
        ("cpu", "a", None, 3.0),
        ("up", "a", None, 4.0),
        ("up", "a", "x", 2.0),
        ("up", "b", None, 1.0),
    ]


def test_hash_is_that_of_the_series_in_every_file_and_before_there_is_one(samples: Bench) -> None:
    append(samples, *SAMPLES[:3])
    before = _hashes(samples)
    samples.convert()
    converted = _hashes(samples)
    # A label that is new to the dataset changes no other series.
    samples.append(metric_name=["up"], job=["a"], zone=["x"], rack=["9"], data_point_value=[9.0])
    append(samples, *SAMPLES)
    samples.convert()
    after = _hashes(samples)

    assert before == converted
    assert {key: value for key, value in after.items() if key in before} == before
    assert len(set(after.values())) == len(after) == 5


def _hashes(bench: Bench) -> dict[tuple[object, ...], int]:
    rows = scan_series(take_snapshot(bench.layout, bench.app)).collect()
    names = [name for name in ("metric_name", "job", "zone", "rack") if name in rows.columns]
    return {tuple(row[:-1]) + (None,) * (5 - len(row)): row[-1] for row in rows.select(*names, SERIES_HASH).rows()}


def test_merged_files_are_sorted_as_one(samples: Bench) -> None:
    for minute in range(8):
        append(samples, ("up", "b", None, minute), ("up", "a", None, minute))
        samples.convert()

    assert compact(samples.layout) == 8

    rows = in_file(samples)
    assert rows["job"].to_list() == ["a"] * 8 + ["b"] * 8
    assert rows["data_point_value"].to_list() == [*map(float, range(8))] * 2
    assert rows[SERIES_HASH].n_unique() == 2


def test_hash_is_in_no_schema(samples: Bench) -> None:
    append(samples, *SAMPLES)
    samples.convert()

    assert SERIES_HASH not in {each.stored for each in column.schema(samples.app.id).columns}
    assert SERIES_HASH not in scan(take_snapshot(samples.layout, samples.app)).collect_schema()
    (found,) = file.find(samples.app.id, None, None, [SERIES_HASH])
    assert found.stats == {}


def test_labels_that_change_places_are_another_series(samples: Bench) -> None:
    append(samples, ("up", "a", "b", 0), ("up", "b", "a", 0), ("a", "up", "b", 0), ("up", "ab", None, 0))

    samples.convert()

    assert in_file(samples)[SERIES_HASH].n_unique() == 4


@pytest.fixture
def bad_hash(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A hash that is 0 for all series, except with the salts in the list."""
    good: list[int] = []
    real = row_order.series_hash
    monkeypatch.setattr(
        row_order,
        "series_hash",
        lambda columns, salt=0: real(columns, salt) * (salt in good),
    )
    return good


def test_series_of_one_hash_get_others(samples: Bench, bad_hash: list[int]) -> None:
    bad_hash.append(2)
    append(samples, *SAMPLES)

    samples.convert()

    rows = in_file(samples)
    assert rows[SERIES_HASH].n_unique() == 4
    assert rows["metric_name"].is_sorted()


def test_series_that_no_hash_tells_apart_stop_the_conversion(samples: Bench, bad_hash: list[int]) -> None:
    append(samples, *SAMPLES)

    with pytest.raises(InternalError):
        samples.convert()


def test_events_of_other_datasets_are_sorted_by_time(bench: Bench) -> None:
    for minute in (3, 1, 2):
        bench.append(at=NOON + timedelta(minutes=minute), metric_name=["up"], x=[minute])

    bench.convert()

    assert in_file(bench)["x"].to_list() == [1, 2, 3]
    assert SERIES_HASH not in in_file(bench).columns


def test_metrics_without_a_metric_name_are_sorted_by_time(samples: Bench) -> None:
    """JSON events that somebody sends into a metrics dataset."""
    samples.append(at=NOON + timedelta(minutes=1), x=[1])
    samples.append(at=NOON, x=[0])

    samples.convert()

    assert in_file(samples)["x"].to_list() == [0, 1]


def test_attributes_of_every_scalar_type_are_labels() -> None:
    types = {
        "port": ColumnType.INT64,
        "ok": ColumnType.BOOL,
        "tags": ColumnType.LIST_UTF8,
        "data_point_min": ColumnType.FLOAT64,
    }
    schema = column.Schema(
        1, tuple(column.Column(name, kind) for name, kind in {"metric_name": ColumnType.UTF8, **types}.items())
    )

    assert row_order.identity_columns(schema, [*types, "metric_name"]) == {
        "metric_name": "metric_name",
        "ok": "ok",
        "port": "port",
    }
