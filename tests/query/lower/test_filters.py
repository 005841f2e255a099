"""What a condition costs: only the columns that are used are read, and what cannot fail is left to the scan."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from errors import InvalidSQL
from query import engine

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> pl.LazyFrame:
    """A file whose statistics are no rows: the least text of `t` and the least `n` are on different ones."""
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"n": [0, 5, 9], "m": [1, 2, 3], "t": ["12", "x", "7"], "unused": ["a", "b", "c"]}).write_parquet(path)
    return pl.scan_parquet(path)


def planned(sql: str, table: pl.LazyFrame) -> str:
    return engine.compile(sql, {"t": table}, now=NOW).explain(engine="streaming")


@pytest.mark.parametrize(
    "condition",
    ["t LIKE '%x%'", "t ILIKE 'X'", "t ~ '^x'", "t ~* 'X'", "t NOT LIKE 'x%'", "n < 3", "t SIMILAR TO 'x|y'"],
)
def test_conditions_that_cannot_fail_are_the_scan_s(condition: str, table: pl.LazyFrame) -> None:
    assert "SELECTION" in planned(f"SELECT m FROM t WHERE {condition}", table)


@pytest.mark.parametrize("condition", ["10 / n > 1", "t::int > 1", "n * 8 > m"])
def test_conditions_that_can_fail_are_not_tried_on_statistics(condition: str, table: pl.LazyFrame) -> None:
    plan = planned(f"SELECT m FROM t WHERE {condition}", table)
    assert "SELECTION" not in plan
    assert "PROJECT */" not in plan


def test_what_cannot_fail_is_decided_first(table: pl.LazyFrame) -> None:
    """PostgreSQL orders conditions by their cost; the cheap one spares the other the zero."""
    for sql in ("SELECT m FROM t WHERE 10 / n > 1 AND n > 0", "SELECT m FROM t WHERE n > 0 AND 10 / n > 1"):
        assert engine.compile(sql, {"t": table}, now=NOW).collect()["m"].to_list() == [2]
    with pytest.raises(pl.exceptions.PolarsError) as raised:
        engine.compile("SELECT m FROM t WHERE 10 / n > 1", {"t": table}, now=NOW).collect()
    assert isinstance(engine.translate(raised.value), InvalidSQL)


def test_a_subquery_reads_its_columns_and_leaves_the_rest_to_the_scan(table: pl.LazyFrame) -> None:
    sql = "SELECT m FROM t WHERE n > (SELECT avg(n) FROM t) AND t = 'x'"
    plan = planned(sql, table)
    assert 'SELECTION: col("t") == "x"' in plan.replace('.alias("c2")', "")
    assert "PROJECT */" not in plan
    assert "NESTED LOOP" not in plan
    assert engine.compile(sql, {"t": table}, now=NOW).collect()["m"].to_list() == [2]
