"""Array literals, `{a,"b c",NULL}` and `{{1,2},{3,4}}`: from text to items that are still texts (array_in).

Source: PostgreSQL documentation, "Arrays", section "Array Input and Output Syntax".
"""

import re
from dataclasses import dataclass
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral, UnsupportedLiteral

Items = list["str | Items | None"]

MOST_DIMENSIONS: Final = 6
_ITEM: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^",{}\\]|\\.)+?))\s*([,}])', re.DOTALL)
_NESTED: Final = re.compile(r"\s*\{")
_DELIMITER: Final = re.compile(r"\s*([,}])")
_EMPTY: Final = re.compile(r"\{\s*\}")
_BOUNDS: Final = re.compile(r"\[\s*([-+]?\d+)\s*(?::\s*([-+]?\d+)\s*)?\]\s*")


class _Malformed(Exception):
    pass


@dataclass(frozen=True, slots=True)
class ArrayInput:
    """The items of a literal, and how many there are in each dimension; no dimension for an empty array."""

    items: Items
    sizes: tuple[int, ...]


def array_items(text: str) -> ArrayInput:
    """The items of an array literal. Raises BadLiteral, UnsupportedLiteral."""
    try:
        bounds, rest = _bounds(text.strip())
        items, end = _items(rest, 0, 1)
        _require_one_depth(items)
        sizes = _sizes(items)
        if end != len(rest) or (bounds and bounds != sizes):
            raise _Malformed
    except _Malformed as error:
        raise BadLiteral(fault.INVALID_TEXT, f'malformed array literal: "{text[:100]}"') from error
    return ArrayInput(items if sizes else [], sizes)


def _bounds(text: str) -> tuple[tuple[int, ...], str]:
    """The sizes in front of the literal, `[1:3]=`, and the literal. An array that does not begin at 1 is refused."""
    sizes: list[int] = []
    end = 0
    while match := _BOUNDS.match(text, end):
        low, high = (int(match[1]), int(match[2])) if match[2] else (1, int(match[1]))
        if high < low:
            raise BadLiteral("2202E", "upper bound cannot be less than lower bound")
        if low != 1:
            raise UnsupportedLiteral("an array whose first subscript is not 1")
        sizes.append(high)
        end = match.end()
    if sizes and text[end : end + 1] != "=":
        raise _Malformed
    return tuple(sizes), text[end + 1 :].lstrip() if sizes else text


def _items(text: str, start: int, depth: int) -> tuple[Items, int]:
    """The items between a brace and its partner, and where the text goes on."""
    if depth > MOST_DIMENSIONS:
        message = f"number of array dimensions exceeds the maximum allowed ({MOST_DIMENSIONS})"
        raise BadLiteral(fault.PROGRAM_LIMIT, message)
    if text[start : start + 1] != "{":
        raise _Malformed
    if empty := _EMPTY.match(text, start):
        return [], empty.end()
    items: Items = []
    end, delimiter = start + 1, ","
    while delimiter == ",":
        item, end, delimiter = _item(text, end, depth)
        items.append(item)
    return items, end


def _item(text: str, start: int, depth: int) -> tuple[str | Items | None, int, str]:
    """An item, where the text goes on behind the delimiter that follows it, and that delimiter."""
    if nested := _NESTED.match(text, start):
        items, end = _items(text, nested.end() - 1, depth + 1)
        delimiter = _DELIMITER.match(text, end)
        if delimiter is None:
            raise _Malformed
        return items, delimiter.end(), delimiter[1]
    match = _ITEM.match(text, start)
    if match is None:
        raise _Malformed
    quoted, bare = match[1], match[2]
    word = re.sub(r"\\(.)", r"\1", bare.strip() if quoted is None else quoted, flags=re.DOTALL)
    is_null = quoted is None and bare.strip().upper() == "NULL"
    return None if is_null else word, match.end(), match[3]


def _sizes(items: Items) -> tuple[int, ...]:
    """The items of each dimension, which are as many everywhere; nothing for arrays of empty arrays."""
    inner = {_sizes(item) if isinstance(item, list) else None for item in items}
    if len(inner) > 1:
        raise _Malformed
    below = inner.pop() if inner else ()
    if below is None:
        return (len(items),)
    return (len(items), *below) if below else ()


def _require_one_depth(items: Items) -> None:
    """Fails for an array that ends sooner than one beside it, such as `{{},{{}}}`, though neither holds anything."""
    if len(_depths(items)) > 1:
        raise _Malformed


def _depths(items: Items) -> set[int]:
    """How many braces stand around each innermost array."""
    inner = [item for item in items if isinstance(item, list)]
    return {depth + 1 for item in inner for depth in _depths(item)} if inner else {1}
