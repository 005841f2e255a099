"""Which expressions Python's matcher can try in exponentially many ways. Rust's, which most functions use, tries none.

A repetition of repetitions is one: `(a+)+b` splits "aaaa" in every way there is before it gives up.
"""

import re
from collections.abc import Iterator
from typing import Final

from query.pg.patterns.render import python
from query.pg.patterns.tree import Any, Chars, Choice, Group, Look, Node, Regex, Repeat, Sequence

# Code points that an edge may have to be compared with what is beside it, one by one.
MOST_COMPARED: Final = 512
_SPACES: Final = (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_SMALL_CLASSES: Final = {"space": _SPACES, "blank": (9, 32)}


def explodes(regex: Regex) -> bool:
    """True unless every repetition of repetitions can be read in one way only.

    It can where each round has one part of a variable length, of single characters, and begins or ends with another
    one: `([^,]*,)+`.
    """
    return any(_varies(node.inner) and not _is_delimited(node.inner, regex) for node in _repetitions(regex.root))


def _repetitions(node: Node) -> Iterator[Repeat]:
    """Every repetition of more than one round."""
    if isinstance(node, Repeat) and (node.high is None or node.high > 1):
        yield node
    for part in _parts(node):
        yield from _repetitions(part)


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Repeat() | Group() | Look():
            return (node.inner,)
        case Sequence():
            return node.parts
        case Choice():
            return node.branches
        case _:
            return ()


def _varies(node: Node) -> bool:
    """Whether it holds a repetition that may end sooner or later."""
    return (isinstance(node, Repeat) and node.low != node.high) or any(map(_varies, _parts(node)))


def _is_delimited(inner: Node, regex: Regex) -> bool:
    parts = list(_flat(inner))
    variable = [part for part in parts if _varies(part)]
    if len(variable) != 1 or not isinstance(variable[0], Repeat) or not isinstance(variable[0].inner, Chars | Any):
        return False
    if any(isinstance(part, Choice) for part in parts):
        return False
    return any(_is_apart(edge, variable[0].inner, regex) for edge in (parts[0], parts[-1]))


def _flat(node: Node) -> Iterator[Node]:
    """The sequence of nodes, with groups flattened."""
    if isinstance(node, Group | Sequence):
        for part in _parts(node):
            yield from _flat(part)
    else:
        yield node


def _is_apart(edge: Node, other: Node, regex: Regex) -> bool:
    """Whether no character can be both. False where that is not known."""
    points = _points(edge) if isinstance(edge, Chars) else None
    if points is None:
        return False
    overlap = re.compile(python(Regex(other, 0, regex.ignore_case, regex.newline_stops, regex.newline_anchors)))
    return not any(overlap.fullmatch(chr(point)) for point in points)


def _points(chars: Chars) -> list[int] | None:
    """The characters of a set, if they are few."""
    size = sum(high - low + 1 for low, high in chars.ranges)
    if chars.negated or size > MOST_COMPARED or not set(chars.classes) <= set(_SMALL_CLASSES):
        return None
    ranges = [point for low, high in chars.ranges for point in range(low, high + 1)]
    return ranges + [point for name in chars.classes for point in _SMALL_CLASSES[name]]
