"""Times in nanoseconds (an event's own, of OTLP) beside times in microseconds (series, p_timestamp): one type."""

import datetime as dt

import polars as pl
import pytest

from query import engine

NOW = dt.datetime(2026, 1, 15, tzinfo=dt.UTC)
HOURS = [dt.datetime(2024, 1, 1, hour) for hour in (0, 1, 2)]
SERIES = "generate_series(timestamptz '2024-01-01', '2024-01-02', interval '1 hour')"


def _frame(unit: str) -> pl.LazyFrame:
    local = pl.Series(HOURS, dtype=pl.Datetime("us")).cast(pl.Datetime(unit))
    return pl.LazyFrame({"t": local.dt.replace_time_zone("UTC"), "l": local, "k": [1, 2, 3]})


def _answer(sql: str, unit: str) -> list[tuple[object, ...]]:
    frame = engine.compile(sql, {"fine": _frame(unit), "plain": _frame("us")}, now=NOW).collect()
    return sorted(frame.rows(), key=repr)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT fine.k FROM fine JOIN plain ON fine.t = plain.t",
        "SELECT fine.k FROM fine JOIN plain ON fine.t = plain.l",
        "SELECT fine.k FROM fine JOIN plain ON fine.l = plain.t AND fine.t <= plain.l",
        "SELECT t FROM fine FULL JOIN plain USING (t)",
        "SELECT count(*) FROM fine NATURAL JOIN plain",
        f"SELECT h, k FROM {SERIES} AS g(h) LEFT JOIN fine ON date_bin('1 hour', t, timestamptz '2024-01-01') = h",
        f"SELECT h, k FROM {SERIES} AS g(h) LEFT JOIN fine ON date_trunc('hour', l) = h",
        "SELECT k FROM fine WHERE t IN (SELECT t FROM plain) AND (l, k) IN (SELECT t, k FROM plain)",
        "SELECT (SELECT max(k) FROM plain WHERE plain.l = fine.t) AS m FROM fine",
        "SELECT t FROM fine UNION SELECT l FROM plain",
        "SELECT t FROM fine INTERSECT SELECT t FROM plain",
        "SELECT t FROM fine EXCEPT SELECT t FROM plain WHERE k > 1",
        "SELECT coalesce(fine.t, plain.l) AS a, greatest(fine.l, plain.t) AS g FROM fine, plain",
        "SELECT fine.t = ANY (ARRAY[plain.l]) AS a, fine.t BETWEEN plain.l AND now() AS b FROM fine, plain",
        "SELECT lag(t, 1, timestamptz '2024-01-01') OVER (ORDER BY k) AS a FROM fine",
        "SELECT rank(timestamp '2024-01-01 01:00') WITHIN GROUP (ORDER BY t) AS a FROM fine",
    ],
)
def test_unit_of_a_time_changes_no_answer(sql: str) -> None:
    assert _answer(sql, "ns") == _answer(sql, "us")
