"""Aggregations that follow from what is known of whole files: counts and extremes, at most by parts of the event time.

What the manifest says of a file is exact: how many rows it has, from when to when they are, the least and the greatest
value of a column, and how many are null. So a file all of whose rows are in one group need not be read. Which
aggregations are such is said here; `query/process/whole_files.py` knows the files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from query.plan.rules.grouping_sets import from_groups
from query.plan.scan_rows import ScanRows, aggregations, rows_of_scan
from query.plan.time_order import is_constant, is_span, keeps_order
from query.plan.traverse import replace_relation, scans
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Column,
    Constant,
    Field,
    Relation,
    Scalar,
    Scan,
    SetOperation,
)

# The types whose statistics are in PostgreSQL's order.
_ORDERED: Final = ("int8", "float8", "text", "date", "timestamptz")


@dataclass(frozen=True, slots=True)
class KnownCall:
    """What a call asks: `count`, `min` or `max` of a column of the scan; None: of rows."""

    function: str
    column: Column | None


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """An aggregation of the rows of one scan, the only one of its dataset, in terms of the scan's columns.

    `keys` and `predicates` depend on `time` alone, and a value of theirs that is the same at two times is the same
    at all times between them; so is the truth of all predicates together.
    """

    aggregate: Aggregate
    scan: Scan
    time: Column
    keys: tuple[Scalar, ...]
    calls: tuple[KnownCall, ...]
    predicates: tuple[Scalar, ...]

    @property
    def parts(self) -> tuple[Field, ...]:
        """The columns of a part of the answer: the keys, and a value for each call."""
        count = len(self.aggregate.keys)
        keys, calls = self.aggregate.fields[:count], self.aggregate.fields[count:]
        return (*keys, *(Field(f"{field.id}w", field.type) for field in calls))

    def stored(self, column: Column) -> str:
        """What the column of the scan is called in files."""
        return next(
            name for name, field in zip(self.scan.names, self.scan.fields, strict=True) if field.id == column.id
        )


def of_whole_files(relation: Relation, times: Mapping[str, str]) -> Iterator[WholeFiles]:
    """Such aggregations in a statement; `times` has the datasets of interest and their time columns, as stored."""
    scanned = [scan.dataset for scan in scans(relation)]
    for aggregate in aggregations(relation):
        resolved = rows_of_scan(aggregate.input)
        if resolved is None or resolved.scan.dataset not in times or scanned.count(resolved.scan.dataset) != 1:
            continue
        question = _question(aggregate, resolved, times[resolved.scan.dataset])
        if question is not None:
            yield question


def with_known_parts(relation: Relation, question: WholeFiles, source: str) -> Relation:
    """The statement with parts of the aggregation's answer from the table `source`, the rest from its scan.

    The table has a column of its own identifier for each of `question.parts`.
    """
    parts, aggregate = question.parts, question.aggregate
    rest = replace(aggregate, fields=parts)
    known = Scan(parts, source, tuple(field.id for field in parts))
    together = SetOperation(parts, rest, known, "union", all=True)
    return replace_relation(relation, aggregate, from_groups(aggregate, rest, together))


def _question(aggregate: Aggregate, resolved: ScanRows, time_name: str) -> WholeFiles | None:
    scan = resolved.scan
    time = next((field.ref() for name, field in zip(scan.names, scan.fields, strict=True) if name == time_name), None)
    if time is None:
        return None
    keys = tuple(resolved.columns.get(key.id, key) for key in aggregate.keys)
    if not all(keeps_order(key, time) or is_constant(key) for key in keys):
        return None
    if not all(is_span(predicate, time) for predicate in resolved.predicates):
        return None
    calls = tuple(_known_call(call, resolved) for call in aggregate.calls)
    if None in calls or not aggregate.fields:
        return None
    known = tuple(call for call in calls if call is not None)
    return WholeFiles(aggregate, scan, time, keys, known, resolved.predicates)


def _known_call(call: AggregateCall, resolved: ScanRows) -> KnownCall | None:
    """The call, if the manifest may have its value for the rows of a file."""
    if call.distinct or call.where is not None or call.order or call.direct:
        return None
    if call.function == "count" and all(isinstance(arg, Constant) and arg.value is not None for arg in call.args):
        return KnownCall("count", None)
    (arg,) = call.args if len(call.args) == 1 else (None,)
    column = resolved.columns.get(arg.id) if isinstance(arg, Column) else None
    if not isinstance(column, Column) or column.id not in {field.id for field in resolved.scan.fields}:
        return None
    is_known = call.function == "count" or (call.function in ("min", "max") and column.type.name in _ORDERED)
    return KnownCall(call.function, column) if is_known else None
