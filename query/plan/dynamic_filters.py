"""Joins of which one side's keys say what has to be read of the other (dynamic filtering).

`WHERE trace_id IN (SELECT trace_id ...)` needs those rows alone that have one of the keys. If they are few they are a
condition like any other, for files, text indexes and Parquet. Which joins can be answered so is said here;
`query/process/dynamic_filters.py` decides when it is worth it, and asks for the keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from query.pg.types import BOOL
from query.plan.conditions import ConditionReader, scan_conditions
from query.plan.plain_predicates import conjunction, is_plain
from query.plan.traverse import columns, conjuncts, free_columns, inputs, replace_relation, substitute_columns
from query.plan.tree import (
    Aggregate,
    Call,
    Column,
    CteRef,
    Distinct,
    Filter,
    InList,
    Join,
    Limit,
    LookupJoin,
    Project,
    Relation,
    Scalar,
    Scan,
    SetOperation,
    Sort,
    Values,
    Window,
    WorkTable,
)

_EQUAL: Final = "=(any, any)"
# Types whose equal values are the same value, in a list as in a join.
_KEYS: Final = ("text", "int8")
_STREAMING: Final = (Scan, Values, Filter, Project, CteRef)
Parts = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class KeyedJoin:
    """Only those rows of a join's one side, `probe`, matter that have the keys of a row of `source`.

    `keys` pair a column of `source`, which is the side `build` without rows that do not matter either, with one of
    `probe`, of which the rows of `dataset` are read.
    """

    join: Join | LookupJoin
    build: Relation
    source: Relation
    probe: Relation
    keys: tuple[tuple[Column, Column], ...]
    dataset: str

    def needed(self, statement: Relation) -> list[str]:
        """The identifiers of the source's columns that the statement uses."""
        used = {column.id for column in columns(statement)} | {field.id for field in statement.fields}
        return [field.id for field in self.build.fields if field.id in used]

    @property
    def streams(self) -> bool:
        """Whether the first rows of the source are there before all of it is read."""
        return _streams(self.source)


def keyed_joins(relation: Relation) -> Iterator[KeyedJoin]:
    """Such joins in a statement, but for those in its WITH queries and others that are read in several places."""
    yield from _joins(relation, (), _shared(relation))


def with_known_rows(
    relation: Relation, join: KeyedJoin, table: str, values: Mapping[str, Sequence[object]]
) -> Relation:
    """The statement with the rows of the join's source from `table`, whose columns have their identifiers, and with
    the `values` of its keys, by identifier, as conditions; a key of too many values for that has none."""
    fields = join.build.fields
    rows = Scan(fields, table, tuple(field.id for field in fields))
    listed = [
        InList(BOOL, column, tuple(values[key.id]), has_null=False) for key, column in join.keys if key.id in values
    ]
    probe = Filter(join.probe.fields, join.probe, conjunction([*listed])) if listed else join.probe
    left, right = (rows, probe) if join.build is join.join.left else (probe, rows)
    return replace_relation(relation, join.join, replace(join.join, left=left, right=right))


def _shared(relation: Relation) -> set[int]:
    """The relations that are read in several places, by `id`: what is left out in one may be needed in another."""
    seen, shared, left = set[int](), set[int](), [relation]
    while left:
        for source in inputs(left.pop()).values():
            (shared if id(source) in seen else seen).add(id(source))
            left += [] if id(source) in shared else [source]
    return shared


def _joins(relation: Relation, required: Parts, shared: set[int]) -> Iterator[KeyedJoin]:
    """The joins below a relation of whose rows only those that satisfy `required` matter, and whose columns are used by
    name: not where rows are compared as a whole, or take other names by position."""
    match relation:
        case _ if id(relation) in shared:
            return
        case Filter():
            yield from _joins(relation.input, (*required, *conjuncts(relation.predicate)), shared)
        case Project():
            pairs = zip(relation.fields, relation.values, strict=True)
            names = {field.id: value for field, value in pairs if isinstance(value, Column)}
            yield from _joins(relation.input, _renamed(required, names), shared)
        case Join(kind="inner" | "left" | "semi" | "anti") | LookupJoin():
            on = _condition(relation)
            yield from _sides(relation, on, required)
            yield from _joins(relation.left, _over(relation.left, required), shared)
            below = _over(relation.right, required) if relation.kind == "inner" else ()
            yield from _joins(relation.right, below, shared)
        case Sort() | Limit() | Window() | Aggregate():
            yield from _joins(relation.input, (), shared)
        case Distinct() | SetOperation():
            for source in inputs(relation).values():
                yield from _joins(source, (), shared) if isinstance(source, Project) else ()


def _condition(relation: Join | LookupJoin) -> Parts:
    """The conditions of a join; those of a lookup take NULL for equal to NULL."""
    if isinstance(relation, LookupJoin) or relation.condition is None:
        return ()
    return tuple(conjuncts(relation.condition))


def _sides(relation: Join | LookupJoin, on: Parts, required: Parts) -> Iterator[KeyedJoin]:
    """The join with either side's keys known, as far as its kind allows: rows that are kept without a match are all
    needed, unless what is required above is that they match."""
    left, right = relation.left, relation.right
    keeps_left, both = relation.kind in ("left", "anti"), (*on, *required)
    below_left = _over(left, required if keeps_left else both)
    below_right = _over(right, both if relation.kind == "inner" else on)
    yield from _pairs(relation, left, below_left, right, both if relation.kind == "inner" else on)
    yield from _pairs(relation, right, below_right, left, required if keeps_left else both)


def _pairs(
    join: Join | LookupJoin, build: Relation, filters: Parts, probe: Relation, parts: Parts
) -> Iterator[KeyedJoin]:
    """The join with the keys of `build` known, if any of its equalities is worth to know."""
    if free_columns(build) or _has_work_table(build):
        return
    plain = [part for part in filters if is_plain(part)]
    source = Filter(build.fields, build, conjunction(plain)) if plain else build
    keys = tuple(_equalities(parts, build, probe))
    dataset = next(filter(None, (_read_from(probe, column) for _, column in keys)), None)
    if dataset is not None:
        yield KeyedJoin(join, build, source, probe, keys, dataset)


def _equalities(parts: Parts, build: Relation, probe: Relation) -> Iterator[tuple[Column, Column]]:
    """A column of the one side and a column of the other that are equal in every row that matters."""
    own, other = ({field.id for field in side.fields} for side in (build, probe))
    for part in parts:
        if not isinstance(part, Call) or part.function != _EQUAL:
            continue
        for a, b in (part.args, part.args[::-1]):
            if isinstance(a, Column) and isinstance(b, Column) and a.type == b.type and a.type.name in _KEYS:
                yield from [(a, b)] if a.id in own and b.id in other else []


def _read_from(relation: Relation, column: Column) -> str | None:
    """The dataset of which a condition on the column reaches a scan."""
    marker = InList(BOOL, column, (), has_null=False)
    reader = ConditionReader(
        lambda part: iter((column.id,) if part is marker else ()), lambda name, names: names.get(name)
    )
    found = scan_conditions(Filter(relation.fields, relation, marker), reader)
    return next((dataset for dataset, names in found.items() if any(names)), None)


def _over(relation: Relation, parts: Parts) -> Parts:
    """The parts that are about columns of this relation alone."""
    own = {field.id for field in relation.fields}
    return tuple(part for part in parts if {column.id for column in columns(part)} <= own)


def _renamed(parts: Parts, names: Mapping[str, Scalar]) -> Parts:
    known = (part for part in parts if {column.id for column in columns(part)} <= names.keys())
    return tuple(substitute_columns(part, names) for part in known)


def _streams(relation: Relation) -> bool:
    return isinstance(relation, _STREAMING) and all(map(_streams, inputs(relation).values()))


def _has_work_table(relation: Relation) -> bool:
    return isinstance(relation, WorkTable) or any(map(_has_work_table, inputs(relation).values()))
