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
from query.process.execution import Execution
from query.process.messages import Source
from storage.files.statistics import summarize
from storage.read.snapshot import Snapshot
from tests.query.plan.test_conditions import ask

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
FILES: Final = 12
TYPES: Final = {"p_timestamp": ColumnType.TIMESTAMP_US, "n": ColumnType.INT64, "level": ColumnType.UTF8}
SECOND_NS: Final = 10**9


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
