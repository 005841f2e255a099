"""Loki's label sets as text: `{job="app", host="a"}`, with Go's quoting. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from errors import InvalidBody

# Longer ones are read each time, so that what is kept stays small.
LONGEST_KEPT: Final = 4096
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_LABEL: Final = re.compile(rf"\s*({_QUOTED}|[^\s=,{{}}\"]+)\s*=\s*({_QUOTED}|`[^`]*`)\s*(,|$)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CODE_POINT: Final = 0x10FFFF


def parse(text: str) -> Mapping[str, str]:
    """The labels of a stream. Raises InvalidBody.

    >>> dict(parse('{job="app", path="a\\\\"b"}'))
    {'job': 'app', 'path': 'a"b'}
    """
    return _parsed_before(text) if len(text) <= LONGEST_KEPT else _parsed(text)


def _parsed(text: str) -> Mapping[str, str]:
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        raise InvalidBody(f"the labels of a stream are not in braces: {stripped[:100]!r}")
    inner = stripped[1:-1].strip()
    labels: dict[str, str] = {}
    position = 0
    while position < len(inner):
        found = _LABEL.match(inner, position)
        if found is None:
            raise InvalidBody(f"the labels of a stream cannot be read: {inner[position : position + 100]!r}")
        labels.setdefault(_unquoted(found[1]), _unquoted(found[2]))
        position = found.end()
    return MappingProxyType(labels)


_parsed_before: Final = lru_cache(maxsize=1024)(_parsed)


def _unquoted(text: str) -> str:
    if text[0] not in '"`':
        return text
    inner = text[1:-1]
    return inner if text[0] == "`" or "\\" not in inner else _ESCAPE.sub(_unescaped, inner)


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) == 1:
        return _ESCAPED.get(escape, escape)
    code = int(escape, 8) if escape[0].isdigit() else int(escape[1:], 16)
    is_byte = escape[0] not in "uU"
    # A byte that Go escaped is no UTF-8 by itself; half a surrogate pair is no character.
    unusable = (is_byte and code > 0x7F) or 0xD800 <= code <= 0xDFFF or code > _LAST_CODE_POINT
    return "�" if unusable else chr(code)
