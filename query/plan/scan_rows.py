"""Rows of one scan, whatever projections and filters lie between: their values in terms of the scan's columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from query.plan.traverse import conjuncts, inputs, substitute_columns
from query.plan.tree import Aggregate, CteRef, Filter, Project, Relation, Scalar, Scan


@dataclass(frozen=True, slots=True)
class ScanRows:
    """Rows of a scan that satisfy predicates, and their columns by identifier, all in terms of the scan's columns."""

    scan: Scan
    columns: Mapping[str, Scalar]
    predicates: tuple[Scalar, ...] = ()


def rows_of_scan(relation: Relation) -> ScanRows | None:
    """The relation as rows of a scan, one by one; None for any other relation."""
    if isinstance(relation, Scan):
        return ScanRows(relation, {field.id: field.ref() for field in relation.fields})
    if not isinstance(relation, Project | Filter | CteRef):
        return None
    below = rows_of_scan(relation.input)
    if below is None:
        return None
    if isinstance(relation, Filter):
        parts = (substitute_columns(part, below.columns) for part in conjuncts(relation.predicate))
        return replace(below, predicates=(*below.predicates, *parts))
    values = relation.values if isinstance(relation, Project) else [field.ref() for field in relation.input.fields]
    pairs = zip(relation.fields, values, strict=True)
    return replace(below, columns={field.id: substitute_columns(value, below.columns) for field, value in pairs})


def aggregations(relation: Relation) -> Iterator[Aggregate]:
    """Every aggregation in a relation, those above others first."""
    if isinstance(relation, Aggregate):
        yield relation
    for source in inputs(relation).values():
        yield from aggregations(source)
