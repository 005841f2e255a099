"""LIKE patterns as expressions to be searched for, against a matcher written from PostgreSQL's section 9.7.1."""

import itertools
import random

import polars as pl
import pytest

from query.pg.patterns.like import BadPattern, like


def matches(text: str, pattern: str, escape: str) -> bool:
    """The definition: `%` is any text, `_` one character, what follows the escape itself."""
    if not pattern:
        return not text
    if escape and pattern[0] == escape:
        return text[:1] == pattern[1] and matches(text[1:], pattern[2:], escape)
    if pattern[0] == "%":
        return any(matches(text[place:], pattern[1:], escape) for place in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and matches(text[1:], pattern[1:], escape)


TEXTS = ["", *("".join(letters) for size in (1, 2, 3) for letters in itertools.product("a%.\\\n", repeat=size))]


@pytest.mark.parametrize("escape", ["\\", "%", "a", ""])
def test_searching_finds_what_matching_the_whole_text_finds(escape: str) -> None:
    chance = random.Random(7)
    texts = pl.Series("text", TEXTS)
    for _ in range(150):
        pattern = "".join(chance.choices("a%_.\\*", k=chance.randrange(6)))
        try:
            made = like(pattern, escape)
        except BadPattern:
            continue
        if made.fails:
            continue  # an escape character without anything to escape: an error for some texts, no match for the others
        expected = [matches(text, pattern, escape) for text in TEXTS]
        assert texts.str.contains(made.search).to_list() == expected, pattern
        assert texts.str.contains(made.regex).to_list() == expected, pattern
