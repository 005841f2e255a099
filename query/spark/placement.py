"""Which parts of a bound plan a cluster computes, and the plan that is left for this host.

The largest parts that Spark computes exactly go to it whole; what is left works on their rows here. What is left must
not throw rows away that came over the network for nothing: a step that makes fewer rows of more, over rows that
nothing has reduced on the cluster, is refused by the name of what kept it from going there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from query.plan.traverse import children, columns, defined_columns, inputs
from query.plan.tree import (
    Aggregate,
    Column,
    CteRef,
    Distinct,
    Field,
    Filter,
    Join,
    Limit,
    Materialized,
    Output,
    Project,
    Relation,
    Scan,
    Sort,
    Unnest,
    Window,
)
from query.spark import types
from query.spark.aggregates import Finish
from query.spark.refusal import NotOnCluster
from query.spark.relations import Relations, Rows
from query.spark.scalars import is_plain

# What keeps each row, so that the answer is as large as what is fetched for it.
_ROW_BY_ROW: Final = (Project, Sort, Materialized, CteRef, Window, Unnest)
# Aggregates whose value holds one of each row.
_COLLECTING: Final = ("array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg")
_NARROW: Final = (Project, Filter, Sort, Limit, Aggregate, Join, Window)
# Equal values of these look the same, so one stands for all; of floats, zero may have a sign.
_ALIKE: Final = ("bool", "int2", "int4", "int8", "text", "date", "timestamp", "timestamptz")


@dataclass(frozen=True, slots=True)
class Part:
    """What the cluster computes: Spark's plan, and which columns its rows are."""

    name: str
    plan: Any
    fields: tuple[Field, ...]
    means: Mapping[str, Finish]
    steps: str

    def frame(self, rows: pl.DataFrame) -> pl.LazyFrame:
        """The rows as the local engine holds them."""
        if not rows.width:
            return self.empty()
        return rows.lazy().select(
            (self.means[each.id](each) if each.id in self.means else types.received(rows, each.id, each.type)).alias(
                each.id
            )
            for each in self.fields
        )

    def empty(self) -> pl.LazyFrame:
        """The same without rows."""
        return pl.LazyFrame(schema={each.id: each.type.polars for each in self.fields})


@dataclass(frozen=True, slots=True)
class Placed:
    """The plan for this host, which scans the parts by their names."""

    relation: Relation
    parts: tuple[Part, ...]


def place(relation: Relation, outputs: tuple[Output, ...], rows: Rows) -> Placed:
    """Raises UnsupportedOnCluster."""
    placement = _Placement(rows, frozenset(_needed_above(relation, outputs)))
    try:
        found, _ = placement.of(relation)
    except NotOnCluster as error:
        raise error.refusal() from error
    return Placed(found, tuple(placement.parts))


def _needed_above(relation: Relation, outputs: tuple[Output, ...]) -> set[str]:
    """The columns that somebody reads: those of a part that are not among them need not leave the cluster."""
    named = {each.field.id for each in outputs}
    known = -1
    # A relation that is used twice may be looked at before all that is needed of it is known.
    while len(named) > known:
        known = len(named)
        _name_columns(relation, named, set())
    return named


def _name_columns(relation: Relation, named: set[str], seen: set[int]) -> None:
    if id(relation) in seen:
        return
    seen.add(id(relation))
    if isinstance(relation, Project):
        pairs = zip(relation.fields, relation.values, strict=True)
        read: list[object] = [value for each, value in pairs if each.id in named]
    else:
        read = [each for each in children(relation) if not isinstance(each, Relation)]
    named.update(column.id for each in read for column in _columns(each))
    if not isinstance(relation, (*_NARROW, Scan)):
        named.update(each.id for below in (relation, *inputs(relation).values()) for each in below.fields)
    for below in inputs(relation).values():
        _name_columns(below, named, seen)


def _columns(node: object) -> Iterable[Column]:
    return [node] if isinstance(node, Column) else columns(node)


@dataclass(slots=True)
class _Placement:
    rows: Rows
    named: frozenset[str]
    parts: list[Part] = field(default_factory=list)
    done: dict[int, tuple[Relation, Relation, bool]] = field(default_factory=dict)

    def of(self, relation: Relation) -> tuple[Relation, bool]:
        """The relation for this host, and whether the cluster has reduced its rows. A relation used twice is one."""
        if id(relation) not in self.done:
            self.done[id(relation)] = (relation, *self._of(relation))
        _, found, is_reduced = self.done[id(relation)]
        return found, is_reduced

    def _of(self, relation: Relation) -> tuple[Relation, bool]:
        if not _has_scan(relation):
            return relation, True
        try:
            return self._part(relation), _reduces(relation)
        except NotOnCluster as error:
            reason = error
        if isinstance(relation, Scan):
            raise reason
        if (once := _each_once(relation)) is not None:
            return self._of(once)
        placed = {name: self._below(below, reason) for name, below in inputs(relation).items()}
        is_reduced = all(each for _, each in placed.values())
        if not is_reduced and not _keeps_rows(relation):
            raise reason
        new: dict[str, Any] = {name: found for name, (found, _) in placed.items()}
        if isinstance(relation, Window):
            new["fields"] = (*new["input"].fields, *relation.fields[len(relation.input.fields) :])
        return replace(relation, **new), is_reduced

    def _below(self, relation: Relation, reason: NotOnCluster) -> tuple[Relation, bool]:
        try:
            return self.of(relation)
        except NotOnCluster as error:
            # Of a relation that cannot go there because of what is below it, that is what the user has to know.
            raise (reason if isinstance(relation, Scan) else error) from error

    def _part(self, relation: Relation) -> Relation:
        """Raises NotOnCluster."""
        if any(column.id not in defined_columns(relation) for column in columns(relation)):
            raise NotOnCluster("a subquery that depends on each row")
        lowering = Relations(self.rows)
        fields = tuple(each for each in relation.fields if each.id in self.named) or _first(relation)
        for each in fields:
            if not isinstance(relation, Aggregate):
                types.require_held(each.type)
        name = f"cluster {len(self.parts) + 1}"
        plan = lowering.lower(relation, fields)
        self.parts.append(Part(name, plan, fields, lowering.means, _described(relation)))
        return Scan(fields, name, tuple(each.id for each in fields))


def _keeps_rows(relation: Relation) -> bool:
    if not isinstance(relation, Aggregate):
        return isinstance(relation, _ROW_BY_ROW)
    return any(call.function.partition("(")[0] in _COLLECTING and not call.distinct for call in relation.calls)


def _each_once(relation: Relation) -> Relation | None:
    """Aggregates of distinct values over rows without repetitions, which the cluster can see to; None of others."""
    if not isinstance(relation, Aggregate) or isinstance(relation.input, Distinct):
        return None
    if not relation.calls or not all(call.distinct for call in relation.calls):
        return None
    used = {
        column.id: column for column in (*relation.keys, *(each for call in relation.calls for each in columns(call)))
    }
    if not used or any(each.type.name not in _ALIKE for each in used.values()):
        return None
    fields = tuple(each for each in relation.input.fields if each.id in used)
    values = tuple(each.ref() for each in fields)
    return replace(relation, input=Distinct(fields, Project(fields, relation.input, values)))


def _first(relation: Relation) -> tuple[Field, ...]:
    """Of rows whose columns nobody reads, one column, so that they can be counted. Raises NotOnCluster."""
    found = next((each for each in relation.fields if is_plain(each.type)), None)
    if found is None:
        raise NotOnCluster("rows of which no column can be sent")
    return (found,)


def _has_scan(relation: Relation) -> bool:
    return any(_nodes(relation, lambda node: isinstance(node, Scan)))


def _reduces(relation: Relation) -> bool:
    return any(_nodes(relation, lambda node: isinstance(node, Aggregate | Distinct | Limit)))


def _nodes(relation: Relation, holds: Callable[[Relation], bool]) -> list[Relation]:
    below = [each for source in inputs(relation).values() for each in _nodes(source, holds)]
    return [relation, *below] if holds(relation) else below


def _described(relation: Relation) -> str:
    """Its steps for EXPLAIN, the last first."""
    names = [type(each).__name__.lower() for each in _nodes(relation, lambda _: True)]
    return ", ".join(name for name in names if name not in ("materialized", "cteref"))
