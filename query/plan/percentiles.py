"""Percentiles that can be found by counting: which aggregations have them, and what is asked of the rows instead.

To sort the values of a group takes them all into memory. Their number in each of some ten thousand ranges says in
which one a percentile lies, and only its values are looked at then. `query/process/percentiles.py` does both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from query.pg.types import FLOATS, INTEGERS, TIMESTAMPS
from query.plan.traverse import columns, free_columns, inputs, replace_relation
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Case,
    Constant,
    Field,
    Filter,
    LookupJoin,
    Project,
    Relation,
    Scalar,
    Scan,
)

PERCENTILES: Final = ("percentile_cont", "percentile_disc")
_VALUES: Final = (*INTEGERS, *FLOATS)
# Types whose equal values are the same value.
_KEYS: Final = ("text", "bool", "date", *INTEGERS, *TIMESTAMPS)


@dataclass(frozen=True, slots=True)
class Counted:
    """An aggregation with percentiles: `percentiles` are its calls of that kind with the fields of their results."""

    aggregate: Aggregate
    percentiles: tuple[tuple[AggregateCall, Field], ...]

    @property
    def scan(self) -> Scan:
        """The dataset's rows that it reads."""
        return _scan(self.aggregate.input)[0]  # type: ignore[index]

    @property
    def is_filtered(self) -> bool:
        """Whether it may leave out most of them."""
        return _scan(self.aggregate.input)[1]  # type: ignore[index]

    def values(self) -> Project:
        """The keys of the rows, and the value of each percentile, which is NULL where FILTER is not true."""
        fields = tuple(Field(key.id, key.type) for key in self.aggregate.keys)
        made = [(field, _value(call)) for call, field in self.percentiles]
        named = tuple(Field(field.id, value.type) for field, value in made)
        return Project((*fields, *named), self.aggregate.input, (*self.aggregate.keys, *(value for _, value in made)))

    def used(self) -> tuple[Field, ...]:
        """The columns of its input that the aggregation uses."""
        used = {column.id for part in (*self.aggregate.keys, *self.aggregate.calls) for column in columns(part)}
        return tuple(field for field in self.aggregate.input.fields if field.id in used)

    def with_rows(self, relation: Relation, table: str) -> Relation:
        """The statement with the rows of the aggregation from a table, whose columns have their identifiers."""
        known = replace(self.aggregate, input=_of_table(self.used(), table))
        return replace_relation(relation, self.aggregate, known)

    def with_results(self, relation: Relation, table: str, key_names: Sequence[str]) -> Relation:
        """The statement with the percentiles from a table of a row per group. Its columns are the keys, under other
        names, and the results by their identifiers."""
        whole = self.aggregate
        keys = tuple(Field(name, key.type) for name, key in zip(key_names, whole.keys, strict=True))
        found = _of_table((*keys, *(field for _, field in self.percentiles)), table)
        own = whole.fields[: len(whole.keys)]
        counted = {field.id for _, field in self.percentiles}
        rest = [each for each in _calls(whole) if each[1].id not in counted]
        if rest:
            fields = (*own, *(field for _, field in rest))
            others = replace(whole, fields=fields, calls=tuple(call for call, _ in rest))
            joined = _joined(others, found, tuple(zip(whole.keys, keys, strict=True)))
            values = [field.ref() for field in whole.fields]
        else:
            joined = found
            values = [*(key.ref() for key in keys), *(field.ref() for _, field in self.percentiles)]
        return replace_relation(relation, whole, Project(whole.fields, joined, tuple(values)))


def counted_percentiles(relation: Relation) -> Iterator[Counted]:
    """Such aggregations in a statement, those below others first."""
    for source in inputs(relation).values():
        yield from counted_percentiles(source)
    if isinstance(relation, Aggregate) and _scan(relation.input) is not None and not free_columns(relation):
        percentiles = tuple(each for each in _calls(relation) if each[0].function in PERCENTILES)
        simple = all(key.type.name in _KEYS for key in relation.keys) and all(
            _is_simple(call) for call, _ in percentiles
        )
        if percentiles and simple:
            yield Counted(relation, percentiles)


def _calls(relation: Aggregate) -> list[tuple[AggregateCall, Field]]:
    return list(zip(relation.calls, relation.fields[len(relation.keys) :], strict=True))


def _is_simple(call: AggregateCall) -> bool:
    """Of numbers, at fractions that are known and are some."""
    if call.order[0].value.type.name not in _VALUES or not isinstance(call.direct[0], Constant):
        return False
    fractions = call.direct[0].value
    listed = fractions if isinstance(fractions, tuple) else (fractions,)
    return all(isinstance(each, int | float) and 0 <= each <= 1 for each in listed)


def _scan(relation: Relation) -> tuple[Scan, bool] | None:
    """The scan whose rows are these one by one, and whether some may be left out; None for any other relation."""
    is_filtered = False
    while isinstance(relation, Project | Filter):
        is_filtered = is_filtered or isinstance(relation, Filter)
        relation = relation.input
    return (relation, is_filtered) if isinstance(relation, Scan) else None


def _value(call: AggregateCall) -> Scalar:
    value = call.order[0].value
    if call.where is None:
        return value
    return Case(value.type, ((call.where, value),), Constant(value.type, None))


def _of_table(fields: tuple[Field, ...], table: str) -> Scan:
    return Scan(fields, table, tuple(field.id for field in fields))


def _joined(left: Relation, right: Relation, keys: Sequence[tuple[Scalar, Field]]) -> Relation:
    """The groups side by side."""
    fields = (*left.fields, *right.fields)
    return LookupJoin(fields, left, right, tuple((key, field.ref()) for key, field in keys), "inner", single=False)
