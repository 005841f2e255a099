"""Filters on stored columns run before the lookup joins of subqueries."""

from dataclasses import replace

from query.plan.plain_predicates import conjunction, is_plain
from query.plan.traverse import columns, conjuncts
from query.plan.tree import Filter, LookupJoin, Relation


def ahead_of_lookups(relation: Relation) -> Relation:
    """A filter over a lookup join: its conditions on the left side alone move below the join."""
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
