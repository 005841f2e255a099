"""Names of SQL read from texts, and texts with Unicode escapes.

Source: PostgreSQL documentation, "String Functions and Operators": parse_ident, unistr.
"""

import re
import string
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import argument_names, define
from query.pg.bad_values import BadLiteral

_FAMILY = "Text"
_PART: Final = re.compile(
    r'[ \t\n\r\f\v]*(?:"((?:[^"]|"")+)"|([A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*))[ \t\n\r\f\v]*'
)
_SMALL: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ESCAPE: Final = re.compile(
    r"\\(?:(\\)|([0-9a-fA-F]{4})|u([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|U([0-9a-fA-F]{8})|())", re.DOTALL
)
_MOST: Final = 0x10FFFF
_HIGH: Final = range(0xD800, 0xDC00)
_LOW: Final = range(0xDC00, 0xE000)


@define(
    "parse_ident(text) -> text[]; parse_ident(text, bool!) -> text[]",
    "The parts of a qualified name; unless the second argument is false, nothing may follow.",
    family=_FAMILY,
)
def parse_ident(context: CallContext, value: pl.Expr, strict: object = True) -> pl.Expr:
    return context.rowwise(lambda text: _parts(text, strict=bool(strict)), value)


def _parts(text: str, *, strict: bool) -> list[str]:
    parts: list[str] = []
    place, goes_on = 0, True
    while goes_on:
        match = _PART.match(text, place)
        if match is None:
            raise _no_name(text)
        quoted, plain = match.groups()
        parts.append(plain.translate(_SMALL) if quoted is None else quoted.replace('""', '"'))
        place = match.end()
        goes_on = text[place : place + 1] == "."
        place += goes_on
    if strict and place < len(text):
        raise _no_name(text)
    return parts


def _no_name(text: str) -> BadLiteral:
    return BadLiteral(fault.INVALID_PARAMETER, f'string is not a valid identifier: "{text}"')


@define("unistr(text) -> text", r"With escapes as \0041 and \U0001F600 resolved.", family=_FAMILY)
def unistr(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(_unescaped, value)


def _unescaped(text: str) -> str:
    made, place, high = [], 0, 0
    for match in _ESCAPE.finditer(text):
        plain = text[place : match.start()] + ("\\" if match[1] else "")
        place = match.end()
        if high and (plain or match[1]):
            raise _no_pair()
        made.append(plain)
        if match[1]:
            continue
        code = _code(next((digits for digits in match.groups() if digits), ""))
        if (code in _LOW) != bool(high):
            raise _no_pair()
        if code not in _HIGH:
            made.append(chr(0x10000 + ((high & 0x3FF) << 10) + (code & 0x3FF) if high else code))
        high = code if code in _HIGH else 0
    if high:
        raise _no_pair()
    return "".join((*made, text[place:]))


def _code(digits: str) -> int:
    """Raises 42601 without digits, 22023 for what is no code point."""
    if not digits:
        raise BadLiteral(fault.SYNTAX_ERROR, "invalid Unicode escape")
    code = int(digits, 16)
    if not 0 < code <= _MOST:
        raise BadLiteral(fault.INVALID_PARAMETER, f"invalid Unicode code point: {digits}")
    return code


def _no_pair() -> BadLiteral:
    return BadLiteral(fault.SYNTAX_ERROR, "invalid Unicode surrogate pair")


argument_names("parse_ident", "str, strict")
