"""What a statement asks of texts: values that they must be, parts that they must have, as far as constants say so.

A row group whose text index has no such value or part need not be read (storage/files/text_index.py). As in
`query/plan/conditions.py` a condition that is not understood is left out: then only more is read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from query.pg.full_text.notation import as_written
from query.pg.full_text.query_tree import Both, Lexeme, Query
from query.pg.patterns.like import BadPattern, similar
from query.pg.patterns.tree import (
    Assertion,
    BadRegex,
    Chars,
    Group,
    Look,
    Node,
    Repeat,
    UnsupportedRegex,
    parse_regex,
)
from query.pg.patterns.tree import Sequence as Parts
from query.plan.conditions import ConditionReader, scan_conditions
from query.plan.traverse import conjuncts
from query.plan.tree import Call, Column, Constant, InList, Logic, Relation, Scalar
from storage.files.text_conditions import AnyOf, HasParts, IsOneOf, TextCondition, TextConditions

# Shorter parts are in nearly every row group.
LEAST_LETTERS: Final = 3
# Members of JSON documents are looked for by their text only if every document writes it in the same way: letters that
# need no escape, and no number, which can be written in several ways.
_SAME_IN_JSON: Final = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_ .:@+-]*)")
_WORDS_OF_JSON: Final = ("true", "false", "null")
_MEMBER: Final = re.compile(r"(->>|->|#>>|#>)\(")
_TEXTS: Final = ("text",)


def text_conditions(relation: Relation) -> Mapping[str, Sequence[TextConditions]]:
    """What every scan asks of its texts, by dataset."""
    return scan_conditions(relation, ConditionReader(_conditions, _renamed))


def _renamed(condition: TextCondition, names: Mapping[str, str]) -> TextCondition | None:
    match condition:
        case AnyOf():
            branches = tuple(
                tuple(each for each in (_renamed(inner, names) for inner in branch) if each is not None)
                for branch in condition.branches
            )
            return AnyOf(branches) if all(branches) else None
        case IsOneOf(column, values):
            return IsOneOf(names[column], values) if column in names else None
        case HasParts(column):
            return replace(condition, column=names[column]) if column in names else None


def _conditions(part: Scalar) -> Iterator[TextCondition]:
    match part:
        case Logic(operator="or", operands=operands):
            branches = tuple(
                tuple(condition for each in conjuncts(operand) for condition in _conditions(each))
                for operand in operands
            )
            if all(branches):
                yield AnyOf(branches)
        case InList(value=Column() as column, items=items) if column.type.name in _TEXTS:
            yield IsOneOf(column.id, tuple(str(item) for item in items if item is not None))
        case InList(value=Call() as member, items=items):
            document, parts = _document(member), [_member_part(item) for item in items if item is not None]
            if document is not None and parts and all(parts):
                yield AnyOf(
                    tuple((HasParts(document.id, (each,), in_json=True),) for each in parts if each is not None)
                )
        case Call(function="=(any, any)", args=(Constant() as constant, (Column() | Call()) as value)):
            yield from _equal(value, constant)
        case Call(function="=(any, any)", args=(value, Constant() as constant)):
            yield from _equal(value, constant)
        case Call(function="has lexemes(text, tsquery!)", args=(Column() as column, Constant(value=str() as query))):
            yield from _lexemes(column.id, as_written(query))
        case Call(function=name, args=(Column() as column, Constant(value=str() as pattern), *rest)):
            read = _PATTERNS.get(name)
            escapes = [each.value for each in rest if isinstance(each, Constant)]
            if read is not None and column.type.name in _TEXTS and len(escapes) == len(rest):
                yield from read(column.id, pattern, *map(str, escapes))


def _equal(value: Scalar, constant: Constant) -> Iterator[TextCondition]:
    if not isinstance(constant.value, str) or constant.type.name not in _TEXTS or value.type.name not in _TEXTS:
        return
    if isinstance(value, Column):
        yield IsOneOf(value.id, (constant.value,))
        return
    document, part = _document(value), _member_part(constant.value)
    if document is not None and part is not None:
        yield HasParts(document.id, (part,), in_json=True)


def _document(value: Scalar) -> Column | None:
    """The column whose documents the value is a member of."""
    while isinstance(value, Call) and _MEMBER.match(value.function):
        value = value.args[0]
    return value if isinstance(value, Column) and value.type.name in ("json", "jsonb") else None


def _member_part(value: object) -> str | None:
    """What a document has somewhere if a member of it has this text; None if that cannot be said."""
    if not isinstance(value, str) or value in _WORDS_OF_JSON or not _SAME_IN_JSON.fullmatch(value):
        return None
    return value


def _like(column: str, pattern: str, escape: str, *, ignore_case: bool = False) -> Iterator[TextCondition]:
    parts, escaped = [""], False
    for letter in pattern:
        if escaped or letter not in (escape, "%", "_"):
            parts[-1] += letter
            escaped = False
        elif letter == escape:
            escaped = True
        else:
            parts.append("")
    if not escaped:
        yield from _has_parts(column, parts, ignore_case)


def _ilike(column: str, pattern: str, escape: str) -> Iterator[TextCondition]:
    yield from _like(column, pattern, escape, ignore_case=True)


def _matches(column: str, pattern: str, flags: str = "") -> Iterator[TextCondition]:
    try:
        regex = parse_regex(pattern, flags)
    except (BadRegex, UnsupportedRegex):
        return
    yield from _has_parts(column, required_parts(regex.root), regex.ignore_case)


def _matches_any_case(column: str, pattern: str) -> Iterator[TextCondition]:
    yield from _matches(column, pattern, "i")


def _similar(column: str, pattern: str, escape: str) -> Iterator[TextCondition]:
    try:
        expression = similar(pattern, escape)
    except BadPattern:
        return
    yield from _matches(column, expression)


def _lexemes(column: str, query: Query | None) -> Iterator[TextCondition]:
    """Every lexeme is a part of its text, in some case."""
    match query:
        case Lexeme(text):
            yield from _has_parts(column, [text], ignore_case=True)
        case Both(operator="|", left=left, right=right):
            branches = tuple(tuple(_lexemes(column, each)) for each in (left, right))
            if all(branches):
                yield AnyOf(branches)
        case Both(left=left, right=right):
            yield from _lexemes(column, left)
            yield from _lexemes(column, right)


def _starts_with(column: str, prefix: str) -> Iterator[TextCondition]:
    yield from _has_parts(column, [prefix], ignore_case=False)


_PATTERNS: Final[Mapping[str, Callable[..., Iterator[TextCondition]]]] = MappingProxyType(
    {
        "~~(text, text!, text!)": _like,
        "~~*(text, text!, text!)": _ilike,
        "~(text, text!)": _matches,
        "regexp_like(text, text!)": _matches,
        "~*(text, text!)": _matches_any_case,
        "similar to(text, text!, text!)": _similar,
        "starts_with(text, text)": _starts_with,
        "^@(text, text)": _starts_with,
    }
)


def _has_parts(column: str, parts: Sequence[str], ignore_case: bool) -> Iterator[TextCondition]:
    long_enough = tuple(part for part in parts if len(part.encode()) >= LEAST_LETTERS)
    if long_enough:
        yield HasParts(column, long_enough, ignore_case)


def required_parts(root: Node) -> list[str]:
    """Texts that every match has, each in one piece.

    >>> required_parts(parse_regex(r"\\ytime(out)+ after [0-9]+ ms").root)
    ['time', 'out', ' after ', ' ms']
    """
    parts = [""]
    _collect(root, parts)
    return [part for part in parts if part]


def _collect(node: Node, parts: list[str]) -> None:
    """Append what the node requires: to the last part what stands right behind it."""
    match node:
        case Chars(ranges=((low, high),), classes=(), negated=False) if low == high:
            parts[-1] += chr(low)
        case Assertion() | Look():
            # Of no width: what stands before and behind it meets.
            pass
        case Group():
            _collect(node.inner, parts)
        case Parts():
            for each in node.parts:
                _collect(each, parts)
        case Repeat() if node.low > 0:
            parts.append("")
            _collect(node.inner, parts)
            parts.append("")
        case _:
            parts.append("")
