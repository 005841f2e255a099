"""The words of an SQL/JSON path: numbers, names, strings with their escapes, signs. Source: jsonpath_scan.l."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

SYNTAX_ERROR: Final = "42601"
INVALID_TEXT: Final = "22P02"
INVALID_REGULAR_EXPRESSION: Final = "2201B"

_BLANK: Final = r"(?:[ \t\n\r\f]|/\*(?:[^*]|\*(?!/))*\*/)*"
_OTHER: Final = r"[^?%$.\[\]{}()|&!=<>@#,*:\-+/ \t\n\r\f\\\"]"
_DIGITS: Final = r"[0-9](?:_?[0-9])*"
_WHOLE: Final = r"(?:0|[1-9](?:_?[0-9])*)"
_BASED: Final = r"0[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*"
_DECIMAL: Final = rf"(?:{_WHOLE}\.(?:{_DIGITS})?|\.{_DIGITS})"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_NAME: Final = rf"(?:{_OTHER}|\\u\{{[^}}]*\}}|\\.)+"
_TOKEN: Final = re.compile(
    rf"{_BLANK}(?:(?P<number>(?:{_DECIMAL}|{_WHOLE})[eE][-+]?{_DIGITS}|{_DECIMAL})"
    rf"|(?P<integer>{_BASED}|{_WHOLE})|(?P<string>{_QUOTED})|(?P<variable>\$(?:{_QUOTED}|{_NAME}))|(?P<name>{_NAME})"
    r"|(?P<sign>\*\*|==|!=|<>|<=|>=|&&|\|\||[$@.*\[\](){}?:,!<>+\-/%]))",
    re.DOTALL,
)
_JUNK: Final = re.compile(_OTHER)
_ENDING: Final = re.compile(_BLANK, re.DOTALL)
_ESCAPE: Final = re.compile(
    r"(?P<codes>(?:\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\}))+)|\\x(?P<byte>[0-9a-fA-F]{2})"
    r"|\\(?P<wrong>[ux])|\\(?P<plain>.)",
    re.DOTALL,
)
_CODE: Final = re.compile(r"[0-9a-fA-F]+")
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LARGEST_EXPONENT: Final = 1_000
"""Numbers are written out, as PostgreSQL does with up to 131,072 digits."""


class BadPath(ValueError):
    """The text is no path."""

    def __init__(self, message: str, sqlstate: str = SYNTAX_ERROR) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class UnsupportedPath(ValueError):
    """PostgreSQL has what the path asks for and we have not."""


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: integer, number, string, variable, name or sign; `text` is the source of a number, else what it says."""

    kind: str
    text: str


def tokens_of(text: str) -> list[Token]:
    """The words of a path. Raises BadPath, UnsupportedPath."""
    found: list[Token] = []
    position = 0
    while _ENDING.fullmatch(text, position) is None:
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadPath(f'syntax error at or near "{text[position : position + 40].strip()}" of jsonpath input')
        kind, position = str(match.lastgroup), match.end()
        if kind in ("integer", "number") and _JUNK.match(text, position):
            raise BadPath(f'trailing junk after numeric literal at or near "{match[kind]}" of jsonpath input')
        found.append(Token(kind, _said(kind, match[kind])))
    return found


def number_of(token: Token) -> int | Decimal:
    """The number that a token writes."""
    plain = token.text.replace("_", "")
    if token.kind == "integer":
        return int(plain, 0)
    value = Decimal(plain)
    if abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise UnsupportedPath(f"a number of more than {_LARGEST_EXPONENT} digits in a jsonpath")
    return value


def _said(kind: str, source: str) -> str:
    if kind == "string":
        return _unescaped(source[1:-1])
    if kind == "variable":
        return _unescaped(source[2:-1] if source[1] == '"' else source[1:])
    return _unescaped(source) if kind == "name" else source


def _unescaped(source: str) -> str:
    return _ESCAPE.sub(_character, source) if "\\" in source else source


def _character(match: re.Match[str]) -> str:
    if match["wrong"]:
        raise BadPath("invalid escape sequence in jsonpath input")
    if match["plain"]:
        return _CONTROLS.get(match["plain"], match["plain"])
    if match["byte"]:
        return _text_of([int(match["byte"], 16)])
    return _text_of([int(code, 16) for code in _CODE.findall(match["codes"].replace("\\u", " "))])


def _text_of(codes: list[int]) -> str:
    """The characters of code points, of which pairs of surrogates are one."""
    if 0 in codes:
        raise BadPath("unsupported Unicode escape sequence", "22P05")
    units = b"".join(chr(code).encode("utf-16-be", "surrogatepass") for code in codes if code <= 0x10FFFF)
    try:
        if max(codes) <= 0x10FFFF:
            return units.decode("utf-16-be")
    except UnicodeDecodeError:
        pass
    raise BadPath("invalid input syntax for type jsonpath", INVALID_TEXT)
