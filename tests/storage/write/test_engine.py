"""From a batch to durable rows: schema, arrival columns, caches, rivals."""

import multiprocessing
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from peewee import OperationalError

from columns import Batch, ColumnType, Field
from errors import DatasetNotFound, InvalidEvent, StorageUnavailable, TooManyColumns
from models import base, column, dataset
from models.column import Limits
from models.dataset import Dataset
from storage.context import Layout
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import NOON, Bench, batch_of


def test_rows_come_back_in_order_with_the_arrival_columns_around_them(bench: Bench) -> None:
    """api.md section 4: added to every row."""
    arrival = Arrival(NOON, "192.0.2.1", "curl/8", {"p_env": "prod"})

    bench.storage.append(bench.app, batch_of(b=[1, 2], a=["x", None]), arrival)

    assert bench.rows().rows(named=True) == [
        {"p_timestamp": NOON, "b": 1, "a": "x", "p_src_ip": "192.0.2.1", "p_user_agent": "curl/8", "p_env": "prod"},
        {"p_timestamp": NOON, "b": 2, "a": None, "p_src_ip": "192.0.2.1", "p_user_agent": "curl/8", "p_env": "prod"},
    ]


def test_empty_events_are_rows(bench: Bench) -> None:
    bench.storage.append(bench.app, Batch((), (), 3), Arrival(NOON))

    assert bench.rows()["p_timestamp"].to_list() == [NOON] * 3


def test_batch_without_events_stores_nothing(bench: Bench) -> None:
    bench.storage.append(bench.app, Batch((), (), 0), Arrival(NOON))

    assert bench.rows().height == 0


def test_field_named_like_an_arrival_column_moves_aside(bench: Bench) -> None:
    bench.append(p_src_ip=["mine"], p_src_ip_utf8=["mine too"])

    (row,) = bench.rows().rows(named=True)
    assert (row["p_src_ip"], row["p_src_ip_utf8"], row["p_src_ip_utf8_utf8"]) == ("192.0.2.1", "mine too", "mine")


def test_types_that_change_from_batch_to_batch_lose_nothing(bench: Bench) -> None:
    for value in (1, "text", 1.5, 2**60, True):
        bench.append(x=[value])

    rows = bench.rows()

    assert rows["x"].to_list() == [1.0, None, 1.5, None, None]
    assert rows["x_utf8"].to_list() == [None, "text", None, None, None]
    assert rows["x_int64"].to_list() == [None, None, None, 2**60, None]
    assert rows["x_bool"].to_list() == [None, None, None, None, True]


def test_too_many_columns_stores_nothing(bench: Bench) -> None:
    bench.storage._limits = Limits(columns=4)

    with pytest.raises(TooManyColumns):
        bench.append(a=[1], b=[2])

    assert bench.rows().height == 0
    assert "a" not in bench.rows().columns


def test_known_shape_does_not_ask_the_database(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """architecture.md section 2: no database on the data path."""
    bench.append(x=[1])
    bench.storage.find("default", "app")
    with monkeypatch.context() as patch:
        patch.setattr(base.database.obj, "execute_sql", lambda *_: pytest.fail("asked"))

        bench.append(target=bench.storage.find("default", "app"), x=[2])

    assert bench.rows()["x"].to_list() == [1, 2]


def test_worker_that_missed_a_widening_still_stores_right(bench: Bench, tmp_path: Path) -> None:
    other = Storage(Layout(tmp_path))
    bench.append(x=[1])
    other.append(bench.app, batch_of(x=[2]), Arrival(NOON))

    bench.append(x=[1.5])
    other.append(bench.app, batch_of(x=[3, 2**60]), Arrival(NOON))
    other.close()

    rows = bench.rows()
    assert sorted(rows["x"].drop_nulls()) == [1.0, 1.5, 2.0, 3.0]
    assert rows["x_int64"].drop_nulls().to_list() == [2**60]


def test_worker_that_missed_large_integers_puts_floats_beside_them(bench: Bench, tmp_path: Path) -> None:
    other = Storage(Layout(tmp_path))
    other.append(bench.app, batch_of(x=[1]), Arrival(NOON))

    bench.append(x=[2**60])
    other.append(bench.app, batch_of(x=[1.5]), Arrival(NOON))
    other.close()

    rows = bench.rows()
    assert sorted(rows["x"].drop_nulls()) == [1, 2**60]
    assert rows["x_float64"].drop_nulls().to_list() == [1.5]


def test_dataset_is_found_without_the_database_until_it_is_deleted_by_anybody(bench: Bench, tmp_path: Path) -> None:
    other = Storage(Layout(tmp_path))
    assert other.find("default", "app") is other.find("default", "app")

    bench.storage.delete("default", "app")

    with pytest.raises(DatasetNotFound):
        other.find("default", "app")
    other.close()


def test_dataset_is_trusted_by_nobody_from_the_commit_of_its_deletion_on(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took events for it between commit and answer would acknowledge what is never seen."""
    other = Storage(Layout(tmp_path))
    other.find("default", "app")
    delete = dataset.delete

    def look_after_the_commit(tenant: str, name: str) -> Dataset:
        deleted = delete(tenant, name)
        with pytest.raises(DatasetNotFound):
            other.find("default", "app")
        return deleted

    monkeypatch.setattr("storage.write.engine.dataset.delete", look_after_the_commit)
    bench.storage.delete("default", "app")
    other.close()


def test_recreated_dataset_does_not_get_events_of_the_deleted_one(bench: Bench, tmp_path: Path) -> None:
    other = Storage(Layout(tmp_path))
    other.append(other.find("default", "app"), batch_of(x=[1]), Arrival(NOON))

    bench.storage.delete("default", "app")
    bench.app = dataset.create("default", "app")
    other.append(other.find("default", "app"), batch_of(y=[2]), Arrival(NOON))
    other.close()

    assert bench.rows()["y"].to_list() == [2]
    assert "x" not in bench.rows().columns


def test_storage_is_ready_only_with_its_directory_and_database(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.storage.check_ready()

    with monkeypatch.context() as patch:
        patch.setattr("storage.write.engine.os.access", lambda *_: False)
        with pytest.raises(StorageUnavailable, match="staging"):
            bench.storage.check_ready()
    base.database.execute_sql("SELECT 1")
    monkeypatch.setattr(base.database.obj, "execute_sql", _away)
    with pytest.raises(StorageUnavailable, match="database"):
        bench.storage.check_ready()


def _away(*_: object) -> None:
    raise OperationalError("away")


def test_event_without_the_datasets_time_is_refused_with_its_index(bench: Bench) -> None:
    """api.md section 5: the range filter uses the field given by X-P-Time-Partition."""
    at = Field("at", ColumnType.TIMESTAMP_US)
    timed = dataset.create("default", "timed", time_column="at", fields=[at])
    times = pl.Series("at", [NOON, None], dtype=pl.Datetime("us", "UTC"))

    with pytest.raises(InvalidEvent) as raised:
        bench.storage.append(timed, Batch((at,), (times,), 2), Arrival(NOON))

    assert raised.value.details == {"index": 1}


def _append_many(url: str, root: Path, name: str, dataset_id: int) -> None:
    base.bind(url)
    storage = Storage(Layout(root))
    app = storage.find("default", "app")
    assert app.id == dataset_id
    for number in range(40):
        values: list[object] = [number, number + 0.5, 2**55 + number, str(number)]
        storage.append(app, batch_of(**{f"c{number // 4}": [values[(number + len(name)) % 4]]}), Arrival(NOON))
    storage.close()


def test_two_workers_that_race_for_types_store_every_value(bench: Bench, database_url: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    arguments = [(database_url, tmp_path, name, bench.app.id) for name in ("a", "bb")]
    workers = [context.Process(target=_append_many, args=each) for each in arguments]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    rows = bench.rows()
    values = [value for row in rows.rows() for value in row[1:-2] if value is not None]
    assert [worker.exitcode for worker in workers] == [0, 0]
    expected = [[n, n + 0.5, 2**55 + n, str(n)][(n + k) % 4] for n in range(40) for k in (1, 2)]
    assert Counter(values) == Counter(expected)
    assert set(column.schema(bench.app.id).by_name) == set(rows.columns)
