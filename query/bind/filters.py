"""WHERE: conditions on subqueries become semi and anti joins, everything else a filter."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.decorrelate import decorrelate, same
from query.bind.operators import comparison
from query.bind.predicates import subquery_of
from query.pg.types import BOOL
from query.plan.environment import BoundQuery
from query.plan.traverse import columns, free_columns
from query.plan.tree import Filter, Join, Logic, Project, Relation, RowOf, Scalar, Sort, Unnest
from query.syntax.positions import operator_of


def bind_where(node: exp.Expr | None, relation: Relation, block: Block) -> Relation:
    """The rows of `relation` for which WHERE is true."""
    if node is None:
        return relation
    plain: list[Scalar] = []
    joins: list[tuple[str, Relation, Scalar | None]] = []
    with block.binding("WHERE"):
        for part in _conjuncts(node.this):
            subquery_join = _subquery_test(part, block)
            if subquery_join is not None:
                joins.append(subquery_join)
            else:
                plain.append(block.bind_boolean(part, "WHERE"))
    relation = _filter(relation, plain, block)
    for join_type, inner, condition in joins:
        relation = _join_subquery(relation, join_type, inner, condition, block)
    return relation


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a conjunction, from left to right."""
    pending = [node]
    while pending:
        part = pending.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, exp.And):
            pending.extend((part.args["expression"], part.this))
        else:
            yield part


def _filter(relation: Relation, plain: list[Scalar], block: Block) -> Relation:
    """First what needs no subquery, so that it reaches the scan; then the subqueries and the rest."""
    fields = relation.fields
    field_ids = {field.id for field in fields}
    looked_up = {field.id for pending in block.lookups for field in pending.relation.fields}
    now = [part for part in plain if not any(column.id in looked_up for column in columns(part))]
    later = [part for part in plain if part not in now]
    for part in now:
        relation = _push_down(relation, part)
    if later:
        attached = block.attach(relation, block.lookups)
        filtered = Filter(attached.fields, attached, _all(later))
        outputs = tuple(field for field in attached.fields if field.id in field_ids)
        relation = Project(outputs, filtered, tuple(field.ref() for field in outputs))
    return relation


def _push_down(relation: Relation, predicate: Scalar) -> Relation:
    """The filtered relation. What needs only the rows before an unnest is checked there: its function may fail on
    rows that the predicate drops."""
    if isinstance(relation, Unnest):
        before = {field.id for field in relation.input.fields}
        if all(column.id in before for column in columns(predicate)):
            return replace(relation, input=_push_down(relation.input, predicate))
    if isinstance(relation, Filter):
        return Filter(relation.fields, relation.input, Logic(BOOL, "and", (relation.predicate, predicate)))
    return Filter(relation.fields, relation, predicate)


def _all(parts: list[Scalar]) -> Scalar:
    return parts[0] if len(parts) == 1 else Logic(BOOL, "and", tuple(parts))


def _subquery_test(node: exp.Expr, block: Block) -> tuple[str, Relation, Scalar | None] | None:
    """EXISTS, NOT EXISTS and IN as the kind of join they are; None for any other condition."""
    if isinstance(node, exp.Exists):
        return "semi", block.subquery(node.this).relation, None
    if isinstance(node, exp.Not):
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Exists):
            return "anti", block.subquery(inner.this).relation, None
        return None
    query = subquery_of(node) if isinstance(node, exp.In) and not node.args.get("negate") else None
    if query is not None and node.this.find(exp.Query) is None:
        return _in(block.bind(node.this), block.subquery(query), node)
    return None


def _in(value: Scalar, query: BoundQuery, node: exp.Expr) -> tuple[str, Relation, Scalar | None]:
    values = value.items if isinstance(value, RowOf) else (value,)
    if len(values) != len(query.outputs):
        side = "too many" if len(query.outputs) > len(values) else "too few"
        raise fault.invalid(fault.SYNTAX_ERROR, f"subquery has {side} columns", operator_of(node))
    tests = tuple(
        comparison("=", item, field.ref(), operator_of(node))
        for item, (_, field) in zip(values, query.outputs, strict=True)
    )
    return "semi", query.relation, tests[0] if len(tests) == 1 else Logic(BOOL, "and", tests)


def _join_subquery(
    relation: Relation, join_type: str, inner: Relation, condition: Scalar | None, block: Block
) -> Relation:
    """A semi or anti join. A condition under the subquery's projection that refers outwards becomes the join's."""
    relation_ids = {field.id for field in relation.fields}
    lifted = _lift(inner, relation_ids)
    if lifted is not None:
        inner, predicate = lifted
        condition = predicate if condition is None else Logic(BOOL, "and", (condition, predicate))
        return Join(relation.fields, relation, inner, join_type, condition)
    inner, keys = decorrelate(inner, relation, block.environment)
    tests = [same(outer, column) for outer, column in keys]
    parts = [*tests, *([condition] if condition is not None else [])]
    return Join(relation.fields, relation, inner, join_type, _all(parts) if parts else None)


def _lift(inner: Relation, outer: set[str]) -> tuple[Relation, Scalar] | None:
    """A subquery that depends on its outer query only in its WHERE: that condition, and the rest without it."""
    projections: list[Project] = []
    node = inner
    while isinstance(node, Project | Sort):
        if isinstance(node, Project):
            projections.append(node)
        node = node.input
    if not isinstance(node, Filter) or any(column.id in outer for column in free_columns(node.input)):
        return None
    values = [value for projection in projections for value in projection.values]
    if any(column.id in outer for value in values for column in columns(value)):
        return None
    if not any(column.id in outer for column in columns(node.predicate)):
        return None
    relation: Relation = node.input
    for projection in reversed(projections):
        inner_fields = tuple(field for field in relation.fields if field not in projection.fields)
        fields = (*projection.fields, *inner_fields)
        relation = Project(fields, relation, (*projection.values, *(field.ref() for field in inner_fields)))
    return relation, node.predicate
