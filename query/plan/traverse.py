"""Walking and rewriting bound trees."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

from query.pg.clock import Clock
from query.pg.types import PgType
from query.plan import tree
from query.plan.tree import Bound, Column, Field, Frame, Relation, Scalar, Scan, SortKey

Node = TypeVar("Node")

_NODES: Final = (Scalar, Relation, SortKey)
_PARTS: Final = (Frame, Bound)
_LEAVES: Final = (str, bool, int, int | None, PgType, Clock | None, tuple[int, ...], tuple[str, ...], tuple[Field, ...])
_SLOTS: Final[dict[type[object], tuple[str, ...]]] = {
    node_class: tuple(slot.name for slot in fields(node_class) if slot.type not in _LEAVES)
    for node_class in vars(tree).values()
    if isinstance(node_class, type) and is_dataclass(node_class)
}
"""For each class of nodes, the fields that can hold nodes. Reflection is slow, and walks are frequent."""


def children(node: object) -> list[object]:
    """The scalars, sort keys and relations directly under a node."""
    nodes: list[object] = []
    for name in _SLOTS.get(type(node), ()):
        _collect_nodes(getattr(node, name), nodes)
    return nodes


def _collect_nodes(value: object, nodes: list[object]) -> None:
    if isinstance(value, _NODES):
        nodes.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect_nodes(item, nodes)
    elif isinstance(value, _PARTS):
        nodes.extend(children(value))


def inputs(relation: Relation) -> dict[str, Relation]:
    """The relations that a relation reads, by the names of its fields."""
    values = ((name, getattr(relation, name)) for name in _SLOTS[type(relation)])
    return {name: value for name, value in values if isinstance(value, Relation)}


def scans(relation: Relation) -> Iterator[Scan]:
    """Every scan below a relation, as often as it is read."""
    if isinstance(relation, Scan):
        yield relation
    for source in inputs(relation).values():
        yield from scans(source)


def replace_relation(relation: Relation, old: Relation, new: Relation) -> Relation:
    """The tree with another relation in the place of one."""
    if relation is old:
        return new
    sources: dict[str, Any] = {name: replace_relation(source, old, new) for name, source in inputs(relation).items()}
    is_changed = any(source is not getattr(relation, name) for name, source in sources.items())
    return replace(relation, **sources) if is_changed else relation


def columns(node: object) -> Iterator[Column]:
    """Every column reference in an expression."""
    if isinstance(node, Column):
        yield node
        return
    for child in children(node):
        yield from columns(child)


def rewrite(node: Node, change: Callable[[Scalar], Scalar | None]) -> Node:
    """A copy where every scalar for which `change` gives another one is replaced, from the top."""
    if isinstance(node, Scalar):
        changed = change(node)
        if changed is not None:
            return cast(Node, changed)
    updates: dict[str, object] = {}
    for name in _SLOTS.get(type(node), ()):
        value = getattr(node, name)
        new = _rewrite_part(value, change)
        if new is not value:
            updates[name] = new
    return replace(node, **updates) if updates else node  # type: ignore[type-var]


def _rewrite_part(value: object, change: Callable[[Scalar], Scalar | None]) -> object:
    if isinstance(value, tuple):
        items = [_rewrite_part(item, change) for item in value]
        return tuple(items) if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return rewrite(value, change)


def substitute_columns(node: Node, mapping: Mapping[str, Scalar]) -> Node:
    """A copy where columns are replaced by what `mapping` says of their identifiers."""

    def change(scalar: Scalar) -> Scalar | None:
        return mapping.get(scalar.id) if isinstance(scalar, Column) else None

    return rewrite(node, change)


def defined_columns(relation: Relation) -> set[str]:
    """Identifiers of every column made anywhere in a relation."""
    identifiers = {field.id for field in relation.fields}
    for child in children(relation):
        if isinstance(child, Relation):
            identifiers |= defined_columns(child)
    return identifiers


def free_columns(relation: Relation) -> tuple[Column, ...]:
    """Columns of enclosing queries that a relation refers to, each once."""
    own = defined_columns(relation)
    return tuple(dict.fromkeys(column for column in columns(relation) if column.id not in own))


def conjuncts(predicate: Scalar) -> list[Scalar]:
    """The parts of a conjunction."""
    from_logic = getattr(predicate, "operator", None) == "and"
    if not from_logic:
        return [predicate]
    return [part for operand in predicate.operands for part in conjuncts(operand)]  # type: ignore[attr-defined]
