"""Where the columns of a batch go in a dataset's schema: the rules of types, widening and siblings. Pure.

The rules (api.md section 4, docs/storage.md):
- A value goes to the column of its name if the types agree, or if it is an integer that a FLOAT64 column holds exactly.
- A float that meets an INT64 column widens it, unless the column holds integers beyond 2^53.
- Everything else goes to the sibling `<name>_<type>`, and if that name belongs to another type, to
  `<name>_<type>_<type>`, and so on. Nothing fails and nothing is lost.
- Of the types of a new name the first seen owns it; integers and floats together make it FLOAT64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from models.column import Change, Schema

# Every integer from -2^53 to 2^53 is exact as a float64.
EXACT: Final = 2**53


class Part(Enum):
    """Which values of a sent column a route takes."""

    ALL = "all"
    EXACT = "integers that are exact as float64"
    LARGE = "integers beyond"


@dataclass(frozen=True, slots=True)
class Route:
    """Values of the sent column number `source` go to the stored column `target`."""

    source: int
    target: str
    type: ColumnType
    part: Part = Part.ALL


@dataclass(frozen=True, slots=True)
class Plan:
    """How a batch becomes stored rows, once `change` has been made to the schema."""

    routes: tuple[Route, ...]
    change: Change


def large(batch: Batch) -> frozenset[int]:
    """Which columns of the batch hold integers that are not exact as float64."""
    return frozenset(
        index
        for index, (field, values) in enumerate(zip(batch.fields, batch.columns, strict=True))
        if field.type is ColumnType.INT64 and is_large(values)
    )


def is_large(values: pl.Series) -> bool:
    """Whether any of the integers is not exact as a float64."""
    least, most = values.min(), values.max()
    return isinstance(least, int) and isinstance(most, int) and (least < -EXACT or most > EXACT)


def plan(fields: Sequence[Field], large: frozenset[int], schema: Schema) -> Plan:
    """Where each of `fields` goes; `large` says which hold integers beyond 2^53.

    Fields that own a name, or are about to, come first, so that a sibling never takes a name from its owner.
    """
    draft = _Draft(fields, large, schema)
    for index in sorted(range(len(fields)), key=lambda index: _precedence(index, fields, schema)):
        draft.route(index)
    return draft.plan()


def _precedence(index: int, fields: Sequence[Field], schema: Schema) -> int:
    column = schema.by_name.get(fields[index].name)
    if column is not None:
        return 0 if column.type is fields[index].type else 2
    is_first = all(each.name != fields[index].name for each in fields[:index])
    return 1 if is_first else 2


class _Draft:
    """A plan in the making: what has been routed, and what the schema will be."""

    def __init__(self, fields: Sequence[Field], large: frozenset[int], schema: Schema) -> None:
        self._fields = fields
        self._large = large
        self._types = {column.name: column.type for column in schema.columns}
        self._never_widens = {column.name for column in schema.columns if column.holds_large}
        self._routes: list[Route] = []
        # Which sent names each stored column takes values of; two sent names never share one.
        self._taken: dict[str, str] = {}
        self._add: list[Field] = []
        self._widen: list[str] = []
        self._hold_large: list[str] = []

    def plan(self) -> Plan:
        return Plan(tuple(self._routes), Change(tuple(self._add), tuple(self._widen), tuple(self._hold_large)))

    def route(self, index: int) -> None:
        field = self._fields[index]
        if field.type is ColumnType.FLOAT64:
            self._widen_for(field)
        if not self._owns(field.name, field.name):
            self._to_sibling(index)
        elif field.name not in self._types:
            self._create(index, field.name)
        elif self._types[field.name] is field.type:
            self._take(index, field.name)
        elif field.type is ColumnType.INT64 and self._types[field.name] is ColumnType.FLOAT64:
            self._as_float(index)
        else:
            self._to_sibling(index)

    def _owns(self, target: str, name: str) -> bool:
        return self._taken.setdefault(target, name) == name

    def _widen_for(self, field: Field) -> None:
        """Make the INT64 column of a sent float FLOAT64, if all it holds and is about to get stays exact."""
        name = field.name
        if self._types.get(name) is not ColumnType.INT64 or name in self._never_widens:
            return
        if not self._owns(name, name):
            return
        self._types[name] = ColumnType.FLOAT64
        self._widen.append(name)
        self._routes = [
            Route(each.source, name, ColumnType.FLOAT64) if each.target == name else each for each in self._routes
        ]

    def _create(self, index: int, name: str) -> None:
        kind = self._fields[index].type
        meets_float = Field(name, ColumnType.FLOAT64) in self._fields
        if kind is ColumnType.INT64 and meets_float and index not in self._large:
            kind = ColumnType.FLOAT64
        self._add_column(name, kind)
        self._take(index, name)

    def _add_column(self, name: str, kind: ColumnType) -> None:
        self._types[name] = kind
        self._add.append(Field(name, kind))

    def _take(self, index: int, name: str, part: Part = Part.ALL) -> None:
        kind = self._types[name]
        if kind is ColumnType.INT64 and index in self._large and name not in self._never_widens:
            self._never_widens.add(name)
            self._hold_large.append(name)
        self._routes.append(Route(index, name, kind, part))

    def _as_float(self, index: int) -> None:
        name = self._fields[index].name
        if index not in self._large:
            self._take(index, name)
            return
        self._take(index, name, Part.EXACT)
        self._to_sibling(index, Part.LARGE)

    def _to_sibling(self, index: int, part: Part = Part.ALL) -> None:
        field = self._fields[index]
        name = f"{field.name}_{field.type}"
        while not self._fits(name, field):
            name = f"{name}_{field.type}"
        if name not in self._types:
            self._add_column(name, field.type)
        self._take(index, name, part)

    def _fits(self, target: str, field: Field) -> bool:
        return self._types.get(target, field.type) is field.type and self._owns(target, f"{field.name}\0{field.type}")


def apply(routes: Sequence[Route], columns: Sequence[pl.Series]) -> pl.DataFrame:
    """The stored columns, in the order of their first route."""
    stored: dict[str, pl.Series] = {}
    for route in routes:
        values = _values(route, columns[route.source])
        before = stored.get(route.target)
        stored[route.target] = values if before is None else before.zip_with(before.is_not_null(), values)
    # By name: of a plain list of series, Polars would call one with the empty name `column_0`.
    return pl.DataFrame(stored)


def _values(route: Route, values: pl.Series) -> pl.Series:
    if route.part is not Part.ALL:
        is_exact = values.is_between(-EXACT, EXACT)
        chosen = is_exact if route.part is Part.EXACT else ~is_exact
        values = values.zip_with(chosen, pl.Series([None], dtype=values.dtype))
    wanted = POLARS_TYPES[route.type]
    return (values if values.dtype == wanted else values.cast(wanted)).alias(route.target)
