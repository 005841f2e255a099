"""Rows as values: PostgreSQL documentation, "Row Constructors" and "Composite Types" (api.md section 5)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import UnsupportedSQL
from query.engine import compile

NOW = datetime(2025, 1, 1, tzinfo=UTC)
TABLE = {"t": pl.LazyFrame({"id": [1, 2], "b c": ["x", None]})}


def rows(sql: str) -> list[tuple[object, ...]]:
    return compile(sql, TABLE, now=NOW).collect().rows()


def test_row_of_a_table_is_an_object_with_its_columns() -> None:
    assert rows("SELECT row_to_json(t) FROM t ORDER BY id") == [('{"id":1,"b c":"x"}',), ('{"id":2,"b c":null}',)]


def test_rows_are_counted_whatever_they_hold() -> None:
    assert rows("SELECT count(t), count(t) FILTER (WHERE id > 1) FROM t") == [(2, 1)]


def test_name_of_a_function_in_from_is_its_value() -> None:
    assert rows("SELECT e ->> 'a' FROM jsonb_array_elements('[{\"a\": 5}]'::jsonb) AS e") == [("5",)]


def test_row_of_an_outer_join_is_refused() -> None:
    with pytest.raises(UnsupportedSQL, match="whole row"):
        rows("SELECT count(b) FROM t a LEFT JOIN t b ON a.id = b.id + 1")


@pytest.mark.parametrize("value", ["ROW(1, 'a')", "t"])
@pytest.mark.parametrize("target", ["text", "varchar"])
def test_text_of_a_row_is_refused_and_not_called_invalid(value: str, target: str) -> None:
    """PostgreSQL writes `(1,a)`: "Composite Type Input and Output Syntax"."""
    with pytest.raises(UnsupportedSQL):
        rows(f"SELECT {value}::{target} FROM t")


def test_row_that_differs_by_null_alone_makes_not_in_unknown() -> None:
    assert rows("SELECT (1, 'y') NOT IN (SELECT id, \"b c\" FROM t), (2, 'y') NOT IN (SELECT id, \"b c\" FROM t)") == [
        (True, None)
    ]


def test_values_over_outer_columns() -> None:
    assert rows("SELECT id, v FROM t, LATERAL (VALUES (id), (id * 10)) AS l(v) ORDER BY v") == [
        (1, 1),
        (2, 2),
        (1, 10),
        (2, 20),
    ]
