"""Regular expressions of matchers and label_replace, as RE2 reads them: Polars' engine is of the same family.

They run in time linear in the text, whatever the expression, and always match the whole value.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl

from promql.tree import Matcher

_PLAIN: Final = re.compile(r"[\w\-/ :,@]*(?:\|[\w\-/ :,@]*)*", re.ASCII)


@dataclass(frozen=True)
class Pattern:
    """`names`: the groups that have one, by name."""

    text: str
    names: dict[str, int]

    def matches(self, values: Sequence[str]) -> list[bool]:
        found = pl.Series(values, dtype=pl.String).str.contains(self.text)
        return [bool(each) for each in found]

    def groups(self, values: Sequence[str]) -> list[list[str] | None]:
        """For each value its groups, beginning with all of it; None where the expression does not match."""
        series = pl.Series("value", values, dtype=pl.String)
        matched = series.str.contains(self.text)
        extracted = series.str.extract_groups(self.text)
        fields = extracted.struct.fields
        columns = [extracted.struct.field(field).to_list() for field in fields]
        return [
            [value, *((column[i] or "") for column in columns)] if is_match else None
            for i, (value, is_match) in enumerate(zip(values, matched, strict=True))
        ]


@lru_cache(maxsize=1_024)
def compile_pattern(expression: str) -> Pattern:
    """Raises ValueError for what is no expression."""
    text = f"^(?s:{expression})$"
    try:
        pl.Series([""]).str.contains(text)
    except pl.exceptions.ComputeError as error:
        raise ValueError(f"error parsing regexp: {expression}") from error
    # Names count in the order of all opening groups; those that only group open with "(?:" or flags.
    names: dict[str, int] = {}
    index = 0
    for found in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?P?<(\w+)>|\?)?", text):
        opening = found.group()
        if not opening.startswith("(") or opening == "(?":
            continue
        index += 1
        if found[1]:
            names[found[1]] = index
    return Pattern(text, names)


def is_alternation(expression: str) -> bool:
    """Whether the expression is plain texts with `|` between, which can be compared instead.

    >>> is_alternation("api|web"), is_alternation("api.*")
    (True, False)
    """
    return _PLAIN.fullmatch(expression) is not None


def matching(matcher: Matcher, values: Sequence[str]) -> list[bool]:
    """Which values the matcher takes. Raises ValueError for what is no expression."""
    match matcher.operation:
        case "=":
            return [value == matcher.value for value in values]
        case "!=":
            return [value != matcher.value for value in values]
        case _ if is_alternation(matcher.value):
            texts = set(matcher.value.split("|"))
            return [(value in texts) == (matcher.operation == "=~") for value in values]
        case _:
            is_match = compile_pattern(matcher.value).matches(values)
            return is_match if matcher.operation == "=~" else [not each for each in is_match]


def matches(matcher: Matcher, value: str) -> bool:
    return matching(matcher, [value])[0]
