"""The tree of a generated query: what renders to SQL, and what may be cut from it. Knows no grammar."""

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

OPTIONAL: Final = "optional"
"""The kind of a clause that a query does without."""


@dataclass(frozen=True)
class Node:
    """A piece of SQL: text with children in it. `kind` is an expression's type or a clause's name.

    A part that is a number stands for that child, so that one child may stand in two places. With a `separator`, the
    children are a list, and `parts` is not used.
    """

    kind: str
    parts: tuple[str | int, ...] = ()
    children: tuple["Node", ...] = ()
    separator: str | None = None

    def sql(self) -> str:
        if self.separator is not None:
            return self.separator.join(child.sql() for child in self.children)
        return "".join(part if isinstance(part, str) else self.children[part].sql() for part in self.parts)

    def size(self) -> int:
        """The number of nodes."""
        return 1 + sum(child.size() for child in self.children)


def text(kind: str, sql: str) -> Node:
    """A node without children."""
    return Node(kind, (sql,))


def sequence(children: Sequence[Node], separator: str = ", ") -> Node:
    """A list, of which one child must stay."""
    return Node("list", (), tuple(children), separator)


def fill(kind: str, template: str, fresh: Callable[[str], Node], given: Mapping[str, Node] | None = None) -> Node:
    """The node of a template: a hole `{int4}` takes a fresh node of that kind, `{text:a}` the same one each time.

    >>> fill("int4", "({int4} + {int4})", lambda kind: text(kind, "1")).sql()
    '(1 + 1)'
    """
    parts: list[str | int] = []
    children: list[Node] = []
    places: dict[str, int] = {}
    for literal, hole, label, _ in string.Formatter().parse(template):
        parts.append(literal)
        if hole is None:
            continue
        place = places.get(label) if label else None
        if place is None:
            place = len(children)
            children.append(given[hole] if given and hole in given else fresh(hole))
        if label:
            places[label] = place
        parts.append(place)
    return Node(kind, tuple(parts), tuple(children))


EMPTY: Final = text(OPTIONAL, "")


def smaller(node: Node, constants: Mapping[str, str]) -> Iterator[Node]:
    """Every tree that differs from this one by one cut, the boldest cuts first."""
    yield from _cuts(node, constants)
    for index, child in enumerate(node.children):
        for cut in smaller(child, constants):
            yield replace(node, children=(*node.children[:index], cut, *node.children[index + 1 :]))


def _cuts(node: Node, constants: Mapping[str, str]) -> Iterator[Node]:
    if node.kind == OPTIONAL and node.sql():
        yield EMPTY
    if node.separator is not None and len(node.children) > 1:
        for index in range(len(node.children)):
            yield replace(node, children=(*node.children[:index], *node.children[index + 1 :]))
    yield from sorted(_same_kind_below(node), key=Node.size)
    if node.kind in constants and node.sql() != constants[node.kind]:
        yield text(node.kind, constants[node.kind])


def _same_kind_below(node: Node) -> Iterator[Node]:
    if node.kind in (OPTIONAL, "list"):
        return
    pending = list(node.children)
    while pending:
        below = pending.pop()
        if below.kind == node.kind:
            yield below
        pending.extend(below.children)
