"""Errors that teach: each says what to write instead, and nothing that would not run."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from errors import InvalidSQL, UnsupportedSQL, WeirError
from query import advice, engine
from query.engine import Table
from query.syntax.parse import parse

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ROWS = pl.DataFrame(
    {
        "x": [1.0, 3.0],
        "t": [NOW, NOW + timedelta(minutes=1)],
        "text": ["2026-01-01 00:00:00", "2026-01-02 00:00:00"],
        "j": ['{"member": 1}', '{"member": 2}'],
        "tags": [["a"], ["b"]],
        "status": [200, 500],
    }
).lazy()


def run(sql: str) -> None:
    tables = {"app": Table(ROWS, frozenset({"j"}))}
    engine.prepare(parse(sql), tables, now=NOW).frame.collect()


def refusal(sql: str) -> WeirError:
    with pytest.raises((InvalidSQL, UnsupportedSQL)) as caught:
        run(sql)
    return caught.value


@pytest.mark.parametrize("expression", advice.examples())
def test_what_a_hint_says_to_write_runs(expression: str) -> None:
    # The two casts of the time text to a number have no such text here.
    column = "'7'::text" if expression.startswith(("text::big", "text::double")) else "text"
    run(f"SELECT {expression.replace('text::', f'({column})::', 1)} FROM app")


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("median(x)", "percentile_cont(0.5) WITHIN GROUP"),
        ("quantile(x, .95)", "percentile_cont(0.95) WITHIN GROUP"),
        ("rate(x)", "lag(x) OVER"),
        ("time_bucket('5m', t)", "date_bin("),
        ("histogram(t)", "date_bin("),
        ("match_all('x')", "ILIKE"),
        ("strftime(t, '%Y')", "to_char("),
        ("countIf(x > 1)", "count(*) FILTER"),
        ("len(text)", "length(text)"),
        ("if(x > 1, 2, 3)", "CASE WHEN"),
    ],
)
def test_functions_of_other_products_are_told_apart(call: str, instead: str) -> None:
    error = refusal(f"SELECT {call} FROM app")

    assert error.details["sqlstate"] == "42883"
    assert instead in str(error.details["hint"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cuont", "count"),
        ("lenght", "length"),
        ("regexp_replce", "regexp_replace"),
        ("frobnicate", None),
        ("greet", None),
    ],
)
def test_only_near_names_of_functions_are_guessed(name: str, hint: str | None) -> None:
    expected = None if hint is None else f'Perhaps you meant the function "{hint}".'

    assert refusal(f"SELECT {name}(text) FROM app").details.get("hint") == expected


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        ("INSERT INTO app VALUES (1)", "INSERT", "only queries can run"),
        ("delete from app", "DELETE", "retention"),
        ("CREATE VIEW v AS SELECT 1", "CREATE", "only queries can run"),
        ("SET TIME ZONE 'UTC'", "SET", "AT TIME ZONE"),
        ("SHOW TABLES", "SHOW", "information_schema.tables"),
        ("BEGIN", "BEGIN", "only queries can run"),
        ("EXPLAIN INSERT INTO app VALUES (1)", "INSERT", "only queries can run"),
    ],
)
def test_statements_that_are_no_queries_are_unsupported(sql: str, word: str, hint: str) -> None:
    """PostgreSQL would run them: `unsupported_sql`, docs/errors.md."""
    error = refusal(sql)

    assert (error.code, error.message) == ("unsupported_sql", f"{word} is not supported")
    assert hint in str(error.details["hint"])


@pytest.mark.parametrize(
    ("sql", "near", "hint"),
    [
        ("DESCRIBE app", "DESCRIBE", "information_schema.columns"),
        ("\\d app", "\\", "information_schema.tables"),
        ("USE db", "USE", "FROM"),
        ('{app="x"}', "{", "/prometheus/api/v1/query"),
        ("SELECT TOP 5 * FROM app", "5", "LIMIT 5"),
        ("SELECT * FROM app | WHERE x > 1", "|", "conditions go in WHERE"),
        ("SELECT * FROM app | stats count()", "|", "conditions go in WHERE"),
        ("SELECT * FROM `app`", "`", "double quotes"),
        ("SELECT `x` FROM app", "`", "double quotes"),
        ("SELECT * FROM my-app", "-", 'write "my-app"'),
        ("SELECT * FROM my-app-2 WHERE a = 1", "-", 'write "my-app-2"'),
        ("SELECT * FROM app JOIN my-app ON true", "-", 'write "my-app"'),
        ("SELECT * FROM app, web-3-x", "-", None),
    ],
)
def test_syntax_errors_say_how_it_is_written(sql: str, near: str, hint: str | None) -> None:
    error = refusal(sql)

    assert (error.message, error.details["position"]) == (
        f'syntax error at or near "{near}"',
        sql.index(near) + 1,
    )
    assert hint is None or hint in str(error.details["hint"])


@pytest.mark.parametrize(
    "condition", ['text = "web-1"', "text IN (\"web-1\", 'b')", 'text LIKE "web-1"', '"web-1" = text']
)
def test_text_in_double_quotes_is_told_from_a_column(condition: str) -> None:
    error = refusal(f"SELECT 1 FROM app WHERE {condition}")

    assert (error.message, error.details["sqlstate"]) == ('column "web-1" does not exist', "42703")
    assert error.details["hint"] == "text is written with single quotes: 'web-1'"


def test_second_brackets_of_a_call_elsewhere() -> None:
    error = refusal("SELECT quantile(0.9)(x) FROM app")

    assert (error.details["position"], "percentile_cont(0.95)" in str(error.details["hint"])) == (21, True)


def test_duration_that_is_no_number_is_an_interval() -> None:
    assert refusal("SELECT now() - 1h").details["hint"] == "write interval '1 hours'"
    assert "hint" not in refusal("SELECT 1hour").details


def test_a_column_that_is_not_compared_is_no_text() -> None:
    assert "hint" not in refusal('SELECT "web-1" FROM app').details


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("status ILIKE '5%'", "operator does not exist: bigint ~~* unknown"),
        ("status LIKE '5%'", "operator does not exist: bigint ~~ unknown"),
        ("status NOT ILIKE '5%'", "operator does not exist: bigint !~~* unknown"),
        ("status ILIKE text", "operator does not exist: bigint ~~* text"),
        ("status NOT LIKE text", "operator does not exist: bigint !~~ text"),
        ("status ~ '5'", "operator does not exist: bigint ~ unknown"),
    ],
)
def test_patterns_on_numbers_are_refused_in_words_of_postgresql(condition: str, message: str) -> None:
    assert refusal(f"SELECT 1 FROM app WHERE {condition}").message == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("date_trunc('hour', text)", "function date_trunc(unknown, text) does not exist"),
        (
            "date_bin('1 hour', text, now())",
            "function date_bin(unknown, text, timestamp with time zone) does not exist",
        ),
        ("extract(hour FROM text)", "function pg_catalog.extract(unknown, text) does not exist"),
        ("to_char(text, 'YYYY')", "function to_char(text, unknown) does not exist"),
    ],
)
def test_text_where_a_time_belongs_is_to_be_cast(call: str, message: str) -> None:
    error = refusal(f"SELECT {call} FROM app")

    assert (error.message, error.details["sqlstate"]) == (message, "42883")
    assert "text::timestamptz" in str(error.details["hint"])


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT 1 FROM app QUALIFY true", "QUALIFY"),
        ("SELECT text @@ 'x' FROM app", "a full text configuration other than simple"),
        ("SELECT x'1F'", "a bit string"),
        ("SELECT * EXCLUDE (x) FROM app", "EXCEPT in a list of columns"),
        ("SELECT pg_sleep(1)", "function pg_sleep(integer)"),
        ("SELECT 1 FROM app LIMIT 5 BY x", "LIMIT BY"),
        ("SELECT {'a': 1}", "{...}"),
    ],
)
def test_constructs_are_named_in_words_of_sql(sql: str, construct: str) -> None:
    error = refusal(sql)

    assert (error.code, error.message) == ("unsupported_sql", f"{construct} is not supported")
