"""However a statement nests, parsing it takes bounded time: docs/security.md, "SQL"."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from sqlglot.dialects.postgres import Postgres

from errors import InvalidSQL, WeirError
from query.fault import STATEMENT_TOO_COMPLEX
from query.limits import MAX_STATEMENT_CHARACTERS
from query.syntax import dialect
from query.syntax.dialect import WeirParser
from query.syntax.parse import parse

# Of the words that are one token to the parser one each, and those that it looks at by their text.
WORDS = sorted(
    {
        *{kind: word for word, kind in Postgres.Tokenizer.KEYWORDS.items() if word.strip()}.values(),
        *WeirParser.FUNCTION_PARSERS,
        *WeirParser.NO_PAREN_FUNCTION_PARSERS,
        *("coalesce", "generate_series", "rows from", "lateral", "unnest", "nullif", "if", "connect by", "x"),
    }
)
# What is put into itself, with each word in the place of #.
NESTINGS = {
    "call": ("# (", ")"),
    "second argument": ("#(1, ", ")"),
    "subscript": ("# [", "]"),
    "operand": ("1 # (", ")"),
    "prefix in brackets": ("(# ", ")"),
    "prefix in an array": ("array[# ", "]"),
    "type": ("1::#(", ")"),
    "angles": ("#<", ">"),
    "sub-query": ("# (select ", ")"),
    "order": ("(select 1 order by # ", ")"),
}
AFTER_FROM = ("call", "prefix in brackets", "sub-query")
# Twice as much would already be a million times as much in a family that doubles at every level.
DEPTH = 10
LONG_SECONDS = 120


@pytest.fixture(autouse=True)
def an_end() -> Iterator[None]:
    """A parser that does not end fails its test."""

    def late(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"not parsed within {LONG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONG_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def nested(opening: str, closing: str, depth: int = DEPTH, inner: str = "1") -> str:
    return opening * depth + inner + closing * depth


def refusal(sql: str) -> str | None:
    """The SQLSTATE of the error that parsing ends with."""
    try:
        parse(sql)
    except WeirError as error:
        return str(error.details.get("sqlstate"))
    return None


@pytest.mark.parametrize("shape", NESTINGS)
def test_no_word_makes_parsing_grow_with_a_power_of_its_nesting(shape: str) -> None:
    """One that did would have used up by then what the parser may go back."""
    opening, closing = NESTINGS[shape]
    prefixes = ("select ", "select * from ") if shape in AFTER_FROM else ("select ",)
    statements = [
        prefix + nested(opening.replace("#", word), closing.replace("#", word)) for word in WORDS for prefix in prefixes
    ]

    assert [sql for sql in statements if refusal(sql) == STATEMENT_TOO_COMPLEX] == []


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(("array[", "]"), id="array"),
        pytest.param(("(array[", "])"), id="array in brackets"),
        pytest.param(("int4(", ")"), id="int4"),
        pytest.param(("int4[", "]"), id="subscript"),
        pytest.param(("date (", ")"), id="date"),
        pytest.param(("timestamp(", ")"), id="timestamp"),
        pytest.param(("cstring(", ")"), id="pseudo type"),
        pytest.param(("if[", "]"), id="if"),
        pytest.param(("1::int[", "]"), id="type with a size"),
        pytest.param(("int4(array[date (", ")])"), id="mixed"),
    ],
)
def test_the_longest_statement_of_nested_types_is_parsed_or_refused_soon(pair: tuple[str, str]) -> None:
    opening, closing = pair
    unit = nested(opening, closing, 38 // (opening.count("(") + opening.count("[")))
    copies = (MAX_STATEMENT_CHARACTERS - 100) // (len(unit) + 2)

    refusal("select " + ", ".join([unit] * copies))

    assert refusal(f"select {unit}") is None


def test_what_may_be_gone_back_over_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for families that nobody has found yet."""
    monkeypatch.setattr(dialect, "MAX_REREAD", 0)
    monkeypatch.setattr(dialect, "REREAD_ANYWAY", 20)

    with pytest.raises(InvalidSQL, match="nests too deeply"):
        parse("select " + nested("array[", "]"))


@pytest.mark.parametrize("sql", ["select 1 as a connect by 1 = 1", "select a from t start with a = 1"])
def test_statements_share_no_state_of_the_parser(sql: str) -> None:
    """sqlglot reads CONNECT BY with a word put into a table of all parsers, and takes it out only if all goes well."""
    words = dict(WeirParser.NO_PAREN_FUNCTION_PARSERS)

    assert refusal(sql) == "42601"
    assert words == WeirParser.NO_PAREN_FUNCTION_PARSERS


def test_a_subscript_of_a_call_that_looks_like_a_type_is_no_error_of_ours() -> None:
    assert parse("select f(int4(1)[1])").datasets == ()
