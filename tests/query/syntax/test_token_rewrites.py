"""Spellings that PostgreSQL's lexer and grammar have: documentation, "Lexical Structure" (api.md section 5)."""

from datetime import UTC, datetime

import pytest

from errors import InvalidSQL
from query.engine import compile, prepare
from query.syntax.parse import parse

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("literal", "number"),
    [("0x1F", 31), ("0o17", 15), ("0b101", 5), ("1_500_000", 1_500_000), ("0xFF_FF", 65535)],
)
def test_number_in_another_base_or_with_underscores(literal: str, number: int) -> None:
    assert compile(f"SELECT {literal}", {}, now=NOW).collect().item() == number


@pytest.mark.parametrize("literal", ["0b2", "1_", "1__0", "0x", "12abc"])
def test_number_that_runs_into_a_name_is_an_error(literal: str) -> None:
    with pytest.raises(InvalidSQL, match="trailing junk") as raised:
        parse(f"SELECT {literal}")

    assert raised.value.details["position"] == 8


def test_keyword_is_a_label_where_nothing_else_can_stand() -> None:
    fields = prepare(parse("SELECT 1 AS select, 2 AS on, 3 select"), {}, now=NOW).fields

    assert [field.name for field in fields] == ["select", "on", "select_1"]


def test_order_by_an_operator() -> None:
    rows = compile("SELECT x FROM (VALUES (1), (3), (2)) t(x) ORDER BY x USING >", {}, now=NOW).collect().rows()

    assert rows == [(3,), (2,), (1,)]


def test_keyword_as_a_table_alias_is_an_error() -> None:
    with pytest.raises(InvalidSQL):
        parse("SELECT 1 FROM t AS select")


def test_older_sign_of_a_named_argument() -> None:
    assert compile("SELECT make_interval(days := 3)::text", {}, now=NOW).collect().item() == "3 days"


@pytest.mark.parametrize("word", ["year", "over", "filter"])
def test_keyword_that_wants_as_before_it_is_no_bare_label(word: str) -> None:
    """PostgreSQL documentation, appendix C: "requires AS"."""
    with pytest.raises(InvalidSQL) as raised:
        parse(f"SELECT 1 {word}")

    assert raised.value.details["position"] == 10
    assert prepare(parse(f"SELECT 1 AS {word}"), {}, now=NOW).fields[0].name == word


def test_unit_of_an_interval_is_no_label() -> None:
    assert compile("SELECT INTERVAL '2' DAY, 1", {}, now=NOW).collect().width == 2
