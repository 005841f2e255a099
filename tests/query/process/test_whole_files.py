"""What the manifest knows of whole files is not read, and no answer ever depends on it."""

import itertools
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from columns import ColumnType, Field
from models import dataset
from models.values.column import Column, Schema
from models.values.dataset import Dataset
from models.values.file import Bounds, File
from query.process import whole_files
from query.process.execution import Execution
from query.process.messages import Source
from query.process.whole_files import KnownParts
from storage.files.statistics import summarize
from storage.read.snapshot import Snapshot, take_snapshot
from storage.times import to_us
from tests.query.plan.test_conditions import ask
from tests.storage.workbench import NOON, Bench

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
FILES: Final = 12
MINUTE_NS: Final = 60 * 10**9
START_NS: Final = to_us(START) * 1000
TYPES: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "at": ColumnType.TIMESTAMP_NS,
    "n": ColumnType.INT64,
    "wide": ColumnType.FLOAT64,
    "x": ColumnType.FLOAT64,
    "zero": ColumnType.FLOAT64,
    "t": ColumnType.UTF8,
    "b": ColumnType.BOOL,
    "d": ColumnType.DATE,
    "late": ColumnType.INT64,
    "doc": ColumnType.JSON,
    "list": ColumnType.LIST_INT64,
}


def events(number: int) -> pl.DataFrame:
    """Fifteen rows of twenty minutes, which may overlap those of the next file; some files lack a column."""
    draw = random.Random(number)
    minutes = sorted(number * 20 + draw.randrange(25 if number % 4 == 0 else 20) for _ in range(15))
    letter = chr(97 + number)
    rows = pl.DataFrame(
        {
            "p_timestamp": [START + timedelta(minutes=each) for each in minutes],
            "at": [START + timedelta(minutes=each, microseconds=draw.randrange(10)) for each in minutes],
            "n": [None if number == 2 else draw.randrange(-9, 9) * 2**56 for _ in minutes],
            "wide": [2**53 + 1 if number == 1 else draw.randrange(9) + 1 for _ in minutes],
            "x": [draw.choice((None, draw.random(), {3: math.nan, 4: -math.inf}.get(number, 0.5))) for _ in minutes],
            "zero": [draw.choice((-0.0 if number == 5 else 1.5, 1e22)) for _ in minutes],
            "t": [
                None
                if draw.random() < 0.3
                else draw.choice((letter * 33, "z") if number == 10 else [letter * each for each in (1, 31, 32, 33)])
                for _ in minutes
            ],
            "b": [draw.random() < 0.5 for _ in minutes],
            "d": [date(2026, 1, 1 + draw.randrange(20)) for _ in minutes],
            "doc": [draw.choice((None, '{"k": 1}')) for _ in minutes],
            "list": [draw.choice((None, [], [1])) for _ in minutes],
        },
        schema_overrides={
            "p_timestamp": pl.Datetime("us", "UTC"),
            "at": pl.Datetime("ns", "UTC"),
            "n": pl.Int64,
            "x": pl.Float64,
            "wide": pl.Int64 if number < 4 else pl.Float64,
        },
    )
    return rows if number < 6 else rows.with_columns(late=pl.col("n") // 2**50)


def kept(stats: dict[str, Bounds]) -> dict[str, Bounds]:
    """The statistics as jsonb gives them back: it has no negative zero, and no exponents."""
    found: dict[str, Bounds] = json.loads(json.dumps(stats), parse_float=_of_numeric)
    return found


def _of_numeric(text: str) -> float | int:
    number = Decimal(text) + 0
    return float(number) if "." in f"{number:f}" else int(number)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Twelve files; of one the statistics are missing, as far as they may be."""
    root, files = tmp_path_factory.mktemp("files"), []
    for number in range(FILES):
        rows = events(number)
        rows.write_parquet(root / f"{number}.parquet")
        times = rows["p_timestamp"].to_physical() * 1000
        span = int(times.min()), int(times.max())  # type: ignore[arg-type]
        stats = {} if number == 7 else summarize(rows)
        files.append(File(f"{number}.parquet", 1, *span, rows.height, 1000, stats=kept(stats)))
    schema = Schema(1, tuple(Column(name, kind) for name, kind in TYPES.items()))
    return Snapshot(str(root), schema, "p_timestamp", None, None, tuple(files), (), frozenset(TYPES))


@pytest.fixture
def unknowing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks as if the manifest knew nothing."""

    def asked(sql: str, source: Source) -> tuple[Any, int]:
        with monkeypatch.context() as patch:
            patch.setattr(whole_files, "known_parts", lambda query, views, _: KnownParts(query, dict(views), {}))
            return ask(Execution(), sql, source)

    return asked


KEYS: Final = [
    "date_trunc('hour', p_timestamp)",
    "date_trunc('day', p_timestamp)",
    "date_bin('20 minutes', p_timestamp, TIMESTAMPTZ '2026-01-01')",
    "date_bin('1 hour', p_timestamp, TIMESTAMP '2025-12-31 23:40')",
    "date_trunc('hour', p_timestamp AT TIME ZONE 'UTC')",
    "p_timestamp::date",
    "floor(extract(epoch FROM p_timestamp) / 1200) * 1200",
    "to_timestamp(floor(extract(epoch FROM p_timestamp) / 3600) * 3600)",
    "date_trunc('hour', p_timestamp, 'Europe/Berlin')",
    "date_trunc('hour', at)",
    "p_timestamp + interval '1 month'",
    "extract(minute FROM p_timestamp)",
    "b",
    "'all'",
]
CALLS: Final = [
    "count(*)",
    "count(1), min(p_timestamp), max(p_timestamp)",
    *(f"min({name}), max({name}), count({name})" for name in ("n", "wide", "x", "t", "d", "at", "late")),
    "min(zero), max(zero), count(zero)",
    "count(doc), count(list), count(b)",
    "count(NULL::text), count(*)",
    "count(DISTINCT n), max(n)",
    "count(*) FILTER (WHERE b)",
    "sum(n / 1000000), max(n)",
]
KEYED: Final = "count(*), max(d), min(n), min(t), max(t), max(x)"
CONDITIONS: Final = [
    "",
    "WHERE p_timestamp >= '2026-01-01T00:40:00Z' AND p_timestamp < '2026-01-01T02:00:00Z'",
    "WHERE p_timestamp BETWEEN '2026-01-01T00:20:00Z' AND DATE '2026-01-02'",
    "WHERE date_trunc('hour', p_timestamp) = '2026-01-01T01:00:00Z'",
    "WHERE p_timestamp <> '2026-01-01T00:40:00Z'",
    "WHERE p_timestamp > NULL",
    "WHERE b",
]


@pytest.mark.parametrize("minutes", [(None, None), (20, 200), (7, 133)], ids=["all", "aligned", "edges"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_answer_depends_on_the_manifest(
    whole: Snapshot, unknowing: Any, condition: str, minutes: tuple[int | None, int | None]
) -> None:
    start, end = (None if each is None else START_NS + each * MINUTE_NS for each in minutes)
    source, execution, spared = Source(whole.within(start, end), start, end), Execution(), 0
    keyed = (f"SELECT {key} AS k, {KEYED} FROM t {condition} GROUP BY 1" for key in KEYS)
    for sql in itertools.chain((f"SELECT {calls} FROM t {condition}" for calls in CALLS), keyed):
        found, read = ask(execution, sql, source)
        expected, every = unknowing(sql, source)
        assert found == expected, sql
        spared += every - read
    assert (spared > 0) == (condition not in ("WHERE b", "WHERE p_timestamp > NULL") and "<>" not in condition)


# What is asked, and how many of the twelve files are read for it.
QUERIES: Final = {
    "SELECT count(*) FROM t": 0,
    "SELECT min(p_timestamp), max(p_timestamp) FROM t": 0,
    "SELECT date_trunc('day', p_timestamp), count(*) FROM t GROUP BY 1": 0,
    # One file has rows of two hours.
    "SELECT date_trunc('hour', p_timestamp) AS h, count(*) FROM t GROUP BY h HAVING count(*) > 1 ORDER BY 2 LIMIT 3": 1,
    "SELECT q.m FROM (SELECT p_timestamp AS m FROM (SELECT * FROM t) AS r) AS q GROUP BY 1": FILES,
    "SELECT count(s.c) FROM (SELECT p_timestamp AS c, n FROM t) AS s": 0,
    "WITH q AS (SELECT * FROM t) SELECT count(*) FROM q": 0,
    "SELECT (SELECT count(*) FROM t) + 1": 0,
    # Of one file the statistics are missing.
    "SELECT max(d) FROM t": 1,
    "SELECT count(b) FROM t": 1,
    # The manifest knows nothing of what is computed, or only parts of the rows.
    "SELECT count(*), max(b::int) FROM t": FILES,
    "SELECT count(*) FROM t WHERE n % 7 = 3": FILES,
    "SELECT count(*) FROM t a JOIN t b ON a.n = b.n": FILES,
    "WITH q AS (SELECT * FROM t) SELECT (SELECT count(*) FROM q), (SELECT count(*) FROM q WHERE n > 0)": FILES,
    "SELECT date_trunc('hour', p_timestamp), count(*) FROM t GROUP BY ROLLUP (1)": FILES,
    "SELECT count(*) FROM (SELECT * FROM t LIMIT 3) AS q": FILES,
    "SELECT count(*) FROM (SELECT DISTINCT d FROM t) AS q": FILES,
}


@pytest.mark.parametrize(("sql", "files"), QUERIES.items())
def test_files_are_read_only_where_the_manifest_does_not_know(
    sql: str, files: int, whole: Snapshot, unknowing: Any
) -> None:
    found, read = ask(Execution(), sql, Source(whole, None, None))

    assert read == files
    assert found == unknowing(sql, Source(whole, None, None))[0]


def test_only_edges_of_the_range_are_read(whole: Snapshot) -> None:
    start, end = START_NS + 30 * MINUTE_NS, START_NS + 170 * MINUTE_NS

    _, read = ask(Execution(), "SELECT count(*) FROM t", Source(whole.within(start, end), start, end))

    assert read == 2


def test_columns_whose_statistics_were_not_asked_for_are_read(whole: Snapshot, unknowing: Any) -> None:
    source = Source(replace(whole, columns=frozenset({"d"})), None, None)

    found, read = ask(Execution(), "SELECT max(n), max(d) FROM t", source)

    assert (found, read) == unknowing("SELECT max(n), max(d) FROM t", source)


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM t", "SELECT p_timestamp::date, max(d) FROM t GROUP BY 1"])
def test_readers_under_row_level_security_learn_nothing(whole: Snapshot, unknowing: Any, sql: str) -> None:
    source = Source(whole, None, None, frozenset({("b", "true")}))

    found, read = ask(Execution(), sql, source)

    assert (found, read) == unknowing(sql, source)
    assert read == FILES


def test_explain_tells_which_files_the_manifest_answers_for(whole: Snapshot) -> None:
    found, _ = ask(Execution(), "EXPLAIN SELECT max(d) FROM t", Source(whole, None, None))

    assert any("Dataset t: 1 of 12 files, 1000 bytes, 11 files answered by the manifest" in line for line in found)


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.storage.close()


COUNTED: Final = "SELECT date_trunc('hour', {time}) AS h, count(*), min(x), max(x), max({time}) FROM t GROUP BY 1"


def answers(bench: Bench, unknowing: Any, target: Dataset, time: str) -> tuple[Any, int]:
    """The counts per hour, which are the same with the manifest and without."""
    sql = COUNTED.format(time=time)
    source = Source(take_snapshot(bench.layout, target, columns=["x", time]), None, None)
    found, read = ask(Execution(), sql, source)
    assert found == unknowing(sql, source)[0]
    return found, read


def test_unconverted_rows_and_late_ones_are_counted(bench: Bench, unknowing: Any) -> None:
    bench.append(x=[1, 2])
    bench.append(at=NOON + timedelta(hours=1), x=[5])
    bench.convert()
    bench.append(at=NOON + timedelta(minutes=1), x=[-7])
    first, read = answers(bench, unknowing, bench.app, "p_timestamp")
    bench.convert()
    bench.append(at=NOON - timedelta(hours=3), x=[9])
    second, again = answers(bench, unknowing, bench.app, "p_timestamp")

    assert (len(first), len(second), read, again) == (2, 3, 1, 1)


def test_event_times_count_and_not_those_of_arrival(bench: Bench, unknowing: Any) -> None:
    target = dataset.create("default", "timed", time_column="ts", fields=[Field("x", ColumnType.INT64)])
    times = [NOON - timedelta(hours=each) for each in (0, 30, 2)]
    bench.append(target=target, ts=times, x=[1, 2, 3])
    bench.convert()

    found, read = answers(bench, unknowing, target, "ts")

    assert (len(found), read) == (3, 0)


def test_an_empty_dataset_has_no_rows_and_no_extremes(bench: Bench, unknowing: Any) -> None:
    bench.append(x=[1])
    bench.convert()
    source = Source(take_snapshot(bench.layout, bench.app, 0, 1, columns=["x"]), 0, 1)

    assert ask(Execution(), "SELECT count(*) AS n, max(x) AS m FROM t", source)[0] == ["{'n': 0, 'm': None}"]


ROW_GROUP_ROWS: Final = 500
SPACED: Final = 4_500
ABOUT_TIMES: Final = [
    "SELECT count(*) FROM t",
    "SELECT count(p_timestamp), min({time}), max({time}) FROM t",
    "SELECT {time}::date AS d, count(*), max({time}) FROM t GROUP BY 1",
    "SELECT date_bin('7 minutes', {time}, TIMESTAMPTZ '2026-01-01') AS b, count(*) FROM t GROUP BY 1",
    "SELECT count(*) FROM t WHERE {time} >= '2026-01-02T12:20:00.5Z' AND {time} < '2026-01-02T12:50:00Z'",
    "SELECT count(*), max(x) FROM t",
    "SELECT count(*) FROM t WHERE x > 1000",
]


@pytest.fixture
def spaced(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Files of nine row groups and an index, of an hour each, and rows that are not converted."""
    monkeypatch.setattr("storage.files.parquet.ROW_GROUP_ROWS", ROW_GROUP_ROWS)
    fields = [Field("x", ColumnType.INT64), Field("t", ColumnType.UTF8)]
    target = dataset.create("default", "spaced", time_column="ts", fields=fields)
    for hour in range(3):
        times = [NOON + timedelta(hours=hour, milliseconds=700 * each) for each in range(SPACED)]
        # The order of arrival is another one.
        random.Random(hour).shuffle(times)
        bench.append(target=target, ts=times, x=list(range(SPACED)), t=[f"{each:032x}" for each in range(SPACED)])
        bench.convert()
    bench.append(target=target, ts=[NOON + timedelta(minutes=5)], x=[-1], t=["late"])
    return target


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 180), (7, 133), (7, 9), (0.01, 60), (59.9, 60.1), (52.4, 52.5), (-5, 1), (None, 61), (61, None)],
)
def test_no_answer_depends_on_row_groups(
    bench: Bench, spaced: Dataset, unknowing: Any, start: float | None, end: float | None
) -> None:
    """Asked twice, since small files are kept decoded from the second time on."""
    noon = to_us(NOON) * 1000
    bounds = [None if each is None else noon + int(each * MINUTE_NS) for each in (start, end)]
    source = Source(take_snapshot(bench.layout, spaced, *bounds, columns=["x", "ts"]), *bounds)
    execution = Execution()
    statements = [sql.format(time="ts") for sql in ABOUT_TIMES]

    found = [[ask(execution, sql, source)[0] for sql in statements] for _ in range(2)]

    assert found == [[unknowing(sql, source)[0] for sql in statements]] * 2


@pytest.fixture
def rows_left(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Source], int]:
    """How many rows of files a statement leaves to read."""
    left: list[int] = []
    known_parts = whole_files.known_parts

    def counting(*given: Any) -> KnownParts:
        known = known_parts(*given)
        left.append(sum(view.snapshot.rows_of(file) for view in known.views.values() for file in view.snapshot.files))
        return known

    monkeypatch.setattr(whole_files, "known_parts", counting)

    def asked(sql: str, source: Source) -> int:
        ask(Execution(), sql, source)
        return left[-1]

    return asked


def test_only_row_groups_at_the_edges_are_read(
    bench: Bench, spaced: Dataset, rows_left: Callable[[str, Source], int]
) -> None:
    start, end = (to_us(NOON) * 1000 + minutes * MINUTE_NS for minutes in (7, 133))
    source = Source(take_snapshot(bench.layout, spaced, start, end, columns=["x", "ts"]), start, end)

    assert rows_left("SELECT count(*) FROM t", source) == 2 * ROW_GROUP_ROWS
    assert rows_left("SELECT max(ts) FROM t", source) == 2 * ROW_GROUP_ROWS
    assert rows_left("SELECT count(x) FROM t", source) == 2 * SPACED


def test_times_that_are_not_those_of_the_manifest_are_not_believed(
    bench: Bench, spaced: Dataset, rows_left: Callable[[str, Source], int]
) -> None:
    """Whatever made a file's times others than its index says."""
    start, end = (to_us(NOON) * 1000 + minutes * MINUTE_NS for minutes in (7, 50))
    snapshot = take_snapshot(bench.layout, spaced, start, end)
    other = replace(snapshot, files=tuple(replace(file, tmin=file.tmin - 1) for file in snapshot.files))

    assert rows_left("SELECT count(*) FROM t", Source(other, start, end)) == SPACED
