"""Parquet files in an S3 bucket: the same promises, with a store that may be away."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from errors import StorageUnavailable
from models import dataset, file
from models.dataset import Retention
from storage.files import store
from storage.files.store import open_store
from storage.read.dataset_stats import dataset_stats
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import FAN_IN, compact, remove_replaced
from storage.upkeep.conversion import convert_all
from storage.upkeep.retention import expire_all
from storage.upkeep.sweep import sweep
from tests.buckets import Server
from tests.running import free_port
from tests.storage.workbench import NOON, Bench


@pytest.fixture
def bench(tmp_path: Path, database: None, bucket: str) -> Iterator[Bench]:
    made = Bench(tmp_path, bucket)
    yield made
    made.storage.close()


def objects(bench: Bench) -> list[str]:
    return sorted(path for portion in open_store(bench.layout).older(NOON + timedelta(days=9999)) for path in portion)


def test_converted_events_are_objects_and_nothing_is_left_on_the_disk(bench: Bench) -> None:
    bench.append(x=[1, 2])
    bench.convert()
    bench.append(x=[3])

    (path,) = objects(bench)
    assert path.startswith("default/app/date=2026-01-02/hour=12/")
    assert list(bench.layout.root.rglob("*.parquet")) == list(bench.layout.root.rglob("*.new")) == []
    assert sorted(bench.rows()["x"]) == [1, 2, 3]
    assert dataset_stats(bench.layout, bench.app).events == 3


def test_schemas_and_ranges_are_those_of_the_local_store(bench: Bench) -> None:
    for hours, value in enumerate((1, 2.5, "text")):
        bench.append(at=NOON + timedelta(hours=hours), x=[value])
        bench.convert()
    start = int((NOON + timedelta(hours=1)).timestamp()) * 10**9

    rows = bench.rows(start, None).sort("p_timestamp")

    assert rows.select("x", "x_utf8").rows() == [(2.5, None), (None, "text")]


def test_compaction_replaces_objects(bench: Bench) -> None:
    for number in range(FAN_IN):
        bench.append(x=[number])
        bench.convert()

    assert compact(bench.layout) == FAN_IN
    assert remove_replaced(bench.layout, -1) == FAN_IN

    assert objects(bench) == [take_snapshot(bench.layout, bench.app).files[0].path]
    assert sorted(bench.rows()["x"]) == list(range(FAN_IN))


def test_retention_and_sweep_remove_objects(bench: Bench) -> None:
    dataset.set_retention(bench.app.id, Retention(1))
    bench.append(x=[1])
    bench.convert()
    unfinished = bench.layout.root / "orphan"
    unfinished.write_bytes(b"orphan")
    open_store(bench.layout).publish(unfinished, "default/app/orphan.parquet")

    assert sweep(bench.layout, -60) == 1
    assert len(objects(bench)) == 1
    assert expire_all(NOON + timedelta(days=2)) == 1
    assert remove_replaced(bench.layout, -1, now=NOON + timedelta(days=3)) == 1
    assert objects(bench) == []


def test_store_that_is_away_delays_conversion_and_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    """The events stay in their segment, where queries find them."""
    bench.append(x=[1])
    bench.seal()
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
        patch.setattr(store, "RETRIES", 0)
        store._client.cache_clear()
        with pytest.raises(StorageUnavailable, match="object store: storing"):
            convert_all(bench.layout)
    store._client.cache_clear()

    assert bench.rows()["x"].to_list() == [1]
    assert file.find(bench.app.id, None, None) == []
    assert list(bench.layout.root.rglob("*.new")) == []
    assert convert_all(bench.layout) == 1
    assert bench.rows()["x"].to_list() == [1]


def test_bucket_that_does_not_exist_is_told_as_such(bench: Bench) -> None:
    missing = store.ObjectStore("s3://no-such-bucket/x", bench.layout.staging)
    unfinished = bench.layout.root / "file"
    unfinished.write_bytes(b"x")

    with pytest.raises(StorageUnavailable, match="no-such-bucket"):
        missing.publish(unfinished, "default/app/date=2026-01-01/hour=00/a.parquet")


def test_file_that_is_gone_fails_the_query_by_name(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()
    open_store(bench.layout).remove(objects(bench))

    with pytest.raises(FileNotFoundError):
        bench.rows()
