"""Window functions: what has to be sorted and what has not (PostgreSQL documentation, 4.2.8 and 9.22)."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import polars as pl
import pytest

from query import engine
from query.syntax.parse import parse

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
ROWS: Final = pl.DataFrame({"a": [3, 1, None, 2], "f": [1.0, float("nan"), None, 0.5], "g": ["x", "y", "x", "y"]})


def prepared(sql: str, rows: pl.DataFrame = ROWS) -> engine.Compiled:
    return engine.prepare(parse(sql), {"t": engine.Table(rows.lazy())}, now=NOW)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("count(*)", 4),
        ("count(a)", 3),
        ("count(*) FILTER (WHERE a > 1)", 2),
        ("sum(a)", Decimal(6)),
        ("sum(1)", 4),
        ("avg(a)", Decimal(2)),
        ("min(a)", 1),
        ("max(f)", pytest.approx(float("nan"), nan_ok=True)),
        ("bool_and(a > 1)", False),
    ],
)
def test_an_aggregate_of_all_rows_needs_no_order(call: str, expected: object) -> None:
    compiled = prepared(f"SELECT a, {call} OVER () AS n FROM t")

    answer = compiled.frame.collect()

    assert "compiled: 1 aggregates of all rows" in compiled.steps
    assert answer["a"].to_list() == ROWS["a"].to_list()
    assert [row == expected for row in answer["n"].to_list()] == 4 * [True]


def test_an_aggregate_of_no_rows_has_no_row() -> None:
    assert (
        prepared("SELECT count(*) OVER () AS n, sum(a) OVER () AS s FROM t", ROWS.clear()).frame.collect().rows() == []
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("count(*) OVER (ROWS UNBOUNDED PRECEDING)", [1, 2, 3, 4]),
        ("count(*) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)", [3, 3, 3, 3]),
        ("count(*) OVER (PARTITION BY g)", [2, 2, 2, 2]),
        ("row_number() OVER ()", [1, 2, 3, 4]),
    ],
    ids=["running", "without itself", "partitions", "rank"],
)
def test_frames_that_are_not_all_rows_are_kept_apart(call: str, expected: list[int]) -> None:
    compiled = prepared(f"SELECT {call} AS n FROM t")

    assert "compiled: 1 aggregates of all rows" not in compiled.steps
    assert compiled.frame.collect()["n"].to_list() == expected


def test_windows_of_both_kinds_beside_each_other() -> None:
    sql = "SELECT a, rank() OVER (ORDER BY a) AS r, count(*) OVER () AS n, sum(a) OVER (PARTITION BY g) AS s FROM t"

    answer = prepared(f"{sql} ORDER BY a").frame.collect()

    assert answer.rows() == [(1, 1, 4, 3), (2, 2, 4, 3), (3, 3, 4, 3), (None, 4, 4, 3)]
