"""Full text search by the configuration `simple`: vectors of texts, and which texts a search finds."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.full_text import vectors
from query.pg.full_text.notation import as_written
from query.pg.full_text.query_tree import FOLLOWED_BY, OR, Both, Lexeme, Not, Query
from query.pg.patterns.like import like

_FAMILY = "Text search"
_ESCAPED: Final = str.maketrans({letter: f"\\{letter}" for letter in "\\%_"})
_LETTERS: Final = re.compile("[a-z]+")
_SPACE: Final = r"[ \t\n\x0b\x0c\r]"
# A word between these is a token of its own, unless it is within a tag.
_BEFORE: Final = rf"""(?:^|{_SPACE})["'(\[{{]?"""
_BEHIND: Final = rf"(?:[^A-Za-z0-9._@:/\x80-\U0010ffff-]|[.:]{_SPACE}|[.:]?$)"
_TAG: Final = "<"


@define("text vector(text) -> tsvector", "to_tsvector.", family=_FAMILY)
def text_vector(context: CallContext, text: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda value: vectors.output(vectors.vector(value)), text)


@define("has lexemes(text, tsquery!) -> bool", "Whether a search finds a text.", family=_FAMILY)
def has_lexemes(context: CallContext, text: pl.Expr, query: object) -> pl.Expr:
    """Only texts whose letters do not decide it are taken apart: that takes some 20 us for each."""
    tree = _tree(query)
    bounds = _bounds(tree, text)
    undecided = pl.when(bounds.may & ~bounds.must).then(text)
    found = context.rowwise(lambda value: vectors.matches(tree, vectors.vector(value)), undecided)
    return pl.when(undecided.is_not_null()).then(found).when(text.is_not_null()).then(bounds.must)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Which texts a search `may` find, and which it `must`, by their letters alone."""

    may: pl.Expr
    must: pl.Expr


def _bounds(query: Query | None, text: pl.Expr) -> _Bounds:
    match query:
        case Lexeme():
            return _of_lexeme(query, text)
        case Not(operand):
            inner = _bounds(operand, text)
            return _Bounds(~inner.must, ~inner.may)
        case Both(operator, left, right):
            first, second = _bounds(left, text), _bounds(right, text)
            if operator == OR:
                return _Bounds(first.may | second.may, first.must | second.must)
            if operator == FOLLOWED_BY:
                return _Bounds(pl.lit(True) if _has_not(query) else first.may & second.may, pl.lit(False))
            return _Bounds(first.may & second.may, first.must & second.must)
    return _Bounds(pl.lit(False), pl.lit(False))


def _has_not(query: Query | None) -> bool:
    match query:
        case Both(left=left, right=right):
            return _has_not(left) or _has_not(right)
    return isinstance(query, Not)


def _of_lexeme(lexeme: Lexeme, text: pl.Expr) -> _Bounds:
    may = text.str.contains(like(f"%{lexeme.text.translate(_ESCAPED)}%", "\\", ignore_case=True).search)
    if lexeme.weights or not _LETTERS.fullmatch(lexeme.text):
        return _Bounds(may, pl.lit(False))
    rest = "[A-Za-z]*" if lexeme.is_prefix else ""
    is_word = text.str.contains(f"{_BEFORE}(?i-u:{lexeme.text}){rest}{_BEHIND}")
    return _Bounds(may, is_word & ~text.str.contains(_TAG, literal=True))


@define("vector matches(tsvector, tsquery!) -> bool", "Whether a search finds a text.", family=_FAMILY)
def matches(context: CallContext, vector: pl.Expr, query: object) -> pl.Expr:
    tree = _tree(query)
    return context.rowwise(lambda text: vectors.matches(tree, vectors.read(text)), vector)


@lru_cache(maxsize=64)
def _tree(query: object) -> Query | None:
    return as_written(str(query))
