"""White space and comments mean nothing (PostgreSQL documentation, "Lexical Structure")."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from errors import WeirError
from query.syntax.comments import without_comments
from query.syntax.dialect import WeirPostgres
from query.syntax.parse import parse

# A text may go on after a line end, but not after a blank or a comment in /* */.
JOINED: Final = re.compile(r"'(?:\s|--[^\n]*|/\*.*?\*/)*'")
LEXEME: Final = re.compile(
    r"""(?:[eE]'(?:[^'\\]|\\.|'')*'|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'|(\$\w*\$).*?\1|"(?:[^"]|"")*"
    |--[^\n]*\n?|/\*.*?\*/|[\w$.\x80-\uffff]+|\s+|[-+*/<>=~!@\#%^&|`?:]+|.)""",
    re.DOTALL | re.VERBOSE,
)
WORD: Final = re.compile(r"[\w$.'\"\x80-\uffff]")
SYMBOL: Final = re.compile(r"[-+*/<>=~!@#%^&|`?:]")
CORPUS: Final = sorted((Path(__file__).parents[2] / "oracle" / "corpus").glob("*.jsonl"))
STATEMENTS: Final = [
    sql
    for path in CORPUS
    for line in path.read_text("utf-8").splitlines()[::4]
    if not JOINED.search(sql := json.loads(line)["sql"])
]


def commented(lexemes: Sequence[str]) -> str:
    return "".join("/* ' */" if each.isspace() else each for each in lexemes)


def broken(lexemes: Sequence[str]) -> str:
    return "".join("\n-- it's\n" if each.isspace() else each for each in lexemes)


def tight(lexemes: Sequence[str]) -> str:
    """No blank where none is needed to part two words or two symbols."""
    text = ""
    for before, each, after in zip(["", *lexemes], lexemes, [*lexemes[1:], ""], strict=False):
        ends = f"{before[-1:]} {after[:1]}".split(" ")
        is_needed = all(map(WORD.match, ends)) or all(map(SYMBOL.match, ends)) or before.startswith("--")
        text += each if not each.isspace() or is_needed else ""
    return text


def reading(sql: str) -> str:
    """What the statement is to the binder, or the state of the error."""
    try:
        return parse(sql).tree.sql(dialect=WeirPostgres(), comments=False)
    except WeirError as error:
        return str(error.details["sqlstate"])


@pytest.mark.parametrize("written", [commented, broken, tight])
def test_statements_are_read_alike_however_they_are_spaced(written: Callable[[Sequence[str]], str]) -> None:
    """Found by this: `ORDER /* c */ BY`, and `extract(epoch FROM b-a)`, whose dash was taken for part of a name."""
    for sql in STATEMENTS:
        lexemes = [each[0] for each in LEXEME.finditer(sql)]
        assert "".join(lexemes) == sql
        assert reading(written(lexemes)) == reading(sql), written(lexemes)


@pytest.mark.parametrize(
    ("sql", "blanked"),
    [
        ("SELECT 1 -- a\n+ 1", "SELECT 1     \n+ 1"),
        ("SELECT 1/* a\n/* b */ c */+ 1", "SELECT 1    \n            + 1"),
        ("SELECT '--', \"/*\", $$--$$, $a$/*$a$", None),
        (r"SELECT E'\'--', e'\\'", None),
        (r"SELECT E'\\'--'", r"SELECT E'\\'   "),
        (r"SELECT name'\'--'", r"SELECT name'\'   "),
        ("SELECT a$$--$$", "SELECT a$$    "),
        ("SELECT 1 /* open", None),
        ("SELECT 1 /* a */ /* open", "SELECT 1         /* open"),
        ("SELECT 'open -- a", None),
        ("SELECT 5 - -1", None),
    ],
)
def test_comments_become_blanks_where_they_stood(sql: str, blanked: str | None) -> None:
    assert without_comments(sql) == (sql if blanked is None else blanked)


@pytest.mark.parametrize("sql", ["/* a */ EXPLAIN SELECT 1", "-- a\nexplain /* b */ SELECT 1"])
def test_a_comment_may_come_first(sql: str) -> None:
    assert parse(sql).explain
