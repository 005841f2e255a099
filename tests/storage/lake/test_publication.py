"""Tables as PyIceberg and Polars read them, through conversion, compaction, retention and widening."""

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pytest

from columns import POLARS_TYPES, Batch, ColumnType, Field
from models import column, dataset, file, lake
from models.base import database as connected
from storage.lake import publication
from storage.lake.catalog import load
from storage.lake.publication import publish_all, sweep_metadata, tend, withdraw_all
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import compact, remove_replaced
from storage.upkeep.event_times import rewrite_times
from storage.upkeep.rewriting import rewrite
from storage.write.arrival import Arrival
from tests.storage.lake.conftest import GRACE_SECONDS, Publish
from tests.storage.workbench import NOON, Bench

pyiceberg = pytest.importorskip("pyiceberg.table", reason="PyIceberg is not installed")

HOUR = timedelta(hours=1)
NS = 1_000_000_000


def table(bench: Bench) -> Any:
    published = lake.find(bench.app.id)
    assert published is not None
    return pyiceberg.StaticTable.from_metadata(str(bench.layout.root / published.metadata_path))


def rows(bench: Bench, snapshot: int | None = None) -> list[dict[str, Any]]:
    """The table's rows by PyIceberg, the same as by Polars' own reader."""
    by_pyiceberg = table(bench).scan(snapshot_id=snapshot).to_arrow().to_pylist()
    by_polars = pl.scan_iceberg(table(bench), snapshot_id=snapshot, reader_override="native").collect().to_dicts()
    assert Counter(map(repr, by_pyiceberg)) == Counter(map(repr, by_polars))
    return by_pyiceberg


def values(bench: Bench, name: str = "x", snapshot: int | None = None) -> list[Any]:
    return sorted(row[name] for row in rows(bench, snapshot))


def operations(metadata: dict[str, Any]) -> list[str]:
    return [each["summary"]["operation"] for each in metadata["snapshots"]]


def test_every_type_is_read_as_it_was_stored(bench: Bench, publish: Publish) -> None:
    given = {
        ColumnType.BOOL: [True, None],
        ColumnType.INT64: [-(2**63), 5],
        ColumnType.FLOAT64: [0.1, float("inf")],
        ColumnType.UTF8: ["ü" * 40, ""],
        ColumnType.JSON: ['{"a":1}', None],
        ColumnType.DATE: [date(1969, 1, 2), None],
        ColumnType.TIMESTAMP_US: [datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC), None],
        ColumnType.TIMESTAMP_NS: [1_767_323_045_678_901_234, None],
        ColumnType.LIST_BOOL: [[True, None], []],
        ColumnType.LIST_INT64: [[1], None],
        ColumnType.LIST_FLOAT64: [[0.5], [None]],
        ColumnType.LIST_UTF8: [["a", "ü"], None],
    }
    fields = tuple(Field(f"c_{kind.value}", kind) for kind in given)
    series = [pl.Series(f"c_{kind.value}", cells).cast(POLARS_TYPES[kind]) for kind, cells in given.items()]
    bench.storage.append(bench.app, Batch(fields, tuple(series), 2), Arrival(NOON, "192.0.2.1", "curl/8"))
    bench.convert()

    publish()

    expected = [{f"c_{kind.value}": cells[index] for kind, cells in given.items()} for index in range(2)]
    found = [{name: value for name, value in row.items() if name.startswith("c_")} for row in rows(bench)]
    assert found == expected
    assert [row["p_timestamp"] for row in rows(bench)] == [NOON, NOON]


def test_bounds_of_the_metadata_choose_files(bench: Bench, publish: Publish) -> None:
    for hour in range(4):
        bench.append(at=NOON + hour * HOUR, x=[hour], s=[f"{hour}" + "ü" * 50], f=[hour / 2])
        bench.convert()
    publish()
    scan = table(bench).scan

    by_hour = scan(
        row_filter=f"p_timestamp >= '{(NOON + HOUR).isoformat()}' and p_timestamp < '{(NOON + 2 * HOUR).isoformat()}'"
    )
    chosen = [by_hour, scan(row_filter="x = 1"), scan(row_filter="s >= '1ü' and s < '2'"), scan(row_filter="f = 0.5")]

    assert [len(list(each.plan_files())) for each in chosen] == [1, 1, 1, 1]
    assert [each.to_arrow().num_rows for each in chosen] == [1, 1, 1, 1]


def test_each_publication_is_a_snapshot_that_can_be_read_later(bench: Bench, publish: Publish) -> None:
    for number in range(3):
        bench.append(x=[number])
        bench.convert()
        metadata = publish()

    snapshots = [each["snapshot-id"] for each in metadata["snapshots"]]
    assert operations(metadata) == ["append"] * 3
    assert [values(bench, snapshot=each) for each in snapshots] == [[0], [0, 1], [0, 1, 2]]
    assert metadata["current-snapshot-id"] == snapshots[-1]
    assert [each.get("parent-snapshot-id") for each in metadata["snapshots"]] == [None, *snapshots[:-1]]


def test_nothing_new_is_no_snapshot(bench: Bench, publish: Publish) -> None:
    bench.append(x=[1])
    bench.convert()

    assert publish() == publish()


def entries(bench: Bench) -> list[dict[str, Any]]:
    """All entries of the manifests of the current snapshot."""
    return [each.model_dump() if hasattr(each, "model_dump") else each for each in _records(bench)]


def _records(bench: Bench) -> list[dict[str, Any]]:
    found = []
    for each in table(bench).current_snapshot().manifests(table(bench).io):
        path = Path(each.manifest_path.removeprefix("file://"))
        with path.open("rb") as content:
            found += list(fastavro.reader(content))
    return found


def test_compaction_is_a_replace_and_the_others_keep_their_snapshot(bench: Bench, publish: Publish) -> None:
    """Iceberg spec, "Snapshots" and "Manifests": readers that follow the table see each row once."""
    for number in range(8):
        bench.append(x=[number])
        bench.convert()
    first = publish()["current-snapshot-id"]
    bench.append(at=NOON + HOUR, x=[8])
    bench.convert()
    second = publish()["current-snapshot-id"]
    assert compact(bench.layout) == 8

    metadata = publish()

    assert operations(metadata) == ["append", "append", "replace"]
    assert values(bench) == list(range(9))
    found = Counter((each["status"], each["snapshot_id"]) for each in entries(bench))
    last = metadata["current-snapshot-id"]
    assert found == {(1, last): 1, (2, last): 8, (0, second): 1}
    assert values(bench, snapshot=first) == list(range(8))


def appended_rows(bench: Bench, metadata: dict[str, Any]) -> list[int]:
    """What a reader that follows the table gets: the added files of the append snapshots, in their order."""
    io = table(bench).io
    found: list[int] = []
    for snapshot in table(bench).snapshots():
        if snapshot.summary.operation.value != "append":
            continue
        for manifest in snapshot.manifests(io):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in manifest.fetch_manifest_entry(io):
                if entry.status == 1 and entry.snapshot_id == snapshot.snapshot_id:
                    found += pl.read_parquet(entry.data_file.file_path.removeprefix("file://"))["x"].to_list()
    return found


def test_rows_that_were_compacted_before_they_were_published_come_once(bench: Bench, publish: Publish) -> None:
    for number in range(5):
        bench.append(x=[number])
        bench.convert()
    publish()
    for number in range(5, 8):
        bench.append(x=[number])
        bench.convert()
    assert compact(bench.layout) == 8
    metadata = publish()
    # Eight files that nobody has seen become one, which brings its rows itself.
    for number in range(8, 16):
        bench.append(x=[number])
        bench.convert()
    assert compact(bench.layout) == 8
    metadata = publish()

    assert operations(metadata) == ["append", "append", "replace", "append"]
    assert values(bench) == list(range(16))
    assert sorted(appended_rows(bench, metadata)) == list(range(16))


def test_retention_is_a_delete(bench: Bench, publish: Publish) -> None:
    for hour in range(2):
        bench.append(at=NOON + hour * HOUR, x=[hour])
        bench.convert()
    publish()
    file.expire(bench.app.id, int((NOON + HOUR).timestamp()) * 10**9, datetime.now(UTC))

    metadata = publish()

    assert operations(metadata) == ["append", "delete"]
    assert values(bench) == [1]
    assert metadata["snapshots"][-1]["summary"]["total-records"] == "1"


def test_a_widened_column_waits_until_its_files_are_rewritten(bench: Bench, publish: Publish) -> None:
    bench.append(x=[1])
    bench.convert()
    before = publish()
    bench.append(x=[1.5])
    bench.convert()

    waiting = publish()
    assert rewrite(bench.layout) == 1
    after = publish()

    assert waiting == before
    assert values(bench) == [1.0, 1.5]
    assert operations(after) == ["append", "append", "replace"]
    assert [each["schema-id"] for each in after["snapshots"]] == [0, 1, 1]
    assert values(bench, snapshot=before["current-snapshot-id"]) == [1]


def test_files_of_earlier_versions_are_read_by_their_names(bench: Bench, publish: Publish) -> None:
    """Without field ids; also with a column that was dropped since."""
    bench.append(x=[1], tags=[["a"]], gone=["g"])
    bench.convert()
    (made,) = file.find(bench.app.id, None, None)
    place = bench.layout.root / made.path
    pl.read_parquet(place).write_parquet(place)
    connected.execute_sql("UPDATE file SET format = 0")
    number = next(each.id for each in column.schema(bench.app.id).columns if each.name == "gone")
    bench.storage.drop_column("default", "app", str(number))
    rewrite(bench.layout)

    publish()

    assert file.find(bench.app.id, None, None)[0].path == made.path
    (row,) = rows(bench)
    assert (row["x"], row["tags"], "gone" in row) == (1, ["a"], False)


def test_a_dropped_column_leaves_the_table_without_a_new_file(bench: Bench, publish: Publish) -> None:
    bench.append(x=[1], y=[2])
    bench.convert()
    before = publish()
    number = next(each.id for each in column.schema(bench.app.id).columns if each.name == "y")
    bench.storage.drop_column("default", "app", str(number))

    after = publish()

    assert "y" not in rows(bench)[0]
    assert after["current-snapshot-id"] == before["current-snapshot-id"]


def test_odd_names_have_what_files_call_them(bench: Bench, publish: Publish) -> None:
    bench.append(**{"*": [1], "service.name": ["a"], "": [2], "x": [1]})
    bench.convert()

    publish()

    (row,) = rows(bench)
    assert {name: value for name, value in row.items() if not name.startswith("p_")} == {
        "~4": 1,
        "service.name": "a",
        "~6": 2,
        "x": 1,
    }


def test_manifests_are_kept_while_their_hour_is_unchanged(bench: Bench, publish: Publish) -> None:
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    for hours in (0, 1, 2):
        bench.append(at=now - hours * HOUR, x=[hours])
    bench.convert()
    publish()
    before = {each.hours: each.path for each in _manifests(bench)}
    bench.append(at=now, x=[9])
    bench.convert()

    publish()

    after = {each.hours: each.path for each in _manifests(bench)}
    assert len(before) == 3
    assert [hours for hours in after if after[hours] != before[hours]] == [f"{int(now.timestamp()) // 3600}+1"]


def _manifests(bench: Bench) -> list[lake.Manifest]:
    with lake.moment():
        return lake.manifests(bench.app.id)


def test_hours_of_a_day_that_is_past_become_one_manifest(
    bench: Bench, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hour in range(3):
        bench.append(at=NOON + hour * HOUR, x=[hour])
    bench.convert()
    monkeypatch.setattr(publication, "milliseconds", lambda _: int(NOON.timestamp()) * 1000)
    publish()
    monkeypatch.undo()
    assert len(_manifests(bench)) == 3
    bench.append(at=NOON + 48 * HOUR, x=[9])
    bench.convert()

    publish()

    assert sorted(each.hours.partition("+")[2] for each in _manifests(bench)) == ["24", "24"]
    assert values(bench) == [0, 1, 2, 9]


def test_snapshots_are_listed_as_long_as_their_files_are_there(bench: Bench, publish: Publish) -> None:
    for number in range(8):
        bench.append(x=[number])
        bench.convert()
    publish()
    compact(bench.layout)
    publish()
    connected.execute_sql("UPDATE lake_snapshot SET first_removed_at = first_removed_at - interval '1 hour'")
    bench.append(x=[8])
    bench.convert()

    metadata = publish()

    assert operations(metadata) == ["replace", "append"]


def test_metadata_that_nobody_refers_to_is_deleted(bench: Bench, publish: Publish) -> None:
    for number in range(30):
        bench.append(x=[number])
        bench.convert()
        metadata = publish()
    later = datetime.now(UTC) + HOUR

    sweep_metadata(bench.layout, GRACE_SECONDS, now=later)

    left = {path.name for path in (bench.layout.root / "iceberg.tables").rglob("*.*") if path.is_file()}
    assert len(metadata["snapshots"]) == 25
    # The metadata, a list for each snapshot, and as many manifests of the one hour.
    assert len(left) == 1 + 25 + 25
    assert [len(values(bench, snapshot=each["snapshot-id"])) for each in metadata["snapshots"]] == list(range(6, 31))


def test_a_deleted_dataset_leaves_nothing(bench: Bench, publish: Publish) -> None:
    bench.append(x=[1])
    bench.convert()
    publish()
    bench.storage.delete("default", "app")

    publish_all(bench.layout, GRACE_SECONDS)
    sweep_metadata(bench.layout, 0, now=datetime.now(UTC) + HOUR)

    assert [path for path in (bench.layout.root / "iceberg.tables").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("how", ["metadata lost", "another place", "another time"])
def test_a_table_that_is_not_here_begins_anew(bench: Bench, publish: Publish, how: str) -> None:
    """A backup was restored, which has the database and the events' files; or the dataset goes by another time."""
    bench.append(x=[1])
    bench.convert()
    publish()
    if how == "metadata lost":
        found = lake.find(bench.app.id)
        assert found is not None
        (bench.layout.root / found.metadata_path).unlink()
    elif how == "another time":
        connected.execute_sql("UPDATE lake_table SET time_column = 'at'")
    else:
        connected.execute_sql("UPDATE lake_table SET location = 'file:///elsewhere/x'")

    tend(bench.layout)
    metadata = publish()

    assert operations(metadata) == ["append"]
    assert values(bench) == [1]


def test_tables_are_withdrawn(bench: Bench, publish: Publish) -> None:
    bench.append(x=[1])
    bench.convert()
    publish()

    withdraw_all()

    assert lake.find(bench.app.id) is None


def test_a_removed_file_is_remembered_until_its_table_knows(bench: Bench, publish: Publish) -> None:
    for number in range(8):
        bench.append(x=[number])
        bench.convert()
    publish()
    compact(bench.layout)
    later = datetime.now(UTC) + HOUR

    remove_replaced(bench.layout, 0, now=later)
    metadata = publish()
    remove_replaced(bench.layout, 0, now=later)

    assert operations(metadata)[-1] == "replace"
    assert values(bench) == list(range(8))
    assert connected.execute_sql("SELECT count(*) FROM file").fetchone() == (1,)


def test_a_dataset_by_its_own_time_has_no_partitions(bench: Bench, publish: Publish) -> None:
    bench.app = dataset.create("default", "spans", time_column="at")
    times = pl.Series("at", [1_767_323_045_678_901_234]).cast(pl.Datetime("ns", "UTC"))
    batch = Batch((Field("at", ColumnType.TIMESTAMP_NS),), (times,), 1)
    bench.storage.append(bench.app, batch, Arrival(NOON, "192.0.2.1", "curl/8"))
    bench.convert()

    metadata = publish()

    assert metadata["partition-specs"] == [{"spec-id": 0, "fields": []}]
    assert values(bench, "at") == [1_767_323_045_678_901_234]


def test_a_dataset_that_gets_its_own_time_waits_until_every_row_has_one(bench: Bench, publish: Publish) -> None:
    """The old table is withdrawn: its partitions are of another time. A file without times would read as NULL."""
    bench.append(created=["2025-05-05T10:00:00Z"], n=[1])
    bench.convert()
    bench.append(created=["2025-06-06T10:00:00Z"], n=[2])
    before = publish()
    bench.storage.set_event_time("default", "app", "created")
    bench.app = bench.storage.find("default", "app")
    assert not lake.is_current(bench.app.id)
    bench.convert()

    publish_all(bench.layout, GRACE_SECONDS)
    assert lake.find(bench.app.id) is None
    assert load(bench.layout, bench.app, NOON) is None

    assert rewrite_times(bench.layout) == 1
    after = publish()
    assert (before["partition-specs"] == after["partition-specs"], after["partition-specs"][0]["fields"]) == (False, [])
    answered = scan(take_snapshot(bench.layout, bench.app)).select(bench.app.time_stored, "n").collect()
    assert sorted((row["n"], row["created"]) for row in rows(bench)) == [
        (n, at.timestamp() * NS) for at, n in answered.iter_rows()
    ]


def test_publication_that_dies_before_its_commit_leaves_the_table_as_it_was(
    bench: Bench, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.append(x=[1])
    bench.convert()
    before = publish()
    bench.append(x=[2])
    bench.convert()

    def die(_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(publication.lake, "commit", die)
        with pytest.raises(OSError, match="killed"):
            publish_all(bench.layout, GRACE_SECONDS)
    found = lake.find(bench.app.id)
    assert found is not None
    assert json.loads(found.metadata) == before
    written = len(list((bench.layout.root / "iceberg.tables").rglob("*.avro")))

    assert sweep_metadata(bench.layout, 0, now=datetime.now(UTC) + HOUR) > 0

    assert len(list((bench.layout.root / "iceberg.tables").rglob("*.avro"))) < written
    assert values(bench) == [1]
    publish()
    assert values(bench) == [1, 2]
