"""Questions for the first rows in the order of time read few files, and no answer ever depends on it."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from columns import ColumnType
from models.column import Column, Schema
from models.file import File
from query.lower.first_by_time import first_by_time
from query.plan.tree import Relation
from query.process import newest_files
from query.process.dataset_view import DatasetView
from query.process.execution import Execution
from query.process.messages import Parse, Source
from query.process.statement_cache import StatementCache
from storage.files.row_range import RowRange
from storage.files.statistics import summarize
from storage.read import unconverted_rows
from storage.read.scan import scan
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.wal.segments import list_segments
from storage.write.committer import Committer, Rows
from tests.query.plan.test_conditions import ask

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
FILES: Final = 12
TYPES: Final = {"p_timestamp": ColumnType.TIMESTAMP_US, "n": ColumnType.INT64, "level": ColumnType.UTF8}
SECOND_NS: Final = 10**9
TIMES: Final = pl.Datetime("us", "UTC")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Twelve files of 20 rows, neighbours of which overlap in time; many rows have the same time."""
    draw, root, files = random.Random(3), tmp_path_factory.mktemp("files"), []
    for number in range(FILES):
        seconds = sorted(draw.randrange(number * 10, number * 10 + 15) for _ in range(20))
        rows = pl.DataFrame(
            {
                "p_timestamp": [START + timedelta(seconds=each) for each in seconds],
                "n": range(number * 20, number * 20 + 20),
                "level": [draw.choice(("info", "info", "error", None)) for _ in range(20)],
            },
            schema_overrides={"p_timestamp": pl.Datetime("us", "UTC")},
        ).with_columns(level=pl.when(pl.col("n") == 21).then(pl.lit("fatal")).otherwise("level"))
        files.append(stored(root, f"{number}.parquet", rows))
    schema = Schema(1, tuple(Column(name, kind) for name, kind in TYPES.items()))
    return Snapshot(str(root), schema, "p_timestamp", None, None, tuple(files), (), frozenset())


def stored(root: Path, name: str, rows: pl.DataFrame) -> File:
    rows.write_parquet(root / name)
    times = rows["p_timestamp"].to_physical() * 1000
    span = int(times.min()), int(times.max())  # type: ignore[arg-type]
    return File(name, 1, *span, rows.height, 1000, stats=summarize(rows))


def without_order(snapshot: Snapshot) -> Snapshot:
    """The same with nothing known of the files' times."""
    first, last = snapshot.files[0].tmin, snapshot.files[-1].tmax
    return replace(snapshot, files=tuple(replace(file, tmin=first, tmax=last) for file in snapshot.files))


@pytest.mark.parametrize("direction", ["DESC", "ASC", "DESC NULLS LAST"])
@pytest.mark.parametrize("condition", ["", "WHERE level = 'error'", "WHERE level = 'fatal'", "WHERE level IS NULL"])
@pytest.mark.parametrize("limit", ["LIMIT 1", "LIMIT 7", "LIMIT 5 OFFSET 9", "LIMIT 500", "LIMIT 0"])
@pytest.mark.parametrize("seconds", [(None, None), (31, 95)], ids=["all", "part"])
def test_no_answer_depends_on_the_order_of_files(
    whole: Snapshot, direction: str, condition: str, limit: str, seconds: tuple[int | None, int | None]
) -> None:
    base = int(START.timestamp()) * SECOND_NS
    start, end = (None if each is None else base + each * SECOND_NS for each in seconds)
    part = whole.within(start, end)
    sql = f"SELECT n, p_timestamp AS at FROM t {condition} ORDER BY at {direction}, n {limit}"

    found, _ = ask(Execution(), sql, Source(part, start, end))

    assert found == ask(Execution(), sql, Source(without_order(part), start, end))[0]


@pytest.mark.parametrize("direction", ["DESC", "ASC"])
@pytest.mark.parametrize("condition", ["", "WHERE level = 'error'", "WHERE level IS NULL"])
@pytest.mark.parametrize("limit", ["LIMIT 1", "LIMIT 3", "LIMIT 1 OFFSET 2", "LIMIT 30"])
@pytest.mark.parametrize("seconds", [(None, None), (31, 95), (31, 44)], ids=["all", "part", "one file"])
@pytest.mark.parametrize("in_order", [True, False])
def test_no_answer_depends_on_a_few_rows_tried_first(
    whole: Snapshot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    direction: str,
    condition: str,
    limit: str,
    seconds: tuple[int | None, int | None],
    in_order: bool,
) -> None:
    """Of a file in any order: the rows that are tried bound the times of the first ones, whichever they are."""
    monkeypatch.setattr(newest_files, "TRIED_ROWS", 5)
    base = int(START.timestamp()) * SECOND_NS
    start, end = (None if each is None else base + each * SECOND_NS for each in seconds)
    part = (whole if in_order else shuffled(whole, tmp_path)).within(start, end)
    sql = f"SELECT n, p_timestamp AS at FROM t {condition} ORDER BY at {direction}, n {limit}"

    found, _ = ask(Execution(), sql, Source(part, start, end))

    monkeypatch.setattr(newest_files, "MOST_ROWS", 0)
    assert found == ask(Execution(), sql, Source(part, start, end))[0]


def shuffled(whole: Snapshot, root: Path) -> Snapshot:
    """The same rows in files, each in another order."""
    for file in whole.files:
        rows = pl.read_parquet(f"{whole.root}/{file.path}")
        rows.sample(fraction=1, shuffle=True, seed=5).write_parquet(root / file.path)
    return replace(whole, root=str(root))


@pytest.mark.parametrize(("direction", "first"), [("DESC", 300_000 - newest_files.TRIED_ROWS), ("ASC", 0)])
def test_a_few_rows_of_a_large_file_tell_from_when_on_it_is_read(
    whole: Snapshot, tmp_path: Path, direction: str, first: int
) -> None:
    times = pl.datetime_range(START, START + timedelta(seconds=299_999), "1s", time_unit="us", eager=True)
    rows = pl.DataFrame({"p_timestamp": times, "n": range(300_000)}).with_columns(level=pl.lit("error"))
    large = replace(whole, root=str(tmp_path), files=(stored(tmp_path, "large.parquet", rows),))
    question = first_by_time(
        bound(f"SELECT * FROM t WHERE level = 'error' ORDER BY p_timestamp {direction} LIMIT 3", large)
    )
    asked: list[Snapshot] = []

    def scanned(part: Snapshot) -> pl.LazyFrame:
        asked.append(part)
        return scan(part)

    assert question is not None
    found = newest_files.narrow(large, question, scanned)

    assert [each.ranges for each in asked] == [{"large.parquet": (RowRange(first, newest_files.TRIED_ROWS),)}]
    assert scan(found).collect().height == 3


def bound(sql: str, snapshot: Snapshot) -> Relation:
    """The statement's plan."""
    view = DatasetView(Source(snapshot, None, None), frozenset(TYPES))
    return StatementCache().prepare(Parse(sql)).bind({"t": view.schema}, START).relation


# What is asked, and the most files that are read for the answer.
QUERIES: Final = {
    "SELECT * FROM t ORDER BY p_timestamp DESC LIMIT 3": 2,
    "SELECT * FROM t ORDER BY p_timestamp LIMIT 3": 2,
    "SELECT * FROM t WHERE level = 'error' ORDER BY p_timestamp DESC LIMIT 3": 2,
    "SELECT n FROM (SELECT n, p_timestamp AS at FROM t WHERE n > 0) q ORDER BY at DESC LIMIT 3": 2,
    # Too rare for the newest files, not ordered by time, failing on some rows, or more than rows of one dataset.
    "SELECT * FROM t WHERE level = 'fatal' ORDER BY p_timestamp DESC LIMIT 3": FILES,
    "SELECT * FROM t ORDER BY n DESC LIMIT 3": FILES,
    "SELECT * FROM t ORDER BY p_timestamp + interval '1 s' DESC LIMIT 3": FILES,
    "SELECT * FROM t WHERE 10 / (n + 1) < 5 ORDER BY p_timestamp DESC LIMIT 3": FILES,
    "SELECT max(n) AS n, p_timestamp FROM t GROUP BY 2 ORDER BY p_timestamp DESC LIMIT 3": FILES,
    "SELECT a.n FROM t a JOIN t b ON a.n = b.n ORDER BY a.p_timestamp DESC LIMIT 3": FILES,
    "SELECT * FROM t ORDER BY p_timestamp DESC FETCH FIRST 3 ROWS WITH TIES": FILES,
    "SELECT * FROM t ORDER BY p_timestamp DESC": FILES,
}


@pytest.mark.parametrize(("sql", "most"), QUERIES.items())
def test_files_that_cannot_have_one_of_the_rows_are_not_read(sql: str, most: int, whole: Snapshot) -> None:
    _, read = ask(Execution(), sql, Source(whole, None, None))

    assert read <= most
    assert most < FILES or read == FILES


def test_readers_under_row_level_security_learn_nothing(whole: Snapshot) -> None:
    """How many files are read would tell how many of the newest rows they may not see."""
    only = frozenset({("level", "error")})
    sql = "SELECT n FROM t ORDER BY p_timestamp DESC, n LIMIT 3"

    found, read = ask(Execution(), sql, Source(whole, None, None, only))

    assert found == ask(Execution(), sql, Source(without_order(whole), None, None, only))[0]
    assert read == FILES


@pytest.fixture
def fresh(whole: Snapshot, tmp_path: Path) -> Snapshot:
    """The same rows and 200 more, of which six files' are not converted: 40 records of one schema, out of order."""
    committer = Committer(tmp_path, flush_seconds=60)
    tables = [pl.read_parquet(f"{whole.root}/{file.path}") for file in whole.files[6:]] * 2
    for number, table in enumerate(pl.concat(tables).sample(fraction=1, shuffle=True, seed=3).iter_slices(6)):
        part = table if number % 3 else table.sort("p_timestamp")
        times = part["p_timestamp"].to_physical() * 1000
        committer.append(Rows(1, part, int(times.min()), int(times.max())))  # type: ignore[arg-type]
    committer.close()
    return replace(whole, files=whole.files[:8], segments=tuple(list_segments(tmp_path)))


@pytest.mark.parametrize("least", [1, 20])
@pytest.mark.parametrize("direction", ["DESC", "ASC"])
@pytest.mark.parametrize("condition", ["", "WHERE level = 'error'", "WHERE level = 'fatal'", "WHERE level IS NULL"])
@pytest.mark.parametrize("limit", ["LIMIT 1", "LIMIT 2 OFFSET 2", "LIMIT 500", "LIMIT 0"])
@pytest.mark.parametrize("seconds", [(None, None), (31, 95)], ids=["all", "part"])
def test_no_answer_depends_on_the_records_tried_first(
    fresh: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    least: int,
    direction: str,
    condition: str,
    limit: str,
    seconds: tuple[int | None, int | None],
) -> None:
    monkeypatch.setattr(newest_files, "LEAST_TRIED", least)
    monkeypatch.setattr(newest_files, "MOST_SHARE", 0.5)
    base = int(START.timestamp()) * SECOND_NS
    start, end = (None if each is None else base + each * SECOND_NS for each in seconds)
    part = fresh.within(start, end)
    sql = f"SELECT n, p_timestamp AS at FROM t {condition} ORDER BY at {direction}, n {limit}"

    found, _ = ask(Execution(), sql, Source(part, start, end))

    monkeypatch.setattr(newest_files, "MOST_ROWS", 0)
    assert found == ask(Execution(), sql, Source(part, start, end))[0]


def test_only_the_newest_records_are_read_for_the_newest_rows(
    whole: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = Committer(tmp_path, flush_seconds=60)
    for hour in range(20):
        times = [START + timedelta(hours=hour, seconds=each) for each in range(50)]
        rows = pl.DataFrame({"p_timestamp": times, "n": range(50)}, schema_overrides={"p_timestamp": TIMES})
        first, last = (int(each.timestamp()) * SECOND_NS for each in (times[0], times[-1]))
        committer.append(Rows(1, rows.with_columns(level=pl.lit("info")), first, last))
    committer.close()
    snapshot = replace(whole, files=(), segments=tuple(list_segments(tmp_path)))
    monkeypatch.setattr(newest_files, "LEAST_TRIED", 1)
    checked: list[int] = []
    real = unconverted_rows.payload_start
    monkeypatch.setattr(unconverted_rows, "payload_start", lambda *where: checked.append(where[1]) or real(*where))

    found, _ = ask(Execution(), "SELECT n FROM t ORDER BY p_timestamp DESC LIMIT 3", Source(snapshot, None, None))

    assert found == ["{'n': 47}", "{'n': 48}", "{'n': 49}"]
    assert len(checked) == 1


def test_headers_tell_nothing_of_a_time_column_that_is_filled_in(fresh: Snapshot) -> None:
    question = first_by_time(bound("SELECT * FROM t ORDER BY p_timestamp DESC LIMIT 1", fresh))
    records = UnconvertedRows().locations(1, fresh.segments)
    late = replace(fresh, times_from="at")

    assert question is not None
    assert newest_files.narrow_records(late, question, scan, records) == late
