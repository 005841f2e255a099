"""The notation of tsquery: `a & !b | c <-> d:*`.

Source: PostgreSQL documentation, "tsquery" (8.11.2).
"""

import re
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral
from query.pg.full_text.query_tree import AND, FOLLOWED_BY, OR, Both, Lexeme, Not, Query

_MOST_DISTANCE: Final = 16_384
_MOST_DEPTH: Final = 200
_SPACES: Final = re.compile(r"\s*", re.ASCII)
_WORD: Final = re.compile(r"(?:\\.|[^\s\\!&|()<:'])(?:\\.|[^\s\\!&|()<:])*", re.DOTALL | re.ASCII)
_QUOTED: Final = re.compile(r"'((?:\\.|''|[^\\'])+)'", re.DOTALL)
_MARKS: Final = re.compile(r":([*A-Da-d]*)")
_FOLLOWED: Final = re.compile(r"<(?:-|([0-9]+))>")


def as_written(text: str) -> Query | None:
    """A literal of type tsquery, whose lexemes are taken as they are. None if it has none. Raises BadLiteral."""
    return _Reader(text).query()


class _Reader:
    """The notation of tsquery: `!`, then `<->`, then `&`, then `|`."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def query(self) -> Query | None:
        self._skip()
        if self._at == len(self._text):
            return None
        found = self._any()
        if self._at < len(self._text):
            raise self._error()
        return found

    def _any(self) -> Query:
        found = self._all()
        while self._take("|"):
            found = Both(OR, found, self._all())
        return found

    def _all(self) -> Query:
        found = self._phrase()
        while self._take("&"):
            found = Both(AND, found, self._phrase())
        return found

    def _phrase(self) -> Query:
        found = self._negated()
        while followed := _FOLLOWED.match(self._text, self._at):
            self._at = followed.end()
            self._skip()
            distance = int(followed[1] or 1)
            if distance > _MOST_DISTANCE:
                allowed = f"an integer value between zero and {_MOST_DISTANCE} inclusive"
                raise BadLiteral("22023", f"distance in phrase operator must be {allowed}")
            found = Both(FOLLOWED_BY, found, self._negated(), distance)
        return found

    def _negated(self) -> Query:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise BadLiteral("54001", "stack depth limit exceeded")
        if self._take("!"):
            found: Query = Not(self._negated())
        elif self._take("("):
            found = self._any()
            if not self._take(")"):
                raise self._error()
        else:
            found = self._operand()
        self._depth -= 1
        return found

    def _operand(self) -> Query:
        quoted, word = _QUOTED.match(self._text, self._at), _WORD.match(self._text, self._at)
        operand = quoted or word
        if operand is None:
            raise self._error()
        text = operand[0] if quoted is None else quoted[1].replace("''", "'")
        self._at = operand.end()
        marks = _MARKS.match(self._text, self._at)
        letters = marks[1].upper() if marks else ""
        self._at = marks.end() if marks else self._at
        self._skip()
        return Lexeme(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), "*" in letters, letters.replace("*", ""))

    def _take(self, sign: str) -> bool:
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        self._skip()
        return True

    def _skip(self) -> None:
        found = _SPACES.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _error(self) -> BadLiteral:
        return BadLiteral(fault.SYNTAX_ERROR, f'syntax error in tsquery: "{self._text[:100]}"')
