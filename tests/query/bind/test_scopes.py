"""Names and levels: PostgreSQL documentation, "Identifiers and Key Words", "Aggregate Expressions" (api.md 5)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import InvalidSQL, UnsupportedSQL
from query.engine import compile

NOW = datetime(2025, 1, 1, tzinfo=UTC)
TABLES = {
    "t": pl.LazyFrame({"id": [1, 2, 3], "status": [200, 404, 500]}),
    "mixed": pl.LazyFrame({"Status": [1], "É": [2]}),
}


def rows(sql: str) -> list[tuple[object, ...]]:
    return compile(sql, TABLES, now=NOW).collect().rows()


def refusal(sql: str) -> tuple[str, int | None]:
    """The message and the place of what is refused."""
    with pytest.raises((InvalidSQL, UnsupportedSQL)) as caught:
        rows(sql)
    return caught.value.message, caught.value.details.get("position")


def test_unquoted_name_differs_in_case_only_where_no_name_is_exact() -> None:
    """Our extension must not change what a PostgreSQL query means: the outer column is the exact one."""
    assert rows("SELECT status FROM mixed") == [(1,)]
    assert rows("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM mixed WHERE status = 404)") == [(2,)]


def test_folding_leaves_letters_beyond_ascii() -> None:
    assert compile("SELECT É AS Ü FROM mixed", TABLES, now=NOW).collect_schema().names() == ["Ü"]


def test_name_longer_than_an_identifier_of_postgresql_is_whole() -> None:
    """Stored columns have such names: they come from JSON keys."""
    long = "a" * 80

    assert compile(f"SELECT 1 AS {long}", {}, now=NOW).collect_schema().names() == [long]


def test_aggregate_over_outer_columns_belongs_to_the_outer_query() -> None:
    assert rows("SELECT (SELECT max(o.id)) FROM t AS o") == [(3,)]


def test_whole_row_is_not_grouped_by_its_columns() -> None:
    message, position = refusal("SELECT row_to_json(t) FROM t GROUP BY id, status")

    assert message.startswith('column "t.*" must appear')
    assert position == 20


def test_answer_without_columns_is_refused() -> None:
    assert refusal("SELECT FROM t")[0] == "an answer without columns is not supported"
    assert rows("SELECT count(*) FROM t WHERE EXISTS (SELECT FROM mixed)") == [(3,)]


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM r) CYCLE n SET c USING p SELECT 1", "CYCLE"),
        ("WITH RECURSIVE r AS (SELECT 1 AS n) SEARCH DEPTH FIRST BY n SET o SELECT 1", "SEARCH"),
        (
            "SELECT (SELECT max(x) FROM (SELECT sum(id) OVER (ROWS o.id PRECEDING) AS x FROM t) AS q) FROM t AS o",
            "a frame offset that depends on an outer query",
        ),
    ],
    ids=["cycle", "search", "frame"],
)
def test_what_is_not_supported_is_named(sql: str, named: str) -> None:
    assert refusal(sql)[0].startswith(named)


def test_nested_set_operations_are_bound_once_for_each_level() -> None:
    """Binding a branch again for the type of its literals takes 2^n steps for n levels: this would not end."""
    query = "SELECT 1 AS b"
    for level in range(30):
        query = f"SELECT NULL AS a{level}, q{level}.b FROM ({query}) AS q{level} UNION ALL SELECT 'x', 2"

    assert len(rows(query)) == 31


def test_place_of_a_constant_that_is_no_position() -> None:
    assert refusal("SELECT id FROM t ORDER BY NULL") == ("non-integer constant in ORDER BY", 27)
    assert refusal("SELECT id FROM t ORDER BY -1") == ("ORDER BY position -1 is not in select list", 27)


def test_place_of_a_window_that_cannot_be_built_upon() -> None:
    assert refusal("SELECT sum(id) OVER (w) FROM t WINDOW w AS (ORDER BY id ROWS 1 PRECEDING)") == (
        'cannot copy window "w" because it has a frame clause',
        21,
    )


def test_set_returning_function_within_an_aggregate_is_refused() -> None:
    message, _ = refusal("SELECT sum(generate_series(1, 3))")

    assert message == "a set-returning function in the arguments of sum is not supported"
