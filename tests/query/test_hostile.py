"""Hostile statements are refused or bounded, never a crash of ours (api.md section 5, limits)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import InvalidSQL, UnsupportedSQL
from query.engine import compile, translate
from query.syntax.parse import parse

NOW = datetime(2025, 1, 1, tzinfo=UTC)
DEEP = 5_000


def run(sql: str) -> None:
    """Compiles and collects; what a running plan raises is translated as the executor does it."""
    plan = compile(sql, {}, now=NOW)
    try:
        plan.collect()
    except Exception as error:
        raise translate(error) from error


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT '" + "x" * 10_000_000 + "'", id="ten megabytes"),
        pytest.param("SELECT " + "(" * DEEP + "1" + ")" * DEEP, id="brackets"),
        pytest.param("SELECT " + "NOT " * DEEP + "true", id="not"),
        pytest.param("SELECT " + "- " * DEEP + "1", id="minus"),
        pytest.param("SELECT 1" + " + 1" * DEEP, id="sum"),
        pytest.param("SELECT 1" + "::int" * DEEP, id="casts"),
        pytest.param("SELECT 1" + " UNION SELECT 1" * DEEP, id="unions"),
        pytest.param("SELECT " + "CASE WHEN true THEN " * 500 + "1" + " END" * 500, id="cases"),
        pytest.param("SELECT * FROM " + "(SELECT * FROM " * 300 + "t" + ") x" * 300, id="subqueries"),
        pytest.param("SELECT 1; DROP TABLE t", id="two statements"),
        pytest.param("DELETE FROM t", id="delete"),
        pytest.param("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", id="delete in with"),
        pytest.param("SELECT * INTO u FROM t", id="select into"),
        pytest.param("SELECT * FROM t FOR UPDATE", id="for update"),
        pytest.param("SELECT * FROM pg_catalog.pg_class", id="schema"),
        pytest.param("COPY t TO '/tmp/x'", id="copy"),
        pytest.param("SELECT 'unterminated", id="unterminated"),
        pytest.param("SELECT 1 /* open", id="open comment"),
        pytest.param("", id="empty"),
        pytest.param("SELECT '\0'", id="nul"),
    ],
)
def test_parsing_refuses(sql: str) -> None:
    with pytest.raises((InvalidSQL, UnsupportedSQL)):
        parse(sql)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT * FROM read_csv('/etc/passwd')", id="polars table function"),
        pytest.param("SELECT pg_read_file('/etc/passwd')", id="file function"),
        pytest.param("SELECT * FROM generate_series(1, 1000000000000)", id="series"),
        pytest.param("SELECT repeat('x', 1000000000)", id="repeat"),
        pytest.param("SELECT lpad('x', 1000000000)", id="lpad"),
        pytest.param(
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", id="recursion"
        ),
        pytest.param("SELECT 10::numeric ^ 1000000", id="power"),
    ],
)
def test_running_is_refused_or_bounded(sql: str) -> None:
    with pytest.raises((InvalidSQL, UnsupportedSQL)):
        run(sql)


def test_a_back_reference_behind_nested_repeats_ends() -> None:
    """With a matcher that tries every way, 2^40 of them."""
    run("SELECT v ~ '((a*)*)*\\1b' FROM (VALUES ('" + "a" * 40 + "c')) x(v)")


def test_a_long_list_of_values_is_one_look_up() -> None:
    values = ", ".join(str(number) for number in range(5_000))

    answer = compile(f"SELECT a FROM t WHERE a IN ({values})", {"t": pl.LazyFrame({"a": [1, 9_999]})}, now=NOW)

    assert answer.collect().rows() == [(1,)]


def nested(template: str, depth: int) -> str:
    """`template` put into itself where it says #."""
    expression = "a"
    for _ in range(depth):
        expression = template.replace("#", expression)
    return expression


@pytest.mark.parametrize("question", ["SELECT # FROM t", "SELECT a FROM t WHERE # > 1", "SELECT sum(#) FROM t"])
@pytest.mark.parametrize(
    "template",
    [
        "(7 / #)",
        "CASE WHEN a > 1 THEN 1 / (#) ELSE a END",
        "CASE WHEN (#) > 1 THEN 1 / a ELSE a END",
        "coalesce(7 / (#), 1)",
        "(#)::text::int8",
        "((1 / a > 0 AND 2 / (#) > 1)::int)",
    ],
)
def test_a_plan_grows_no_faster_than_its_statement(question: str, template: str) -> None:
    table = {"t": pl.LazyFrame({"a": [1, 2]})}
    sizes = [
        len(compile(question.replace("#", nested(template, depth)), table, now=NOW).explain(optimized=False))
        for depth in (6, 12)
    ]

    assert sizes[1] < 3 * sizes[0]


@pytest.mark.parametrize(
    "template",
    ["((#) BETWEEN 1 AND 3)::int", "nullif(#, 3)", "CASE # WHEN 1 THEN 2 WHEN 3 THEN 4 END", "(# IN (a, 1))::int"],
)
def test_an_operand_that_doubles_at_every_level_is_refused(template: str) -> None:
    with pytest.raises(InvalidSQL, match="nests too deeply"):
        compile(f"SELECT {nested(template, 24)} FROM t", {"t": pl.LazyFrame({"a": [1]})}, now=NOW)
