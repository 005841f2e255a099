"""Conditions on stored columns alone are asked before subqueries are looked up."""

from dataclasses import replace

from query.plan.plain_predicates import conjunction, is_plain
from query.plan.traverse import columns, conjuncts
from query.plan.tree import Filter, LookupJoin, Relation


def ahead_of_lookups(relation: Relation) -> Relation:
    """The filter with what it asks of the left side of a lookup alone done there."""
    if not isinstance(relation, Filter) or not isinstance(relation.input, LookupJoin):
        return relation
    source = relation.input
    own = {field.id for field in source.left.fields}
    parts = conjuncts(relation.predicate)
    early = [part for part in parts if is_plain(part) and {column.id for column in columns(part)} <= own]
    late = [part for part in parts if part not in early]
    if not early or not late:
        return relation
    filtered = Filter(source.left.fields, source.left, conjunction(early))
    return replace(relation, input=replace(source, left=filtered), predicate=conjunction(late))
