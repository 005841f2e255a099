"""Conversion: everything acknowledged, once, into durable Hive-partitioned Parquet."""

import re
from datetime import timedelta
from pathlib import Path

import polars as pl
import pyarrow
import pytest
from pyarrow import dataset as arrow_dataset
from pyarrow import parquet

from errors import InternalError
from models import dataset, file, segment
from storage.context import Layout
from storage.names import directory
from storage.read.dataset_stats import dataset_stats
from storage.upkeep.conversion import convert_all, remove_converted
from storage.wal.records import HEADER_BYTES, Record, decode, encode
from storage.wal.segments import list_segments
from tests.storage.workbench import NOON, Bench

HOUR = timedelta(hours=1)


def parquet_files(layout: Layout) -> list[str]:
    return sorted(str(path.relative_to(layout.root)) for path in layout.root.rglob("*.parquet"))


def test_events_stand_under_their_dataset_date_and_hour(bench: Bench) -> None:
    for moment in (NOON, NOON + HOUR, NOON + 24 * HOUR):
        bench.append(at=moment, x=[1])

    bench.convert()

    assert [Path(path).parent.as_posix() for path in parquet_files(bench.layout)] == [
        "default/app/date=2026-01-02/hour=12",
        "default/app/date=2026-01-02/hour=13",
        "default/app/date=2026-01-03/hour=12",
    ]


def test_segment_that_cannot_be_converted_does_not_stop_the_others(bench: Bench) -> None:
    """Its checksums are right and its payload is not: a fault of ours, which must stay the only one."""
    bench.append(x=[1])
    damaged = Record(bench.app.id, 1, 0, 0, 0, payload=b"no Arrow stream")
    path = bench.layout.staging / "000.wal"
    path.write_bytes(b"".join(bytes(buffer) for buffer in encode(damaged, "000")))
    bench.seal()

    with pytest.raises(InternalError, match="1 segments cannot be converted, the first is 000"):
        convert_all(bench.layout)

    assert len(file.find(bench.app.id, None, None)) == 1
    assert path.exists()


def test_partition_field_divides_the_hours_of_its_dataset(bench: Bench) -> None:
    """api.md section 3: X-P-Custom-Partition."""
    bench.app = dataset.create("default", "divided", custom_partition="region")
    bench.append(region=["eu/west", "us", None, "us"], x=[1, 2, 3, 4])
    bench.append(x=[5])

    bench.convert()

    assert sorted({Path(path).parent.name for path in parquet_files(bench.layout)}) == [
        "region=__HIVE_DEFAULT_PARTITION__",
        "region=eu%2Fwest",
        "region=us",
    ]
    assert sorted(bench.rows()["x"]) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("values", [[str(n) for n in range(65)], ["x" * 200]], ids=["too many", "too long"])
def test_partition_field_that_would_make_too_many_or_too_long_names_does_not_divide(
    bench: Bench, values: list[object]
) -> None:
    bench.app = dataset.create("default", "divided", custom_partition="region")
    bench.append(region=values)

    bench.convert()

    assert [Path(path).parent.name for path in parquet_files(bench.layout)] == ["hour=12"]


@pytest.fixture
def hive(bench: Bench) -> Path:
    """The directory of a dataset with two hours of two schemas and a type of every kind."""
    bench.append(at=NOON, x=[1], flag=[True], ratio=[0.5])
    bench.convert()
    bench.append(at=NOON + timedelta(hours=1), x=[2], text=["a"])
    bench.convert()
    return bench.layout.root / "default" / "app"


def test_pyarrow_reads_a_dataset_as_hive_partitioned_parquet(hive: Path) -> None:
    first = next(hive.rglob("hour=12/*.parquet"))
    schema = pyarrow.unify_schemas([parquet.read_schema(each) for each in hive.rglob("*.parquet")])
    partitioning = arrow_dataset.partitioning(
        pyarrow.schema([("date", pyarrow.date32()), ("hour", pyarrow.int32())]), flavor="hive"
    )

    found = (
        arrow_dataset.dataset(hive, partitioning=partitioning).replace_schema(schema).to_table(columns=["x", "text"])
    )

    assert sorted(found.to_pylist(), key=lambda row: row["x"]) == [{"x": 1, "text": None}, {"x": 2, "text": "a"}]
    assert parquet.read_schema(first).field("p_timestamp").type == pyarrow.timestamp("us", "UTC")


def test_duckdb_reads_a_dataset_by_the_query_of_the_manual(hive: Path) -> None:
    """docs/storage.md, Reading the files with other programs."""
    duckdb = pytest.importorskip("duckdb")
    manual = (Path(__file__).parents[3] / "docs" / "storage.md").read_text()
    (statement,) = re.findall(r'duckdb -c "(.*)"', manual)

    rows = duckdb.sql(statement.replace("data/default/app", str(hive))).fetchall()

    assert sorted((int(hour), count) for hour, count in rows) == [(12, 1), (13, 1)]


def test_file_is_sorted_by_time_and_the_manifest_knows_it(bench: Bench) -> None:
    for minutes in (30, 10, 20):
        bench.append(at=NOON + timedelta(minutes=minutes), x=[minutes])

    bench.convert()

    (found,) = file.find(bench.app.id, None, None)
    rows = pl.read_parquet(bench.layout.root / found.path)
    noon = int(NOON.timestamp()) * 10**9
    assert rows["x"].to_list() == [10, 20, 30]
    assert (found.tmin - noon, found.tmax - noon) == (600 * 10**9, 1800 * 10**9)
    assert (found.rows, found.bytes, found.level) == (3, (bench.layout.root / found.path).stat().st_size, 0)


def test_segment_with_an_owner_is_left_alone(bench: Bench) -> None:
    """architecture.md section 3, invariant 7."""
    bench.append(x=[1])

    assert convert_all(bench.layout) == 0
    assert parquet_files(bench.layout) == []


def test_segment_is_converted_once(bench: Bench) -> None:
    bench.append(x=[1])

    assert bench.convert() == 1
    assert convert_all(bench.layout) == 0
    assert bench.rows()["x"].to_list() == [1]


def test_rival_that_converts_at_the_same_time_leaves_nothing_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest's primary key decides, whatever locks were believed to be held."""
    bench.append(x=[1])
    bench.convert()
    monkeypatch.setattr(segment, "converted", lambda names: set())

    assert convert_all(bench.layout) == 0
    assert len(parquet_files(bench.layout)) == 1


def test_events_behind_a_damaged_frame_are_saved(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Of a disk that has changed a byte, not of a crash: only what that byte belongs to is lost."""
    for value in (1, 2, 3):
        bench.append(x=[value])
    (staged,) = list_segments(bench.layout.staging)
    content = bytearray(Path(staged.path).read_bytes())
    first, second, _ = decode(bytes(content), staged.name)
    content[first.size + HEADER_BYTES + 10] ^= 1
    Path(staged.path).write_bytes(content)

    assert bench.convert() == 1

    assert sorted(bench.rows()["x"]) == [1, 3]
    assert dataset_stats(bench.layout, bench.app).lifetime_events == 2
    assert f"{second.size} bytes from {first.size} on are damaged; 1 events after them are saved" in caplog.text


def test_torn_tail_is_left_out(bench: Bench) -> None:
    bench.append(x=[1])
    bench.append(x=[2])
    bench.storage.close()
    (staged,) = list_segments(bench.layout.staging)
    with Path(staged.path).open("r+b") as torn:
        torn.truncate(staged.size - 1)

    assert convert_all(bench.layout) == 1
    assert bench.rows()["x"].to_list() == [1]


def test_segment_without_a_whole_frame_is_finished_too(bench: Bench) -> None:
    (bench.layout.staging / "01J.wal").write_bytes(b"garbage")

    assert convert_all(bench.layout) == 1
    assert remove_converted(bench.layout, -1) == 1
    assert list_segments(bench.layout.staging) == []


def test_frames_of_a_deleted_dataset_are_dropped(bench: Bench) -> None:
    other = dataset.create("default", "other")
    bench.append(target=other, x=[1])
    bench.append(x=[2])
    bench.storage.delete("default", "other")

    assert bench.convert() == 1
    assert len(parquet_files(bench.layout)) == 1
    assert bench.rows()["x"].to_list() == [2]


def test_dataset_deleted_during_conversion_gets_no_files(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.append(x=[1])
    real = segment.switch

    def delete_then_switch(*arguments: object) -> object:
        bench.storage.delete("default", "app")
        return real(*arguments)  # type: ignore[arg-type]

    bench.seal()
    monkeypatch.setattr(segment, "switch", delete_then_switch)

    assert convert_all(bench.layout) == 1
    assert parquet_files(bench.layout) == []


def test_converted_segment_stays_until_the_grace_is_over(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()

    assert remove_converted(bench.layout, 3600) == 0
    assert len(list_segments(bench.layout.staging)) == 1
    assert remove_converted(bench.layout, -1) == 1
    assert list_segments(bench.layout.staging) == []
    assert bench.rows()["x"].to_list() == [1]


@pytest.mark.parametrize("text", ["..", ".", "a/b", "staging", "postgres", "%", "ü", "a b"])
def test_directory_names_are_safe_and_unique(text: str) -> None:
    name = directory(text)

    assert "/" not in name
    assert name not in {"..", ".", "staging", "postgres"}
    assert name != text
