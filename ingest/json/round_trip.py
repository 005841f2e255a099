"""Whether a frame says what a JSON text says: it is written again, and compared. Knows no schema.

Polars' reader changes without a word what does not fit its schema (docs/decisions/json-decoding.md), but what it has
read it writes faithfully. So a text that is what the frame is written as has nothing that the frame has not. Senders
spell the same values in a few ways; where the text shows one of them, what was written is spelled so, too.
"""

import codecs
import io
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import polars as pl

_WHITE_SPACE: Final = b" \t\n\r"
_AS_ASCII: Final = "weir-json-escapes"
_SHORT: Final = 32
_MOST_ESCAPES: Final = 1 / 100
"""The share of bytes beyond ASCII up to which they are escaped: each run of them costs more than 100 other bytes, and
above that the exact path is cheaper."""

_ESCAPED_BY_SOME: Final = {char: rf"\u{ord(char):04x}".encode() for char in "<>&\x7f"}
"""What Go's encoder escapes lest it be taken for HTML, and the one control character that Polars does not escape."""


def write(frame: pl.DataFrame) -> bytes:
    """The frame as JSON, an array of objects."""
    buffer = io.BytesIO()
    frame.write_json(buffer)
    return buffer.getvalue()


def without_fractions(written: bytes, whole: int, behind: Iterable[bytes]) -> bytes | None:
    """What was written, with `5` for 5.0 at `whole` values, all that have one of `behind` behind them.

    None if others have it there, too: floats of other columns, or what looks like them in a string.
    """
    shorter = written
    for rest in behind:
        shorter = shorter.replace(b".0" + rest, rest)
    return shorter if len(written) - len(shorter) == whole * len(b".0") else None


def is_same_json(written: bytes, text: bytes) -> bool:
    r"""Whether `written`, the DataFrame written as JSON, is the same JSON as `text`, which it was read from.

    `text` may be spelled as Python's json (escapes for all beyond ASCII), Go's encoding/json (`\u003c`) or PHP's
    json_encode (`\/`) write it, and may have white space between its tokens.
    """
    if written == text:
        return True
    if b"\\" in text:
        written = _spelled_like(text, written)
    return written == text or (len(text) > len(written) and _differ_in_space(text, written))


def _spelled_like(text: bytes, written: bytes) -> bytes:
    """`written` with escapes for those characters that `text` has none of but as escapes.

    They stand in strings alone, and behind no backslash that is not itself escaped: so it says the same as before.
    """
    for char, escape in _ESCAPED_BY_SOME.items():
        if char.encode() in written and char.encode() not in text:
            written = written.replace(char.encode(), escape)
    if b"/" in written and b"\\/" in text:
        written = written.replace(b"/", b"\\/")
    if text.isascii() and not written.isascii():
        plain = written.decode()
        if len(written) - len(plain) <= len(written) * _MOST_ESCAPES:
            written = plain.encode("ascii", _AS_ASCII)
    return written


def _differ_in_space(text: bytes, written: bytes) -> bool:
    """Whether the two are the same but for white space.

    Then they have the same tokens: the parser accepted `text`, so no white space stands inside a number or a word, and
    the parser leaves strings unchanged. A key in `text` that differs from the schema's key only in white space matches
    no column; the parser returns null for the column, and null is as good as absent.
    """
    return text.translate(None, _WHITE_SPACE) == written.translate(None, _WHITE_SPACE)


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""Replaces a run of characters beyond ASCII by \u escapes, with surrogate pairs, in lower case."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    run = error.object[error.start : error.end]
    return (_escaped_word(run) if len(run) <= _SHORT else _escaped(run)), error.end


def _escaped(run: str) -> str:
    return json.dumps(run)[1:-1]


_escaped_word = lru_cache(maxsize=4096)(_escaped)
codecs.register_error(_AS_ASCII, _escape)
