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


def test_rows_that_an_outer_join_adds_are_not_counted() -> None:
    assert rows("SELECT count(b), count(b.*), count(*) FROM t a LEFT JOIN t b ON a.id = b.id + 1") == [(1, 1, 2)]


def test_rows_of_an_outer_join_are_not_compared() -> None:
    with pytest.raises(UnsupportedSQL, match="whole row"):
        rows("SELECT b = b FROM t a LEFT JOIN t b ON a.id = b.id + 1")


@pytest.mark.parametrize("target", ["text", "varchar"])
def test_text_of_a_row(target: str) -> None:
    """`(1,a)`: "Composite Type Input and Output Syntax"."""
    assert rows(f"SELECT ROW(1, 'a b', NULL)::{target}, t::{target} FROM t") == [
        ('(1,"a b",)', "(1,x)"),
        ('(1,"a b",)', "(2,)"),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r IS NULL FROM (SELECT (NULL, NULL) AS r) AS s",
        "SELECT r = r FROM (SELECT (1, 2) AS r) AS s",
        "SELECT ARRAY[(1, 2)] = ARRAY[(1, 2)]",
        "SELECT DISTINCT (id, '{}'::json) FROM t",
        "SELECT ROW()",
    ],
)
def test_what_a_computed_row_cannot_be_asked_is_refused(sql: str) -> None:
    with pytest.raises(UnsupportedSQL):
        rows(sql)


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
