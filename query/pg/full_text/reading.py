"""Texts -> searches: the notation of tsquery over words, plain words, phrases, and what search engines take.

Source: PostgreSQL documentation, "Parsing Queries" (12.3.2).
"""

import re
from collections.abc import Iterator
from typing import Final

from query.pg.full_text.lexemes import lexemes
from query.pg.full_text.notation import as_written
from query.pg.full_text.query_tree import (
    AND,
    FOLLOWED_BY,
    OR,
    Lexeme,
    Not,
    Nothing,
    Query,
    joined,
    mapped,
    without_nothing,
)


def standard(text: str) -> Query | None:
    """to_tsquery: the same notation; an operand of several lexemes is a phrase."""
    query = as_written(text)
    return None if query is None else without_nothing(mapped(query, _phrase_of))


def _phrase_of(lexeme: Lexeme) -> Query:
    found = [Lexeme(each, lexeme.is_prefix, lexeme.weights) for each in lexemes(lexeme.text)]
    return joined(FOLLOWED_BY, [*found]) if found else Nothing()


def plain(text: str) -> Query | None:
    """plainto_tsquery: all words, wherever they are."""
    found = [Lexeme(each) for each in lexemes(text)]
    return joined(AND, [*found]) if found else None


def phrase(text: str) -> Query | None:
    """phraseto_tsquery: the words one behind the other."""
    return without_nothing(_phrase_of(Lexeme(text)))


_WEB_PIECE: Final = re.compile(
    r"""[\s!&|()<]*(?:(?P<not>-)|"(?P<quoted>[^"]*)"?|(?P<word>[^\s"!&|()<][^\s"!&|()<:]*))""", re.ASCII
)
_WEB_OR: Final = re.compile(r"[\s!&|()<]*or(?![\w-])(?=.\s*[^\s])", re.IGNORECASE | re.DOTALL | re.ASCII)


def web(text: str) -> Query | None:
    """websearch_to_tsquery: words, "phrases", or, and - before what must not be there. Never an error."""
    alternatives: list[list[Query]] = [[]]
    for piece in _web_pieces(text):
        if piece is None:
            alternatives.append([])
        else:
            alternatives[-1].append(piece)
    found = [joined(AND, each) for each in alternatives if each]
    return without_nothing(joined(OR, found)) if found else None


def _web_pieces(text: str) -> Iterator[Query | None]:
    """Operands, and None for `or`."""
    at, negations = 0, 0
    while piece := _WEB_PIECE.match(text, at):
        at = piece.end()
        if piece["not"]:
            negations += 1
            continue
        operand = _phrase_of(Lexeme(piece["quoted"] if piece["word"] is None else piece["word"]))
        for _ in range(negations):
            operand = Not(operand)
        negations = 0
        yield operand
        separator = _WEB_OR.match(text, at)
        if separator is not None:
            at = separator.end()
            yield None
