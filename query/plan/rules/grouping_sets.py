"""Grouping sets in one scan: the coarser sets are computed from the groups of the finest, if the aggregates allow."""

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
"""Aggregates whose value for a whole is the same aggregate of their values for its parts."""


def from_the_finest(relation: Relation) -> Relation:
    """A union of grouping sets that computes the coarser ones from the materialized groups of the finest."""
    if not isinstance(relation, SetOperation):
        return relation
    branches = list(_branches(relation))
    parts = [part.input for part in branches if isinstance(part, Project) and isinstance(part.input, Aggregate)]
    if len(parts) < max(2, len(branches)):
        return relation
    finest = max(parts, key=lambda part: len(part.keys))
    if not all(_is_coarser(part, finest) for part in parts) or not all(map(is_decomposable, finest.calls)):
        return relation
    return _regroup(relation, finest, Materialized(finest.fields, finest))


def _regroup(relation: Relation, finest: Aggregate, groups: Materialized) -> Relation:
    """The union with every aggregation over the materialized groups of the finest, which is read as it is."""
    if isinstance(relation, SetOperation):
        left, right = (_regroup(side, finest, groups) for side in (relation.left, relation.right))
        return replace(relation, left=left, right=right)
    if not isinstance(relation, Project) or not isinstance(relation.input, Aggregate):
        return relation
    is_finest = relation.input is finest
    return replace(relation, input=groups if is_finest else from_groups(relation.input, finest, groups))


def _branches(relation: Relation) -> Iterator[Relation]:
    if isinstance(relation, SetOperation) and relation.operator == "union" and relation.all:
        yield from _branches(relation.left)
        yield from _branches(relation.right)
    else:
        yield relation


def _is_coarser(part: Aggregate, finest: Aggregate) -> bool:
    """True for an aggregation of the same rows, to the same columns, by some of the keys."""
    alike = (
        part.input is finest.input
        and part.calls == finest.calls
        and _aggregate_fields(part) == _aggregate_fields(finest)
    )
    return alike and set(part.keys) <= set(finest.keys)


def _aggregate_fields(part: Aggregate) -> tuple[Field, ...]:
    return part.fields[len(part.keys) :]


def is_decomposable(call: AggregateCall) -> bool:
    """True for a result that follows exactly from those of the parts. Sums of floats depend on their order."""
    if call.distinct:
        return False
    if call.function == "sum":
        return call.args[0].type.name in (*INTEGERS, "numeric")
    return call.function == "count" or (call.function in _ITSELF and not is_keyed(call.args[0].type))


def from_groups(part: Aggregate, finest: Aggregate, groups: Relation) -> Relation:
    """The groups of `part` from those of `finest`. Without any group a count is 0, and a sum NULL."""
    grouping = _aggregate_fields(finest)
    calls = tuple(total(call, field) for call, field in zip(finest.calls, grouping, strict=True))
    totals = zip(part.calls, _aggregate_fields(part), strict=True)
    values = (*part.keys, *(count_or_value(call, field) for call, field in totals))
    return Project(part.fields, Aggregate(part.fields, groups, part.keys, calls), values)


def total(call: AggregateCall, part: Field) -> AggregateCall:
    """The call's result for a whole, but for a count of nothing, from a column of its results for the parts."""
    return AggregateCall(part.type, "sum" if call.function == "count" else call.function, (part.ref(),))


def count_or_value(call: AggregateCall, field: Field) -> Scalar:
    """The result that `total` gives: a count of nothing is 0."""
    return Coalesce(field.type, (field.ref(), Constant(field.type, 0))) if call.function == "count" else field.ref()
