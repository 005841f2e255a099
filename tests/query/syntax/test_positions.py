"""Errors point to where PostgreSQL's do: characters of the statement from 1 (api.md section 5)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import InvalidSQL
from query.engine import compile

TABLE = {"t": pl.LazyFrame({"i": [1], "s": ["x"], "latency_ms": [1.0]})}


@pytest.mark.parametrize(
    ("sql", "sqlstate", "position"),
    [
        ("SELECT i + s FROM t", "42883", 10),
        ("SELECT s NOT LIKE 1 FROM t", "42883", 10),
        ("SELECT i FROM t WHERE i = 'one'", "22P02", 27),
        ("SELECT 'one'::int", "22P02", 8),
        ("SELECT i::date FROM t", "42846", 9),
        ("SELECT s, count(*) FROM t GROUP BY i", "42803", 8),
        ("SELECT * FROM t GROUP BY i", "42803", 8),
        ("SELECT CASE WHEN true THEN 1 ELSE s END FROM t", "42804", 28),
        ("SELECT i FROM t UNION SELECT s FROM t", "42804", 30),
        ("SELECT i, s FROM t UNION SELECT i FROM t", "42601", 33),
        ("SELECT (SELECT i, s FROM t)", "42601", 8),
        ("SELECT 1 < 2 < 3", "42601", 14),
        ("SELECT i FROM t WHERE", "42601", 22),
        ("SELECT (1 + 2", "42601", 14),
        ("SELECT 'open", "42601", 8),
    ],
)
def test_error_points_to_the_operator_or_value_at_fault(sql: str, sqlstate: str, position: int) -> None:
    with pytest.raises(InvalidSQL) as raised:
        compile(sql, TABLE, now=datetime(2025, 1, 1, tzinfo=UTC))

    assert (raised.value.details["sqlstate"], raised.value.details["position"]) == (sqlstate, position)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT latencyms FROM t", 'Perhaps you meant to reference the column "t.latency_ms".'),
        ("SELECT a.latencyms FROM t AS a", 'Perhaps you meant to reference the column "a.latency_ms".'),
        ("SELECT tt.i FROM t", 'Perhaps you meant the table "t".'),
        ("SELECT date_trnc('day', now())", 'Perhaps you meant the function "date_trunc".'),
        ("SELECT i + s FROM t", "You might need to add explicit type casts."),
    ],
)
def test_hint_names_the_nearest(sql: str, hint: str) -> None:
    with pytest.raises(InvalidSQL) as raised:
        compile(sql, TABLE, now=datetime(2025, 1, 1, tzinfo=UTC))

    assert raised.value.details["hint"] == hint


def test_hint_names_nothing_that_the_query_does_not_read() -> None:
    tables = {**TABLE, "secret_t": pl.LazyFrame({"secret_column": [1]})}

    with pytest.raises(InvalidSQL) as raised:
        compile("SELECT secret_colum FROM t", tables, now=datetime(2025, 1, 1, tzinfo=UTC))

    assert "hint" not in raised.value.details or raised.value.details["hint"] is None
