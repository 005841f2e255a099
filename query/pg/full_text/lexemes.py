"""The lexemes of texts by the configuration `simple`: tokens in lower case."""

from collections.abc import Iterator
from typing import Final

from query.pg.full_text.tokens import tokens
from query.pg.patterns.like import lower_letter

# Of these kinds `simple` makes no lexeme, and they count as no place.
_LEFT_OUT: Final = ("blank", "tag", "protocol", "entity")
_MOST_BYTES: Final = 2_046
"""Of a lexeme; a longer one is left out, and its place is not counted."""


def lexemes(text: str) -> Iterator[str]:
    """The lexemes in the order of their places.

    >>> list(lexemes("GET http://shop.local/Cart <b>"))
    ['get', 'shop.local/cart', 'shop.local', '/cart']
    """
    for token in tokens(text):
        if token.kind not in _LEFT_OUT:
            lexeme = _lower(text[token.start : token.end])
            if len(lexeme.encode()) <= _MOST_BYTES:
                yield lexeme


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(lower_letter, text))
