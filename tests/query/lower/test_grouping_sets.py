"""GROUPING SETS, ROLLUP and CUBE: the coarser sets come from the groups of the finest, with the same results."""

from datetime import UTC, datetime
from typing import Final

import polars as pl
import pytest

from query import engine
from query.syntax.parse import parse

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
ROWS: Final = pl.DataFrame(
    {
        "a": ["x", "x", "y", "y", None, None, "x"],
        "b": [1, 2, 1, None, None, 1, 1],
        "v": [10, 20, None, 40, 50, None, 70],
        "f": [1.5, float("nan"), 2.5, None, 0.5, -1.0, 9.0],
        "ok": [True, False, None, True, True, False, True],
    },
    schema={"a": pl.String, "b": pl.Int64, "v": pl.Int64, "f": pl.Float64, "ok": pl.Boolean},
)
CALLS: Final = (
    "count(*) AS n, count(v) AS c, count(*) FILTER (WHERE ok) AS w, sum(v) AS s, sum(v::int4) AS i, min(v) AS l, "
    "max(f) AS m, min(f) AS k, bool_and(ok) AS q, bool_or(ok) AS r"
)
NOTE: Final = "compiled: grouping sets from the groups of the finest"


def prepared(sql: str, rows: pl.DataFrame) -> engine.Compiled:
    return engine.prepare(parse(sql), {"t": engine.Table(rows.lazy())}, now=NOW)


def together(sets: list[tuple[str, str, str]], rows: pl.DataFrame) -> pl.DataFrame:
    """What PostgreSQL's manual says grouping sets are: a UNION ALL of one aggregation for each."""
    parts = [f"SELECT {a} AS a, {b} AS b, {CALLS} FROM t {group}" for a, b, group in sets]
    return pl.concat([prepared(part, rows).frame.collect() for part in parts])


BOTH: Final = ("a", "b", "GROUP BY a, b")
FIRST: Final = ("a", "NULL::int8", "GROUP BY a")
SECOND: Final = ("NULL::text", "b", "GROUP BY b")
NONE: Final = ("NULL::text", "NULL::int8", "")


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear()], ids=["rows", "no rows"])
@pytest.mark.parametrize(
    ("grouping", "sets"),
    [
        ("ROLLUP (a, b)", [BOTH, FIRST, NONE]),
        ("CUBE (a, b)", [BOTH, FIRST, SECOND, NONE]),
        ("GROUPING SETS ((), (b), (a, b), (a, b))", [NONE, SECOND, BOTH, BOTH]),
    ],
    ids=["rollup", "cube", "sets"],
)
def test_results_are_those_of_each_set_alone(
    grouping: str, sets: list[tuple[str, str, str]], rows: pl.DataFrame
) -> None:
    answer = prepared(f"SELECT a, b, {CALLS} FROM t GROUP BY {grouping}", rows)

    found, expected = answer.frame.collect(), together(sets, rows)

    assert NOTE in answer.steps
    assert found.schema == expected.schema
    assert sorted(map(repr, found.rows())) == sorted(map(repr, expected.rows()))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(f) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT avg(v) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT count(DISTINCT v) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT count(*) FROM t GROUP BY GROUPING SETS ((a), (b))",
        "SELECT count(*) FROM t UNION ALL SELECT count(*) FROM t",
        "SELECT a, count(*) FROM t GROUP BY a UNION ALL SELECT NULL, sum(v) FROM t",
    ],
    ids=["sum of floats", "mean", "distinct", "no set has all keys", "a union of two statements", "other aggregates"],
)
def test_what_does_not_follow_from_groups_is_made_from_rows(query: str) -> None:
    assert NOTE not in prepared(query, ROWS).steps
