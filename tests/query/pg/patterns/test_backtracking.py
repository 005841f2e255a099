"""Which regular expressions Python's matcher is not given: docs/sql.md, "Patterns"."""

import re
import time

import pytest

from query.pg.patterns.backtracking import explodes
from query.pg.patterns.render import python
from query.pg.patterns.tree import parse_regex

EXPLODING = [
    *("(a+)+b", "(a*)*b", "(a?){50}b", "(a*,a*)+b", "(a*a*,)+b", "(\\w+\\s*)+b", "((a+,)+;)+b", "(.+,)+b"),
    *("([a-z]+|,)+b", "(?:(?:a+)b?)*c", "([a-z]+[[:alpha:]])+1", "(a+A)+b"),
]
HARMLESS = [
    *("(a+)?b", "([a-z]+,)+", "([^,]*,)*", "(,\\d+)*", "(\\w+\\s)+", "(\\s\\S+)*", "(ab?)+", "(a|b)+", "(a{2})+"),
    *("(?:\\d{1,3}\\.){3}\\d{1,3}", "a+b+", "(\\d+)-(\\d+)"),
]


@pytest.mark.parametrize("pattern", EXPLODING)
def test_a_repetition_with_many_readings_is_found(pattern: str) -> None:
    flags = "i" if "A" in pattern else ""

    assert explodes(parse_regex(pattern, flags))


@pytest.mark.parametrize("pattern", HARMLESS)
def test_what_can_be_read_in_one_way_is_left_to_python(pattern: str) -> None:
    """And it fails soon, of which the first text is the hardest."""
    assert not explodes(parse_regex(pattern))

    compiled = re.compile(python(parse_regex(f"(?:{pattern})!")))
    started = time.process_time()
    for piece in ("a", "a,", "ab", "a ", " a", "1.", "1", ",1"):
        assert compiled.search(piece * 300) is None
    assert time.process_time() - started < 20
