"""The lexemes of texts with their places (tsvector), by the configuration `simple`, and whether a query matches."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from query.pg.bad_values import BadLiteral
from query.pg.full_text.lexemes import lexemes
from query.pg.full_text.query_tree import AND, FOLLOWED_BY, OR, UNWEIGHTED, Both, Lexeme, Not, Query

_LAST_PLACE: Final = 16_383
_MOST_PLACES: Final = 255
_MOST_VECTOR_BYTES: Final = 2**20 - 1

_ENTRY: Final = re.compile(r"'((?:[^']|'')*)':([0-9,]+)")

Vector = Mapping[str, list[int]]
"""Places, counted from 1, by lexeme."""


def vector(text: str) -> Vector:
    """The lexemes of a text with their places. Raises BadLiteral 54000 for more than a vector holds."""
    found: dict[str, list[int]] = {}
    for number, lexeme in enumerate(lexemes(text), 1):
        places, place = found.setdefault(lexeme, []), min(number, _LAST_PLACE)
        if len(places) < _MOST_PLACES and (not places or places[-1] != _LAST_PLACE):
            places.append(place)
    size = sum(len(lexeme.encode()) for lexeme in found)
    if size > _MOST_VECTOR_BYTES:
        raise BadLiteral("54000", f"string is too long for tsvector ({size} bytes, max {_MOST_VECTOR_BYTES} bytes)")
    return found


def output(found: Vector) -> str:
    """PostgreSQL's text of a vector.

    >>> output(vector("to be or not to be"))
    "'be':2,6 'not':4 'or':3 'to':1,5"
    """
    ordered = sorted(found.items(), key=lambda item: item[0].encode())
    return " ".join(f"{_quoted(lexeme)}:{','.join(map(str, places))}" for lexeme, places in ordered)


def read(text: str) -> Vector:
    """The vector whose text `output` has made."""
    found: dict[str, list[int]] = {}
    for match in _ENTRY.finditer(text):
        lexeme = match[1].replace("''", "'").replace("\\\\", "\\")
        found[lexeme] = [int(place) for place in match[2].split(",")]
    return found


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _Match:
    """Where a phrase ends, or with `negated` where it does not; it begins `width` places before."""

    places: frozenset[int] = field(default_factory=frozenset)
    negated: bool = False
    width: int = 0

    @property
    def holds(self) -> bool:
        return self.negated or bool(self.places)

    def moved(self, distance: int) -> frozenset[int]:
        return frozenset(place + distance for place in self.places)


def matches(query: Query | None, found: Vector) -> bool:
    """Whether the query matches (`@@`); one without lexemes matches nothing."""
    match query:
        case Not(operand):
            return not matches(operand, found)
        case Both(operator, left, right) if operator == AND:
            return matches(left, found) and matches(right, found)
        case Both(operator, left, right) if operator == OR:
            return matches(left, found) or matches(right, found)
        case Lexeme() | Both():
            return _places(query, found).holds
    return False


def _places(query: Query, found: Vector) -> _Match:
    """Where the query matches as part of a phrase (TS_phrase_execute)."""
    match query:
        case Lexeme():
            return _Match(frozenset(_places_of(query, found)))
        case Not(operand):
            inner = _places(operand, found)
            return _Match(inner.places, not inner.negated, inner.width)
        case Both():
            return _joined(query, _places(query.left, found), _places(query.right, found))
    return _Match()


def _places_of(lexeme: Lexeme, found: Vector) -> Iterator[int]:
    if lexeme.weights and UNWEIGHTED not in lexeme.weights:
        return
    if not lexeme.is_prefix:
        yield from found.get(lexeme.text, ())
        return
    for each, places in found.items():
        if each.startswith(lexeme.text):
            yield from places


_SETS: Final[Mapping[tuple[bool, bool], Callable[[frozenset[int], frozenset[int]], frozenset[int]]]] = {
    (False, False): frozenset.intersection,
    (True, False): lambda left, right: right - left,
    (False, True): frozenset.difference,
    (True, True): frozenset.union,
}
"""Where both hold, by whether either side is negated; where both are, where they do not both hold."""


def _joined(query: Both, left: _Match, right: _Match) -> _Match:
    if query.operator == FOLLOWED_BY:
        if not left.holds or not right.holds:
            return _Match()
        width = query.distance + left.width + right.width
        return _both(left, left.moved(query.distance + right.width), right, right.places, width)
    if query.operator == AND and not (left.holds and right.holds):
        return _Match()
    left, right = (each if each.holds else _Match() for each in (left, right))
    width = max(left.width, right.width)
    places = left.moved(width - left.width), right.moved(width - right.width)
    if query.operator == AND:
        return _both(left, places[0], right, places[1], width)
    # left or right is not (not left and not right).
    neither = _SETS[not left.negated, not right.negated](*places)
    return _Match(neither, negated=left.negated or right.negated, width=width)


def _both(left: _Match, at_left: frozenset[int], right: _Match, at_right: frozenset[int], width: int) -> _Match:
    places = _SETS[left.negated, right.negated](at_left, at_right)
    return _Match(places, negated=left.negated and right.negated, width=width)
