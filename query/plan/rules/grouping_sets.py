"""Grouping sets over one reading: the coarser sets from the groups of the finest, where the aggregates allow it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from query.pg.types import INTEGERS, is_keyed
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Coalesce,
    Constant,
    Field,
    Materialized,
    Project,
    Relation,
    Scalar,
    SetOperation,
)

_ITSELF: Final = ("min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or")
"""Aggregates of a whole that are the same aggregates of what they are of its parts."""


def from_the_finest(relation: Relation) -> Relation:
    """A union of grouping sets with the coarser ones made from the groups of the finest, which are kept for them."""
    if not isinstance(relation, SetOperation):
        return relation
    branches = list(_branches(relation))
    parts = [part.input for part in branches if isinstance(part, Project) and isinstance(part.input, Aggregate)]
    if len(parts) < max(2, len(branches)):
        return relation
    finest = max(parts, key=lambda part: len(part.keys))
    if not all(_is_coarser(part, finest) for part in parts) or not all(map(_is_decomposable, finest.calls)):
        return relation
    return _regrouped(relation, finest, Materialized(finest.fields, finest))


def _regrouped(relation: Relation, finest: Aggregate, groups: Materialized) -> Relation:
    """The union over the kept groups, each of its aggregations being of the finest's groups or these themselves."""
    if isinstance(relation, SetOperation):
        left, right = (_regrouped(side, finest, groups) for side in (relation.left, relation.right))
        return replace(relation, left=left, right=right)
    if not isinstance(relation, Project) or not isinstance(relation.input, Aggregate):
        return relation
    is_finest = relation.input is finest
    return replace(relation, input=groups if is_finest else _from_groups(relation.input, finest, groups))


def _branches(relation: Relation) -> Iterator[Relation]:
    if isinstance(relation, SetOperation) and relation.operator == "union" and relation.all:
        yield from _branches(relation.left)
        yield from _branches(relation.right)
    else:
        yield relation


def _is_coarser(part: Aggregate, finest: Aggregate) -> bool:
    """True for an aggregation of the same rows, to the same columns, by some of the keys."""
    same = part.input is finest.input and part.calls == finest.calls and _made(part) == _made(finest)
    return same and set(part.keys) <= set(finest.keys)


def _made(part: Aggregate) -> tuple[Field, ...]:
    return part.fields[len(part.keys) :]


def _is_decomposable(call: AggregateCall) -> bool:
    """True for a result that follows exactly from those of the parts. Sums of floats depend on their order."""
    if call.distinct:
        return False
    if call.function == "sum":
        return call.args[0].type.name in (*INTEGERS, "numeric")
    return call.function == "count" or (call.function in _ITSELF and not is_keyed(call.args[0].type))


def _from_groups(part: Aggregate, finest: Aggregate, groups: Relation) -> Relation:
    """The groups of `part` from those of `finest`. Without any group a count is 0, and a sum NULL."""
    made = _made(finest)
    calls = tuple(
        AggregateCall(field.type, "sum" if call.function == "count" else call.function, (field.ref(),))
        for call, field in zip(finest.calls, made, strict=True)
    )
    values = (*part.keys, *(_value(call, field) for call, field in zip(finest.calls, made, strict=True)))
    return Project(part.fields, Aggregate(part.fields, groups, part.keys, calls), values)


def _value(call: AggregateCall, field: Field) -> Scalar:
    return Coalesce(field.type, (field.ref(), Constant(field.type, 0))) if call.function == "count" else field.ref()
