"""Query parameters: `"parameters": [...]` for `$1` placeholders, typed, never spliced as text."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import InvalidSQL
from query import engine
from query.engine import Table
from query.syntax.parse import parse

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
APP = {"app": Table(pl.LazyFrame({"n": [1, 2, 3], "level": ["info", "it's", "error"]}))}


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    return engine.prepare(parse(sql, parameters), APP, now=NOW).frame.collect().rows()


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        ("SELECT n FROM app WHERE level = $1", ("it's",), [(2,)]),
        ("SELECT n FROM app WHERE n > $1 AND n < $2", (1, 3), [(2,)]),
        ("SELECT n FROM app WHERE n = $1 OR n = $1 + 1", (1,), [(1,), (2,)]),
        ("SELECT n FROM app WHERE n > $1", (2.5,), [(3,)]),
        ("SELECT n FROM app WHERE (n = 1) = $1", (True,), [(1,)]),
        ("SELECT $1 - $2 AS d", (-1, -2), [(1,)]),
        ("SELECT coalesce($1, 'none') AS x", (None,), [("none",)]),
        ("SELECT n FROM app WHERE n = $1", ("2",), [(2,)]),
        ("SELECT $1::int + 1 AS x", ("41",), [(42,)]),
        ("SELECT '$1' AS x", (), [("$1",)]),
    ],
)
def test_placeholders_take_their_values(sql: str, parameters: tuple[Any, ...], expected: list[tuple[Any, ...]]) -> None:
    assert rows(sql, *parameters) == expected


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT $1", ()),
        ("SELECT $2", ("a",)),
        ("SELECT $0", ("a",)),
        ("SELECT 1", ("a",)),
        ("SELECT $" + "9" * 50, (1,)),
    ],
)
def test_placeholders_and_values_must_match(sql: str, parameters: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidSQL):
        parse(sql, parameters)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_no_text_leaves_its_place(text: str) -> None:
    """attacks.md 6: quotes, comments and semicolons are nothing but text."""
    assert rows("SELECT $1 || '' AS x", text) == [(text,)]
    assert parse("SELECT n FROM app WHERE level = $1", (text,)).datasets == ("app",)
