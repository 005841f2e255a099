"""Aggregations whose answer follows from those of parts of the rows: which they are, in a form that statements share if
they ask the same of a dataset, and how the parts become one answer.

Conditions on spans of the time stand apart, since they are true for all rows of most files: a statement whose range
moves on asks the same of each file. `query/process/partial_aggregates.py` keeps what files answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from query.pg.types import FLOATS, INT8, INTEGERS, NUMERIC, TIMESTAMPS, PgType
from query.plan.plain_predicates import conjunction
from query.plan.rules.grouping_sets import count_or_value, is_decomposable, total
from query.plan.scan_rows import ScanRows, aggregations, rows_of_scan
from query.plan.time_order import is_span
from query.plan.traverse import columns, replace_relation, scans, substitute_columns
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Call,
    Column,
    Field,
    Filter,
    Project,
    Relation,
    Scalar,
    Scan,
    SetOperation,
)

_S = TypeVar("_S", bound=Scalar)

_SUMMED: Final = (*INTEGERS, *FLOATS, "numeric")
# Types whose equal values are one value, or one number.
_KEYS: Final = ("text", "bool", "date", *TIMESTAMPS, *_SUMMED)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of rows: of those for which all `predicates` are true, by `keys`, the `calls`.

    `names` are the columns that this is about, as stored. In scalars the first is called `s0`, the second `s1`.
    """

    names: tuple[str, ...]
    types: tuple[PgType, ...]
    keys: tuple[Scalar, ...]
    calls: tuple[AggregateCall, ...]
    predicates: tuple[Scalar, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of an answer: the keys `k0`, `k1`, and the calls' results `c0`, `c1`."""
        return (*_numbered("k", self.keys), *_numbered("c", self.calls))

    def of_rows(self, table: str) -> Relation:
        """The answer for all rows of a table, whose columns are `names`."""
        read = tuple(Field(f"s{number}", each) for number, each in enumerate(self.types))
        rows: Relation = Scan(read, table, self.names)
        if self.predicates:
            rows = Filter(read, rows, conjunction(list(self.predicates)))
        keys = _numbered("k", self.keys)
        if keys:
            rows = Project((*read, *keys), rows, (*(field.ref() for field in read), *self.keys))
        return Aggregate(self.fields, rows, tuple(key.ref() for key in keys), self.calls)


@dataclass(frozen=True, slots=True)
class PartialAggregation:
    """An aggregation of a statement, over the only scan of its dataset: a `question` about the rows whose times satisfy
    `spans`, which are in terms of the scan's columns. The truth of all of them together is the same at all times
    between two at which it is true."""

    aggregate: Aggregate
    scan: Scan
    spans: tuple[Scalar, ...]
    question: Question

    @property
    def parts(self) -> tuple[Field, ...]:
        """The columns of a part of the answer, as many as the question's fields."""
        keys, results = self._fields
        named = zip(results, self.aggregate.calls, strict=True)
        return (*keys, *(Field(name, part.type) for field, call in named for name, part in _named_parts(field, call)))

    def with_answers(self, relation: Relation, source: str) -> Relation:
        """The statement with parts of the aggregation's answer from the table `source`, the rest from its scan.

        The table has a column of its own identifier for each of `parts`.
        """
        calls = tuple(part for call in self.aggregate.calls for part in _parts(call))
        rest = replace(self.aggregate, fields=self.parts, calls=calls)
        together = SetOperation(self.parts, rest, self._of_table(source), "union", all=True)
        return replace_relation(relation, self.aggregate, self._results(self._totals(together)))

    def with_answer(self, relation: Relation, source: str) -> Relation:
        """The statement with the whole answer from the table, which has each group once."""
        return replace_relation(relation, self.aggregate, self._results(self._of_table(source)))

    def _of_table(self, source: str) -> Relation:
        return Scan(self.parts, source, tuple(field.id for field in self.parts))

    @property
    def _fields(self) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
        count = len(self.aggregate.keys)
        return self.aggregate.fields[:count], self.aggregate.fields[count:]

    def _totals(self, parts: Relation) -> Relation:
        fields = self.parts[len(self.aggregate.keys) :]
        calls = (part for call in self.aggregate.calls for part in _parts(call))
        totals = tuple(total(call, field) for call, field in zip(calls, fields, strict=True))
        return Aggregate(self.parts, parts, self.aggregate.keys, totals)

    def _results(self, totals: Relation) -> Relation:
        keys, results = self._fields
        values = (_value(call, field) for call, field in zip(self.aggregate.calls, results, strict=True))
        return Project(self.aggregate.fields, totals, (*(key.ref() for key in keys), *values))


def partial_aggregations(relation: Relation, times: Mapping[str, str]) -> Iterator[PartialAggregation]:
    """Such aggregations in a statement; `times` has the datasets of interest and their time columns, as stored."""
    scanned = [scan.dataset for scan in scans(relation)]
    for aggregate in aggregations(relation):
        rows = rows_of_scan(aggregate.input)
        if rows is None or rows.scan.dataset not in times or scanned.count(rows.scan.dataset) != 1:
            continue
        found = _partial(aggregate, rows, times[rows.scan.dataset])
        if found is not None:
            yield found


def _partial(aggregate: Aggregate, rows: ScanRows, time_name: str) -> PartialAggregation | None:
    keys = tuple(rows.columns.get(key.id, key) for key in aggregate.keys)
    if not aggregate.fields or not all(map(_is_addable, aggregate.calls)):
        return None
    if not all(key.type.name in _KEYS and not key.type.special for key in keys):
        return None
    own = zip(rows.scan.names, rows.scan.fields, strict=True)
    time = next((field.ref() for name, field in own if name == time_name), None)
    spans = tuple(each for each in rows.predicates if time is not None and is_span(each, time))
    predicates = tuple(each for each in rows.predicates if each not in spans)
    calls = tuple(substitute_columns(part, rows.columns) for call in aggregate.calls for part in _parts(call))
    question = _question(rows.scan, keys, calls, predicates)
    return None if question is None else PartialAggregation(aggregate, rows.scan, spans, question)


def _question(
    scan: Scan, keys: tuple[Scalar, ...], calls: tuple[AggregateCall, ...], predicates: tuple[Scalar, ...]
) -> Question | None:
    """The question in terms of numbered columns; None if it is about columns of an enclosing query, too.

    Rows without any column cannot be counted, so there is always one.
    """
    own = {field.id: (name, field.type) for name, field in zip(scan.names, scan.fields, strict=True)}
    used = {column.id for part in (*keys, *calls, *predicates) for column in columns(part)}
    used = used or {field.id for field in scan.fields[:1]}
    if not used or not used <= own.keys():
        return None
    ordered = sorted(used, key=lambda each: own[each][0])
    numbered: dict[str, Scalar] = {each: Column(own[each][1], f"s{number}") for number, each in enumerate(ordered)}
    names, types = tuple(own[each][0] for each in ordered), tuple(own[each][1] for each in ordered)
    return Question(
        names, types, _all(keys, numbered), _all(calls, numbered), tuple(dict.fromkeys(_all(predicates, numbered)))
    )


def _all(parts: Sequence[_S], numbered: Mapping[str, Scalar]) -> tuple[_S, ...]:
    return tuple(substitute_columns(each, numbered) for each in parts)


def _is_addable(call: AggregateCall) -> bool:
    """True for a result that follows from those of parts. A sum of floats depends on the order of rows anyway."""
    if call.distinct or call.order or call.direct or any(arg.type.special for arg in call.args):
        return False
    if call.function in ("sum", "avg"):
        return call.args[0].type.name in _SUMMED
    return is_decomposable(call)


def _parts(call: AggregateCall) -> tuple[AggregateCall, ...]:
    """What has to be known of parts: of a mean, their sums and how many values they have."""
    if call.function != "avg":
        return (call,)
    return replace(call, type=_sum_type(call.args[0].type), function="sum"), replace(call, type=INT8, function="count")


def _sum_type(pg_type: PgType) -> PgType:
    return NUMERIC if pg_type.name in INTEGERS else pg_type


def _named_parts(field: Field, call: AggregateCall) -> Iterator[tuple[str, AggregateCall]]:
    return ((f"{field.id}p{number}", part) for number, part in enumerate(_parts(call)))


def _value(call: AggregateCall, field: Field) -> Scalar:
    """A call's result from the totals of its parts."""
    totals = tuple(Field(name, part.type) for name, part in _named_parts(field, call))
    if call.function != "avg":
        return count_or_value(call, totals[0])
    return Call(call.type, f"mean of parts({totals[0].type.name}, int8)", tuple(each.ref() for each in totals))


def _numbered(letter: str, values: Sequence[Scalar]) -> tuple[Field, ...]:
    return tuple(Field(f"{letter}{number}", each.type) for number, each in enumerate(values))
