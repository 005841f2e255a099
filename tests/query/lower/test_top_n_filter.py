"""The first rows of each group: what is left out before sorting is never among them."""

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from query import engine
from query.syntax.parse import parse

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
VALUES: Final = [None, float("nan"), float("inf"), -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
PAIRS: Final = 100


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups of one to two hundred rows, many of two, with ties, NaN and NULL among values and groups."""
    chance = random.Random(7)
    sizes = {"a": 1, "b": 2, "c": 3, "d": 40, None: 200}
    rows = [(group, chance.choice(VALUES)) for group, size in sizes.items() for _ in range(size)]
    rows += [("nulls", None)] * 5 + [("nans", float("nan"))] * 5
    rows += [(f"pair {number}", value) for number in range(PAIRS) for value in (1.0, 2.0)]
    chance.shuffle(rows)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pl.DataFrame(rows, schema={"g": pl.String, "v": pl.Float64}, orient="row").write_parquet(path)
    return path


@pytest.mark.parametrize("count", [1, 2, 3, 50])
@pytest.mark.parametrize("direction", ["ASC", "DESC", "ASC NULLS FIRST", "DESC NULLS LAST"])
@pytest.mark.parametrize("function", ["row_number", "rank"])
def test_the_first_rows_are_those_of_the_sorted_whole(stored: Path, function: str, direction: str, count: int) -> None:
    ranked = f"SELECT g, v, {function}() OVER (PARTITION BY g ORDER BY v {direction}) AS n FROM t"

    narrowed = answer(f"SELECT * FROM ({ranked}) AS x WHERE n <= {count}", stored)
    whole = answer(ranked, stored)

    assert "t_edge" in plan(f"SELECT * FROM ({ranked}) AS x WHERE n <= {count}", stored)
    assert "t_edge" not in plan(ranked, stored)
    assert sorted(map(repr, narrowed)) == sorted(repr(row) for row in whole if row[2] <= count)


def test_no_threshold_is_taken_from_a_group_with_fewer_bests_than_rows_wanted(stored: Path) -> None:
    """Of one pair in eight both rows are in one part of their group, which gives one best."""
    asked = "SELECT * FROM (SELECT g, v, row_number() OVER (PARTITION BY g ORDER BY v) AS n FROM t) AS x WHERE n <= 2"

    found = [row[0] for row in answer(asked, stored) if str(row[0]).startswith("pair")]

    assert sorted(found) == sorted(2 * [f"pair {number}" for number in range(PAIRS)])


def answer(sql: str, path: Path) -> list[tuple[object, object, int]]:
    return engine.compile(sql, {"t": pl.scan_parquet(path)}, now=NOW).collect(engine="streaming").rows()


def plan(sql: str, path: Path) -> str:
    return engine.compile(sql, {"t": pl.scan_parquet(path)}, now=NOW).explain(engine="streaming")


@pytest.mark.parametrize(
    ("sql", "is_kept"),
    [
        ("SELECT DISTINCT ON (g) g, v FROM t ORDER BY g, v DESC", False),
        ("SELECT DISTINCT ON (g) g, v FROM t WHERE v > 1 ORDER BY g, v DESC LIMIT 3", False),
        ("SELECT * FROM (SELECT g, v, rank() OVER (PARTITION BY g ORDER BY v) AS n FROM t) AS x WHERE n < 3", False),
        ("WITH s AS (SELECT g, sum(v) AS v FROM t GROUP BY 1) SELECT a.g, b.v FROM s a JOIN s b USING (g)", True),
        (
            "WITH s AS (SELECT DISTINCT ON (g) g, v FROM t ORDER BY g, v) SELECT a.g, b.v FROM s a JOIN s b USING (g)",
            True,
        ),
    ],
    ids=["distinct on", "filtered", "rank", "shared groups", "shared first rows"],
)
def test_stored_rows_are_read_twice_instead_of_kept(stored: Path, sql: str, is_kept: bool) -> None:
    """Twenty million rows would take 2.5 GB to keep. What costs more than reading is computed once."""
    compiled = engine.prepare(parse(sql), {"t": engine.Table(pl.scan_parquet(stored))}, now=NOW)

    plan = compiled.frame.explain(engine="streaming", optimizations=compiled.optimizations)

    assert ("CACHE" in plan) == is_kept
