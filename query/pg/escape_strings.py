"""The escapes of E'...' literals. Source: PostgreSQL documentation, "String Constants with C-Style Escapes"."""

import re
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral

_ESCAPE: Final = re.compile(
    r"''|\\(?:(?P<octal>[0-7]{1,3})|x(?P<byte>[0-9a-fA-F]{1,2})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<unicode>[uU])|(?P<plain>.))",
    re.DOTALL,
)
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HIGH: Final = range(0xD800, 0xDC00)
_LOW: Final = range(0xDC00, 0xE000)


def unescape(source: str) -> str:
    """The text of what stands between the quotes. Raises BadLiteral.

    >>> unescape(r"caf\\xC3\\xA9 \\u0041''")
    "caf\xe9 A'"
    """
    parts: list[bytes] = []
    end, high = 0, 0
    for match in _ESCAPE.finditer(source):
        between = source[end : match.start()]
        code = _code_point(match)
        if bool(high) != (code in _LOW) or (high and between):
            raise BadLiteral(fault.SYNTAX_ERROR, "invalid Unicode surrogate pair")
        parts.append(between.encode())
        if code in _HIGH:
            high = code or 0
        else:
            parts.append(_bytes(match) if code is None else chr(_joined(high, code)).encode())
            high = 0
        end = match.end()
    if high:
        raise BadLiteral(fault.SYNTAX_ERROR, "invalid Unicode surrogate pair")
    return _decoded(b"".join([*parts, source[end:].encode()]))


def _joined(high: int, low: int) -> int:
    """The code point that two surrogates make; without a first one the code point itself."""
    return 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00 if high else low


def _code_point(match: re.Match[str]) -> int | None:
    """What a Unicode escape says; None for any other escape."""
    if match["unicode"]:
        raise BadLiteral("22025", "invalid Unicode escape")
    digits = match["short"] or match["long"]
    if digits is None:
        return None
    code = int(digits, 16)
    if not 0 < code <= 0x10FFFF:
        raise BadLiteral(fault.SYNTAX_ERROR, "invalid Unicode escape value")
    return code


def _bytes(match: re.Match[str]) -> bytes:
    """What an escape of a byte or of a character gives."""
    if match["octal"] or match["byte"]:
        return bytes([int(match["octal"], 8) & 0xFF if match["octal"] else int(match["byte"], 16)])
    plain = match["plain"]
    return b"'" if plain is None else _CONTROLS.get(plain, plain).encode()


def _decoded(text: bytes) -> str:
    """The text that the bytes are. Raises 22021."""
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in text[error.start : error.end])
        raise BadLiteral("22021", f'invalid byte sequence for encoding "UTF8": {shown}') from error
    if "\0" in decoded:
        raise BadLiteral("22021", 'invalid byte sequence for encoding "UTF8": 0x00')
    return decoded
