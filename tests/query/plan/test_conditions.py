"""Files that a statement's conditions rule out are not read, and no answer ever depends on it."""

import itertools
import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import polars as pl
import pytest

from columns import ColumnType
from errors import WeirError
from models.column import Column, Schema
from models.file import File
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source
from query.process.protocol import Answer
from query.results.options import Options
from query.syntax.compared_columns import compared_columns
from query.syntax.parse import parse
from storage.files.statistics import summarize
from storage.read.snapshot import Snapshot

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
TYPES: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "n": ColumnType.INT64,
    "wide": ColumnType.FLOAT64,
    "x": ColumnType.FLOAT64,
    "t": ColumnType.UTF8,
    "b": ColumnType.BOOL,
    "d": ColumnType.DATE,
    "at": ColumnType.TIMESTAMP_NS,
    "late": ColumnType.INT64,
    "doc": ColumnType.JSON,
}
LONG: Final = "é" * 31


def _file(number: int) -> pl.DataFrame:
    """Ten rows whose values lie around a hundred times the file's number. `wide` is integers in the first files."""
    rows = range(number * 100, number * 100 + 10)
    frame = pl.DataFrame(
        {
            "p_timestamp": [START + timedelta(minutes=row) for row in rows],
            "n": [None if row % 3 == 0 else row for row in rows],
            "wide": [2**53 + 1 if number == 1 else row for row in rows],
            "x": [math.nan if row == 205 else -math.inf if row == 0 else row / 8 for row in rows],
            "t": [None if row % 5 == 0 else f"{LONG}{chr(97 + number)}{chr(0x10FFFF) * (row % 4)}" for row in rows],
            "b": [number % 2 == 0 for _ in rows],
            "d": [date(2026, 1, 1 + number) for _ in rows],
            "at": [START + timedelta(hours=number) for _ in rows],
            "doc": [json.dumps({"k": row}) for row in rows],
        },
        schema_overrides={"p_timestamp": pl.Datetime("us", "UTC"), "at": pl.Datetime("ns", "UTC")},
    )
    frame = frame if number < 2 else frame.with_columns(pl.col("wide").cast(pl.Float64))
    return frame if number < 3 else frame.with_columns(late=pl.col("n"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Five files with their statistics."""
    root = tmp_path_factory.mktemp("files")
    files = []
    for number in range(5):
        rows = _file(number)
        rows.write_parquet(root / f"{number}.parquet", row_group_size=4)
        times = rows["p_timestamp"].to_physical() * 1000
        span = int(times.min()), int(times.max())  # type: ignore[arg-type]
        files.append(File(f"{number}.parquet", 1, *span, rows.height, 1000, stats=summarize(rows)))
    schema = Schema(1, tuple(Column(name, kind) for name, kind in TYPES.items()))
    return Snapshot(str(root), schema, "p_timestamp", None, None, tuple(files), (), frozenset(TYPES))


class Kept:
    """What a query process would send."""

    def __init__(self) -> None:
        self.data, self.notes = b"", list[Answer]()

    def __call__(self, content: bytes, /) -> None:
        self.data += content

    def note(self, content: Answer, /) -> None:
        self.notes.append(content)


def ask(execution: Execution, sql: str, source: Source) -> tuple[Any, int]:
    """The rows, or the error's message, and the number of files read."""
    kept = Kept()
    execution.handle(Parse(sql), kept)
    try:
        execution.handle(Execute({"t": source}, 0, Options(), "identity", 2**30), kept)
    except WeirError as error:
        return error.message, 0
    return sorted(map(repr, json.loads(kept.data))), kept.notes[-1]["files"]


VALUES: Final = {
    "n": ["-1", "0", "104", "299", "1000", "NULL", "104.5", "'203'"],
    "wide": ["9007199254740992", "9007199254740993", "9007199254740992::float8", "205", "'NaN'"],
    "x": ["13", "12.5", "'NaN'::float8", "'Infinity'::float8", "'-Infinity'", "25.625"],
    "t": [f"'{LONG}b'", f"'{LONG}b{chr(0x10FFFF)}'", f"'{LONG}b{chr(0x10FFFF)}{chr(0x10FFFF)}a'", "'a'", "'ê'"],
    "b": ["true", "false"],
    "d": ["'2026-01-03'", "DATE '2026-01-02'"],
    "at": ["'2026-01-01T02:00:00Z'", "'2026-01-01T02:00:00.000000001Z'", "TIMESTAMP '2026-01-01 03:00:00'"],
    "p_timestamp": ["'2026-01-01T03:25:00Z'", "'2026-01-01 01:40:00+00'"],
    "late": ["300", "0"],
}
CONDITIONS: Final = [
    f"{column} {operator} {value}"
    for column, values in VALUES.items()
    for value, operator in itertools.product(values, ("=", "<", "<=", ">", ">=", "<>"))
]


@pytest.mark.parametrize("only", [None, frozenset({("b", "true")})], ids=["all", "narrowed"])
def test_no_answer_depends_on_the_statistics(whole: Snapshot, only: frozenset[tuple[str, str]] | None) -> None:
    plain, sparing, spared = Execution(), Execution(), 0
    bare = replace(whole, columns=frozenset())
    for condition in CONDITIONS:
        for sql in (f"SELECT * FROM t WHERE {condition}", f"SELECT * FROM t WHERE {condition} AND n IS NOT NULL"):
            expected, every = ask(plain, sql, Source(bare, None, None, only))
            found, read = ask(sparing, sql, Source(whole, None, None, only))
            assert found == expected, sql
            spared += every - read
    assert spared > 100


# What is asked, and how many of the five files may have it.
QUERIES: Final = {
    "SELECT n FROM t WHERE n = 104": 1,
    "SELECT n FROM t WHERE 104 = n": 1,
    "SELECT n FROM t WHERE 200 > n": 2,
    "SELECT n FROM t WHERE n IN (104, 205)": 2,
    "SELECT n FROM t WHERE n BETWEEN 100 AND 110 AND t IS NOT NULL": 1,
    "SELECT n FROM t WHERE n = 104 OR n = 205": 5,
    "SELECT n FROM t WHERE NOT n = 104": 5,
    "SELECT count(*) FROM t WHERE late > 0": 2,
    "SELECT q.m FROM (SELECT n + 0 AS o, n AS m FROM t) AS q WHERE q.m = 104": 1,
    "SELECT q.o FROM (SELECT n + 0 AS o, n AS m FROM t) AS q WHERE q.o = 104": 5,
    "WITH q AS (SELECT * FROM t) SELECT n FROM q WHERE n = 104": 1,
    "SELECT max(n) FROM t WHERE n < 10 GROUP BY b HAVING max(n) > 400": 1,
    "SELECT a.n FROM t a JOIN t b ON a.n = b.n WHERE a.n = 104 AND b.n = 205": 2,
    "SELECT a.n FROM t a LEFT JOIN t b ON a.n = b.n WHERE a.n = 104": 5,
    "SELECT a.n FROM t a FULL JOIN t b ON a.n = b.n WHERE a.n = 104": 5,
    "SELECT n FROM t WHERE n = 104 UNION ALL SELECT n FROM t WHERE n = 305": 2,
    "SELECT n FROM t WHERE n = 104 AND x > (SELECT avg(x) FROM t WHERE n = 205)": 2,
    "SELECT n FROM (SELECT n, row_number() OVER (ORDER BY n) AS r FROM t) q WHERE n = 104": 5,
    "SELECT n FROM (SELECT n FROM t ORDER BY n LIMIT 3) q WHERE n = 104": 5,
    "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.n = 104 AND u.n = t.n)": 5,
    "SELECT t FROM t WHERE t.t > 'zzz'": 5,
    "SELECT n FROM t WHERE p_timestamp >= '2026-01-01T06:00:00Z'": 1,
    "SELECT count(*) FROM t WHERE doc = '3'": 5,
}


@pytest.mark.parametrize(("sql", "files"), QUERIES.items())
def test_a_file_is_left_out_where_no_scan_needs_it(sql: str, files: int, whole: Snapshot) -> None:
    found, read = ask(Execution(), sql, Source(whole, None, None))

    assert read == files
    assert found == ask(Execution(), sql, Source(replace(whole, columns=frozenset()), None, None))[0]


def test_only_columns_of_conditions_are_asked_for() -> None:
    tree = parse('SELECT a FROM t WHERE B = 1 AND "C" > (SELECT max(d) FROM u WHERE e < 2)').tree

    assert compared_columns(tree) == ["C", "b", "d", "e"]


def test_explain_tells_what_is_read_and_how(whole: Snapshot) -> None:
    sql = "EXPLAIN SELECT t, count(*) FROM t WHERE n = 104 AND t ~ 'b' GROUP BY t ORDER BY 2 LIMIT 3"
    kept = Kept()
    execution = Execution()
    execution.handle(Parse(sql), kept)
    execution.handle(Execute({"t": Source(whole, None, None)}, 0, Options(), "identity", 2**30), kept)
    lines = [row["QUERY PLAN"] for row in json.loads(kept.data)]

    assert lines == [
        "Dataset t: 1 of 5 files, 1000 bytes, chosen by n",
        "Reads columns 2 of 10",
        'Reads only rows with (col("t").str.contains(["b"]) & (col("n") == 104))',
        "Step 1: compiled: predicate",
        'Step 2: SQLContext: SELECT "c4", COUNT(*) AS "c10" FROM t1 GROUP BY "c4"',
        'Step 3: SQLContext: SELECT "c11", "c12" FROM t2 ORDER BY "c12" ASC NULLS LAST LIMIT 3',
        "Answer: t text, count int8",
    ]


def test_explain_tells_a_narrowed_reader_no_sizes(whole: Snapshot) -> None:
    source = Source(whole, None, None, frozenset({("b", "true")}))

    found, _ = ask(Execution(), "EXPLAIN SELECT n FROM t WHERE n = 104", source)

    assert any("Dataset t: the rows that you may see" in line for line in found)
    assert not any("files" in line or "bytes" in line for line in found)
