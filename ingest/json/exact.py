"""JSON text to Python values, exactly: nothing rounded, nothing overwritten, every refusal with its place.

orjson does the work. Where it would lose something we notice and let the standard library's slower parser read the
same text with our rules:

- a key repeated in one object: orjson keeps the last value, our rule is the first (`repeats_a_key`);
- an integer beyond 64 bits: orjson makes it a float (`loads_exactly`; `ingest.json.decoding` notices);
- half a surrogate pair, as JavaScript writes when it cuts a string: refused by orjson, U+FFFD here, as in Go.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import orjson

from errors import InvalidJSON

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""One escape sequence. A surrogate pair counts as one; so does an escaped backslash, whatever follows it."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_OPEN: Final = re.compile(r"\[[ \t\n\r]*")
_CLOSE: Final = re.compile(r"\][ \t\n\r]*")
_COMMA: Final = re.compile(r",[ \t\n\r]*")


def loads(text: bytes) -> Any:
    """One JSON document; of a repeated key the first value. Integers beyond 64 bits come as floats.

    Raises InvalidJSON with the byte `position`. NaN, Infinity and numbers beyond float64 are not JSON.

    >>> loads(b'{"a": 1, "a": 2}')
    {'a': 1}
    """
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        repaired = replace_lone_surrogates(text)
        if repaired == text:
            require_utf8(text)
            position = len(error.doc[: error.pos].encode())
            raise InvalidJSON(f"invalid JSON: {error.msg}", position=position) from error
        return loads(repaired)
    return loads_exactly(text) if repeats_a_key(text, document) else document


def repeats_a_key(text: bytes, document: Any) -> bool:
    """Whether `document`, parsed by orjson from `text`, lacks a value because its key was repeated.

    Most senders write JSON as orjson does, byte for byte; then nothing is missing. Else the strings are counted:
    every string of the text stands in the document, except a repeated key, and written again it has as many quotes
    as it had, so that the sums differ exactly if a string is gone. Only a quote in its other spelling, \\u0022, could
    hide that; a text with one is said to repeat a key, which costs time alone.
    """
    try:
        written = orjson.dumps(document)
    except orjson.JSONEncodeError:  # nested deeper than orjson writes
        return True
    if written == text:
        return False
    return (b"\\" in text and b"\\u0022" in text) or text.count(b'"') != written.count(b'"')


def replace_lone_surrogates(text: bytes) -> bytes:
    r"""`text` with U+FFFD for every half of a surrogate pair, at the same length.

    >>> replace_lone_surrogates(rb'"\ud83d\ude00 \ud83d"')
    b'"\\ud83d\\ude00 \\ufffd"'
    """
    if b"\\" not in text or (b"\\ud" not in text and b"\\uD" not in text):
        return text
    repaired = bytearray(text)
    for escape in _ESCAPE.finditer(text):
        if escape["lone"]:
            repaired[escape.start() : escape.end()] = b"\\ufffd"
    return bytes(repaired)


def loads_exactly(text: bytes) -> Any:
    """One JSON document by the slow parser: integers of any size, of a repeated key the first value."""
    return ExactReader(text).only()


class ExactReader:
    """Reads the JSON values of a text one after the other, by the standard library. Raises InvalidJSON."""

    def __init__(self, text: bytes) -> None:
        require_utf8(text)
        self._text = replace_lone_surrogates(text).decode()
        self._position = 0
        self._skip(_SPACE)

    def only(self) -> Any:
        """The one value of the text."""
        value = self._value()
        if not self._is_finished:
            self._refuse("text after the value")
        return value

    def events(self) -> Iterator[Any]:
        """The values of the text; of an array at the top, its elements. Holds one of them at a time."""
        while not self._is_finished:
            if self._skip(_OPEN):
                yield from self._elements()
            else:
                yield self._value()

    def _elements(self) -> Iterator[Any]:
        if self._skip(_CLOSE):
            return
        yield self._value()
        while self._skip(_COMMA):
            yield self._value()
        if not self._skip(_CLOSE):
            self._refuse("expected ',' or ']'")

    def _value(self) -> Any:
        try:
            value, self._position = _DECODER.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            self._position = error.pos
            self._refuse(error.msg)
        except RecursionError:
            self._refuse("nested too deep")
        except ValueError as error:
            self._refuse(str(error))
        self._skip(_SPACE)
        return value

    @property
    def _is_finished(self) -> bool:
        return self._position == len(self._text)

    def _skip(self, token: re.Pattern[str]) -> bool:
        """Step over a token and the white space after it, if it is there."""
        found = token.match(self._text, self._position)
        self._position = found.end() if found else self._position
        return found is not None

    def _refuse(self, reason: str) -> NoReturn:
        position = len(self._text[: self._position].encode())
        raise InvalidJSON(f"invalid JSON: {reason}", position=position)


def require_utf8(text: bytes) -> None:
    """Raises InvalidJSON with the place of the first byte that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise InvalidJSON("invalid JSON: the body is not UTF-8", position=error.start) from error


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        value = {}
        for key, child in pairs:
            value.setdefault(key, child)
    return value


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is beyond float64")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_first_wins, parse_float=_finite, parse_constant=_no_constant)
