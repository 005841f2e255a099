"""Rewrites of bound relations that cost less to run and give the same rows: pure rules, applied in order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from query.plan.rules.early_filters import ahead_of_lookups
from query.plan.rules.grouping_sets import from_the_finest
from query.plan.rules.top_rows import first_of_distinct, first_of_numbered
from query.plan.traverse import inputs
from query.plan.tree import Relation

Rule = Callable[[Relation], Relation]

RULES: Final[tuple[Rule, ...]] = (ahead_of_lookups, first_of_numbered, first_of_distinct, from_the_finest)
"""Each rule gets a relation that the rules before it have rewritten, with inputs as they were bound."""


def apply_rules(relation: Relation) -> Relation:
    """Apply every rule to the relation and to all its inputs. A relation that is used twice stays one relation."""
    return _Rewriting({}).of(relation)


class _Rewriting:
    def __init__(self, rewritten: dict[int, tuple[Relation, Relation]]) -> None:
        self._rewrite_part = rewritten

    def of(self, relation: Relation) -> Relation:
        """Rewrite from the top, so that a rule sees a whole construct; then rewrite the inputs of its result."""
        if id(relation) not in self._rewrite_part:
            self._rewrite_part[id(relation)] = relation, self._below(_rewrite_once(relation))
        return self._rewrite_part[id(relation)][1]

    def _below(self, relation: Relation) -> Relation:
        new: dict[str, Any] = {name: self.of(source) for name, source in inputs(relation).items()}
        is_changed = any(source is not getattr(relation, name) for name, source in new.items())
        return replace(relation, **new) if is_changed else relation


def _rewrite_once(relation: Relation) -> Relation:
    for rule in RULES:
        relation = rule(relation)
    return relation
