"""When the first match is the longest one, as PostgreSQL's section 9.7.3.5 wants it."""

import pytest

from query.pg.patterns.longest_match import same_match
from query.pg.patterns.tree import parse_regex


@pytest.mark.parametrize(
    "pattern", ["took ([0-9]+)ms", "[^,]*,(.*)", r"(\w+)@(\w+)", "(foobar|foo)x", "(a|ab)(c|bcd)", ".*"]
)
def test_one_way_to_match(pattern: str) -> None:
    assert same_match(parse_regex(pattern))


@pytest.mark.parametrize(
    "pattern",
    ["foo|foobar", "(a|ab)c?", "([a-c]|[b-d]x)", "([Ā-ſ]|[Ā-ſ]b)", "(.|ab)", r"(\d|[0-9]a)"],
)
def test_a_shorter_way_that_is_tried_first(pattern: str) -> None:
    assert not same_match(parse_regex(pattern))


@pytest.mark.parametrize(("flags", "same"), [("", True), ("i", False)])
def test_case_may_make_two_ways_of_one(flags: str, same: bool) -> None:
    assert same_match(parse_regex("(a|Ab)", flags)) is same
