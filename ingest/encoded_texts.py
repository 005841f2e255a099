"""Encoded texts, many at once: what stands before each follows from its size. Knows protobuf's wire form alone."""

from collections.abc import Sequence
from typing import Final

# Longer texts than a length of three bytes tells are read one by one.
_WIDTHS: Final = (1, 2, 3)
# The header of a size that no message of the form has. No message begins so: it would be a field of wire type 7.
_IMPOSSIBLE: Final = b"\xff"


class TextHeaders(dict[int, bytes]):
    """By the size of a message, the bytes that it has before its text.

    The messages begin with `start`. What follows is the field of the first tag; its content is the field of the next,
    and so on; the last one's content is the text.

    >>> TextHeaders(b"", b"\\x12\\x0a")[7]
    b'\\x12\\x05\\n\\x03'
    """

    def __init__(self, start: bytes, tags: bytes) -> None:
        super().__init__()
        self._start = start
        self._tags = tags

    def __missing__(self, size: int) -> bytes:
        header = self._start
        left = size - len(header)
        for tag in self._tags:
            length = _length(left)
            if length is None:
                header = _IMPOSSIBLE
                break
            left -= 1 + len(length)
            header += bytes((tag,)) + length
        self[size] = header
        return header


def texts_of(encoded: Sequence[bytes], headers: TextHeaders) -> list[str] | None:
    """The texts of these messages; None unless each is its header and a text in UTF-8. Most are."""
    befores = list(map(headers.__getitem__, map(len, encoded)))
    if not all(map(bytes.startswith, encoded, befores)):
        return None
    try:
        return [each[len(before) :].decode() for each, before in zip(encoded, befores, strict=True)]
    except UnicodeDecodeError:
        return None


def _length(size: int) -> bytes | None:
    """The length, as protobuf writes it, of a field that takes `size` bytes with its tag; None: no field does."""
    for width in _WIDTHS:
        length = size - 1 - width
        encoded = _varint(length)
        if length >= 0 and len(encoded) == width:
            return encoded
    return None


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(max(number, 0))
    return bytes(encoded)
