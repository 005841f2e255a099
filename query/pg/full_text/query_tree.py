"""Full text queries as trees, and their text form (tsqueryout)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

AND: Final = "&"
OR: Final = "|"
FOLLOWED_BY: Final = "<->"
_PRIORITIES: Final = {OR: 1, AND: 2, FOLLOWED_BY: 3}
_NOT_PRIORITY: Final = 4
_LETTERS: Final = "ABCD"
UNWEIGHTED: Final = "D"
"""The weight of what to_tsvector makes."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A lexeme, or with `is_prefix` all that begin so; `weights` restricts it to those of these weights."""

    text: str
    is_prefix: bool = False
    weights: str = ""


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Query"


@dataclass(frozen=True, slots=True)
class Both:
    """`left & right`, `left | right`, or right `distance` places behind left."""

    operator: str
    left: "Query"
    right: "Query"
    distance: int = 1


@dataclass(frozen=True, slots=True)
class Nothing:
    """A text without a lexeme, as an operand."""


Query = Lexeme | Not | Both | Nothing


def joined(operator: str, operands: list[Query]) -> Query:
    """The operands, the first two joined first."""
    result = operands[0]
    for operand in operands[1:]:
        result = Both(operator, result, operand)
    return result


def mapped(query: Query, change: Callable[[Lexeme], Query]) -> Query:
    """The query with its lexemes changed."""
    match query:
        case Lexeme():
            return change(query)
        case Not(operand):
            return Not(mapped(operand, change))
        case Both():
            return replace(query, left=mapped(query.left, change), right=mapped(query.right, change))
    return query


def without_nothing(query: Query) -> Query | None:
    """The query without operands that have no lexeme; None if it has none at all.

    The lexemes around such an operand of a phrase stay as far from each other as they were.
    """
    return _cleaned(query)[0]


def _cleaned(query: Query) -> tuple[Query | None, int, int]:
    """The query, and how many places it has lost before and behind it."""
    match query:
        case Lexeme():
            return query, 0, 0
        case Nothing():
            return None, 0, 0
        case Not(operand):
            inner, before, behind = _cleaned(operand)
            return (Not(inner) if inner is not None else None), before, behind
    distance = query.distance if query.operator == FOLLOWED_BY else 0
    left, before, left_behind = _cleaned(query.left)
    right, right_before, behind = _cleaned(query.right)
    is_phrase = query.operator == FOLLOWED_BY
    if left is None and right is None:
        lost = before + distance + right_before if is_phrase else max(before, right_before)
        return None, lost, lost
    if left is None:
        return right, before + distance + right_before if is_phrase else right_before, behind
    if right is None:
        return left, before, left_behind + distance + behind if is_phrase else left_behind
    if is_phrase:
        return replace(query, left=left, right=right, distance=distance + left_behind + right_before), before, behind
    return replace(query, left=left, right=right), 0, 0


def output(query: Query | None) -> str:
    """PostgreSQL's text of a query.

    >>> output(Both("&", Lexeme("a"), Not(Both("<->", Lexeme("b", is_prefix=True), Lexeme("it's"), 2))))
    "'a' & !( 'b':* <2> 'it''s' )"
    """
    return "" if query is None else _infix(query, 0, is_right_of_phrase=False)


def _infix(query: Query, outer: int, is_right_of_phrase: bool) -> str:
    match query:
        case Lexeme(text, is_prefix, weights):
            marks = ("*" if is_prefix else "") + "".join(letter for letter in _LETTERS if letter in weights)
            quoted = text.replace("\\", "\\\\").replace("'", "''")
            return f"'{quoted}'" + (f":{marks}" if marks else "")
        case Not(operand):
            return "!" + _infix(operand, _NOT_PRIORITY, is_right_of_phrase=False)
        case Nothing():
            return ""
    priority, is_phrase = _PRIORITIES[query.operator], query.operator == FOLLOWED_BY
    sign = query.operator if query.distance == 1 or not is_phrase else f"<{query.distance}>"
    left = _infix(query.left, priority, is_right_of_phrase=False)
    text = f"{left} {sign} {_infix(query.right, priority, is_right_of_phrase=is_phrase)}"
    return f"( {text} )" if priority < outer or (is_phrase and is_right_of_phrase) else text
