"""Conditions that a statement sets on stored columns: comparisons that rule out whole files.

The bound tree is read, where names and types are resolved, so a condition means exactly what the engine will compare.
A condition that is not understood is left out: then only more files are read.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from query.plan.traverse import children, conjuncts
from query.plan.tree import (
    Call,
    Column,
    Constant,
    CteRef,
    Filter,
    InList,
    Join,
    LookupJoin,
    Project,
    Relation,
    Scalar,
    Scan,
    Sort,
)
from storage.files.statistics import Condition

_OPERATIONS: Final = {f"{operation}(any, any)": operation for operation in ("=", "<", "<=", ">", ">=")}
_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# The types whose order is that of the statistics: numbers, times as integers, and texts by their code points.
_ORDERED: Final = ("int8", "float8", "text", "bool", "date", "timestamptz")

Conditions = tuple[Condition, ...]
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ConditionReader(Generic[C]):
    """How conditions of one kind are read: those that a part of a filter sets, and one under other names of columns.

    A condition about a column that has no other name is None then.
    """

    of: Callable[[Scalar], Iterator[C]]
    renamed: Callable[[C, Mapping[str, str]], C | None]


def file_conditions(relation: Relation) -> Mapping[str, Sequence[Conditions]]:
    """The conditions of every scan, by dataset. A file that no scan finds rows in need not be read."""
    return scan_conditions(relation, ConditionReader(_conditions, _renamed))


def scan_conditions(relation: Relation, reader: ConditionReader[C]) -> Mapping[str, Sequence[tuple[C, ...]]]:
    """What each scan asks of its rows, by dataset."""
    by_dataset: dict[str, list[tuple[C, ...]]] = {}
    for dataset, conditions in _scans(relation, (), reader):
        by_dataset.setdefault(dataset, []).append(conditions)
    return by_dataset


def _scans(
    relation: Relation, required: tuple[C, ...], reader: ConditionReader[C]
) -> Iterator[tuple[str, tuple[C, ...]]]:
    """The scans under a relation with their conditions. Only its rows that satisfy `required` matter above it."""
    match relation:
        case Scan():
            names = {field.id: name for name, field in zip(relation.names, relation.fields, strict=True)}
            yield relation.dataset, _rename(required, names, reader)
        case Filter():
            conditions = tuple(condition for part in conjuncts(relation.predicate) for condition in reader.of(part))
            yield from _scans(relation.input, (*required, *conditions), reader)
        case Project():
            pairs = zip(relation.fields, relation.values, strict=True)
            names = {field.id: value.id for field, value in pairs if isinstance(value, Column)}
            yield from _scans(relation.input, _rename(required, names, reader), reader)
        case CteRef():
            sources = zip(relation.fields, relation.input.fields, strict=True)
            names = {field.id: source.id for field, source in sources}
            yield from _scans(relation.input, _rename(required, names, reader), reader)
        case Sort():
            yield from _scans(relation.input, required, reader)
        case Join(kind="inner" | "left" | "semi" | "anti") | LookupJoin():
            names = {field.id: field.id for field in relation.left.fields}
            yield from _scans(relation.left, _rename(required, names, reader), reader)
            inner = relation.right.fields if relation.kind == "inner" else ()
            names = {field.id: field.id for field in inner}
            yield from _scans(relation.right, _rename(required, names, reader), reader)
        case _:
            for child in children(relation):
                if isinstance(child, Relation):
                    yield from _scans(child, (), reader)


def _rename(conditions: tuple[C, ...], names: Mapping[str, str], reader: ConditionReader[C]) -> tuple[C, ...]:
    """The conditions under other names of their columns; those of columns without one are dropped."""
    renamed = (reader.renamed(condition, names) for condition in conditions)
    return tuple(condition for condition in renamed if condition is not None)


def _renamed(condition: Condition, names: Mapping[str, str]) -> Condition | None:
    name = names.get(condition.column)
    return None if name is None else Condition(name, condition.operation, condition.value)


def _conditions(part: Scalar) -> Iterator[Condition]:
    match part:
        case Call(function=name, args=(Column() as column, Constant() as constant)) if name in _OPERATIONS:
            yield from _comparison(column, _OPERATIONS[name], constant)
        case Call(function=name, args=(Constant() as constant, Column() as column)) if name in _OPERATIONS:
            yield from _comparison(column, _MIRRORED[_OPERATIONS[name]], constant)
        case InList(value=Column() as column, items=items):
            constants = [item for item in items if item is not None]
            if (
                constants
                and all(_is_comparable(item) for item in constants)
                and len({type(item) for item in constants}) == 1
            ):
                yield from _comparison(column, ">=", Constant(column.type, min(constants)))  # type: ignore[type-var]
                yield from _comparison(column, "<=", Constant(column.type, max(constants)))  # type: ignore[type-var]


def _comparison(column: Column, operation: str, constant: Constant) -> Iterator[Condition]:
    value = constant.value
    if column.type == constant.type and column.type.name in _ORDERED and _is_comparable(value):
        yield Condition(column.id, operation, value)  # type: ignore[arg-type]


def _is_comparable(value: object) -> bool:
    """NaN is above everything in PostgreSQL, and in Python not even equal to itself."""
    return isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
