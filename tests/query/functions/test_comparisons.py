"""Comparisons with a constant on the left (api.md section 5): one row for each, in both of Polars' engines."""

from datetime import UTC, datetime

import polars as pl
import pytest

from query.engine import compile

TABLE = {"t": pl.LazyFrame({"id": list(range(20))})}


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize(
    "comparison",
    ["2 < {}", "2 = {}", "2 <> {}", "NOT (2 >= {})", "2 IS DISTINCT FROM {}", "greatest(2, {})", "5 BETWEEN {} AND 7"],
)
def test_constant_against_a_value_that_is_null_on_most_rows_keeps_every_row(comparison: str, engine: str) -> None:
    expression = comparison.format("CASE WHEN id = 1 THEN 2 END")

    frame = compile(f"SELECT {expression} FROM t", TABLE, now=datetime(2025, 1, 1, tzinfo=UTC))

    assert frame.collect(engine=engine).height == 20  # type: ignore[call-overload]
