"""Files whose columns are of other types than today's are rewritten, and nobody notices but other engines."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from columns import ColumnType, Field
from models import column, dataset, file, outdated_file
from models.base import database as connected
from models.column import Column
from models.file import File
from storage.upkeep.compaction import remove_replaced
from storage.upkeep.rewriting import rewrite
from tests.storage.workbench import NOON, Bench


def types(bench: Bench, name: str) -> list[pl.DataType]:
    """The types that the column has in the live files, by time."""
    found = [pl.read_parquet_schema(bench.layout.root / each.path) for each in live(bench)]
    return [each[name] for each in found if name in each]


def live(bench: Bench) -> list[File]:
    return file.find(bench.app.id, None, None)


@pytest.fixture
def widened(bench: Bench) -> Bench:
    """Two files with integers of a column that a third, with a float, has widened; a fourth lacks the column."""
    for hour, columns in enumerate(({"x": [1, 2**53]}, {"x": [None, -3], "y": [1, 1]}, {"x": [0.5]}, {"y": [2]})):
        bench.append(at=NOON + timedelta(hours=hour), **columns)
        bench.convert()
    return bench


def rewrite_all(bench: Bench) -> int:
    return sum(iter(lambda: rewrite(bench.layout), 0))


def test_files_of_a_widened_column_are_rewritten_exactly(widened: Bench) -> None:
    before = widened.rows().sort("p_timestamp", "x", "y")

    rewrite_all(widened)

    assert types(widened, "x") == [pl.Float64(), pl.Float64(), pl.Float64()]
    assert widened.rows().sort("p_timestamp", "x", "y").equals(before)
    assert widened.rows()["x"].max() == 2.0**53


def test_files_that_are_as_they_should_be_stay(widened: Bench) -> None:
    third, fourth = [each.path for each in live(widened)][2:]

    rewrite_all(widened)

    assert [each.path for each in live(widened)][2:] == [third, fourth]
    assert rewrite(widened.layout) == 0


def test_lag_says_what_waits(widened: Bench) -> None:
    connected.execute_sql("UPDATE dataset SET widened_at = widened_at - interval '1 hour'")
    before = outdated_file.waiting()
    rewrite_all(widened)
    after = outdated_file.waiting()

    assert before.files == 2
    assert before.seconds >= 3600
    assert (after.files, after.seconds) == (0, 0.0)


def test_rewritten_file_keeps_what_the_manifest_said(widened: Bench) -> None:
    before = live(widened)[0]

    rewrite_all(widened)

    after = live(widened)[0]
    assert (after.rows, after.tmin, after.tmax, after.body_bytes, after.level, after.directory) == (
        before.rows,
        before.tmin,
        before.tmax,
        before.body_bytes,
        before.level,
        before.directory,
    )
    assert after.path != before.path
    assert after.widened == 1


def test_replaced_file_stays_for_the_grace(widened: Bench) -> None:
    old = widened.layout.root / live(widened)[0].path

    rewrite_all(widened)
    assert old.exists()
    remove_replaced(widened.layout, 0.0)

    assert not old.exists()


def test_a_second_widening_is_found_too(widened: Bench) -> None:
    rewrite_all(widened)

    widened.append(y=[0.5])
    widened.convert()
    rewrite_all(widened)

    assert set(types(widened, "y")) == {pl.Float64()}


def test_a_file_that_was_on_its_way_while_its_column_widened_is_found(bench: Bench) -> None:
    """Its writer read the schema before, and made it live after."""
    bench.append(x=[1])
    bench.convert()
    bench.append(x=[1.5])
    bench.convert()
    rewrite_all(bench)
    (path, *_) = [each.path for each in live(bench)]
    place = bench.layout.root / path
    pl.read_parquet(place).cast({"x": pl.Int64()}).write_parquet(place)
    connected.execute_sql("UPDATE file SET widened = 0 WHERE path = %s", (path,))

    rewrite_all(bench)

    assert set(types(bench, "x")) == {pl.Float64()}


@pytest.mark.parametrize(("kind", "is_rewritten"), [("ns", True), ("us", False)])
def test_files_of_earlier_versions_are_rewritten_if_they_differ(bench: Bench, kind: str, is_rewritten: bool) -> None:
    column_type = ColumnType.TIMESTAMP_NS if kind == "ns" else ColumnType.TIMESTAMP_US
    bench.app = dataset.create("default", "old", fields=(Field("at", column_type),))
    bench.append(x=[1])
    bench.convert()
    (made,) = live(bench)
    path = Path(bench.layout.root / made.path)
    times = pl.Series("at", [7]).cast(pl.Datetime(kind, "UTC"))  # type: ignore[arg-type]
    pl.read_parquet(path).with_columns(times).write_parquet(path)
    connected.execute_sql(
        "UPDATE file SET format = 0, stats = stats || %s::jsonb WHERE path = %s", ('{"at": [7, 7, 0]}', made.path)
    )

    before = bench.rows()
    rewrite_all(bench)

    (now,) = live(bench)
    assert (now.path != made.path) is is_rewritten
    assert now.format == 1
    assert bench.rows().equals(before)
    assert before["at"].cast(pl.Int64()).to_list() == [7]


def test_files_of_a_dropped_column_are_left_alone(widened: Bench) -> None:
    """The column is in no schema any more, so its type in files is nobody's business."""
    number = next(each.id for each in widened_columns(widened) if each.name == "x")
    widened.storage.drop_column("default", "app", str(number))
    before = [each.path for each in live(widened)]

    rewrite_all(widened)

    assert [each.path for each in live(widened)] == before


def widened_columns(bench: Bench) -> tuple[Column, ...]:
    return column.schema(bench.app.id).columns
