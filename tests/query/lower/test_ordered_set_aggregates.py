"""What percentiles cost: the same values are sorted once, however many of their percentiles are asked for."""

from datetime import UTC, datetime
from typing import Final

import polars as pl
import pytest

from query import engine

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
TABLE: Final = pl.LazyFrame({"g": ["a", "a", "a", "b"], "v": [1.0, 2.0, 4.0, 9.0], "ok": [True, False, True, True]})
MEDIAN: Final = "percentile_cont(0.5) WITHIN GROUP (ORDER BY v)"
NINTH: Final = "percentile_disc(0.9) WITHIN GROUP (ORDER BY v)"


def compiled(columns: str) -> pl.LazyFrame:
    return engine.compile(f"SELECT g, {columns} FROM t GROUP BY g ORDER BY g", {"t": TABLE}, now=NOW)


def test_percentiles_of_the_same_values_sort_them_once() -> None:
    asked = compiled(f"{MEDIAN} AS x, {NINTH} AS y, {MEDIAN} FILTER (WHERE ok) AS z")

    assert asked.explain().count("implode()") == 2
    assert asked.collect().rows() == [("a", 2.0, 4.0, 2.5), ("b", 9.0, 9.0, 9.0)]


def test_several_fractions_at_once_read_the_same_list() -> None:
    asked = compiled(f"{MEDIAN} AS x, percentile_cont(ARRAY[0, 1]) WITHIN GROUP (ORDER BY v) AS y")

    assert asked.explain().count("implode()") == 1
    assert asked.collect().rows() == [("a", 2.0, [1.0, 4.0]), ("b", 9.0, [9.0, 9.0])]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (f"{NINTH} FILTER (WHERE NOT ok)", [2.0, None]),
        ("percentile_disc(0.9) WITHIN GROUP (ORDER BY v DESC)", [1.0, 9.0]),
        ("percentile_disc(0.9) WITHIN GROUP (ORDER BY -v)", [-1.0, -9.0]),
    ],
    ids=["filtered", "the other way round", "of other values"],
)
def test_percentiles_of_other_values_are_their_own(other: str, expected: list[float | None]) -> None:
    assert compiled(f"{MEDIAN} AS x, {other} AS y").collect()["y"].to_list() == expected
