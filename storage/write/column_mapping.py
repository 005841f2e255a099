"""Where the columns of a batch go in a dataset's schema: the rules of types, widening and siblings. Pure.

The rules (api.md section 4, docs/storage.md):
- A value goes to the column of its name if the types agree, or if it is an integer that a FLOAT64 column holds exactly.
- A float that meets an INT64 column widens it, unless the column holds integers beyond 2^53.
- Lists of integers and of floats are to each other as integers and floats are; a list without elements is of any type.
- Everything else goes to the sibling `<name>_<type>`, and if that name belongs to another type, to
  `<name>_<type>_<type>`, and so on. Nothing fails and nothing is lost.
- An integer outside int64 always goes to the sibling `<name>_utf8`, so that it never decides a name's type.
- Of the types of a new name the first seen owns it; integers and floats together make it FLOAT64.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import polars as pl

from columns import NARROWER, POLARS_TYPES, WIDER, Batch, ColumnType, Field
from models.values.column import Change, Schema

# Every integer from -2^53 to 2^53 is exact as a float64.
EXACT: Final = 2**53
# Decoders return a list without elements as a list of text. Columns of these types take it as theirs.
ADOPTING: Final = (ColumnType.LIST_BOOL, ColumnType.LIST_INT64, ColumnType.LIST_FLOAT64, ColumnType.JSON)


class Part(Enum):
    """Which values of a sent column a route takes."""

    ALL = "all"
    EXACT = "integers that are exact as float64"
    LARGE = "integers beyond"


@dataclass(frozen=True, slots=True)
class Route:
    """Values of the sent column number `source` go to the column `target`."""

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
        if field.type in WIDER and is_large(values)
    )


def adopt(batch: Batch, schema: Schema) -> Batch:
    """The batch with columns of empty lists, which have no type of their own, cast to the stored column's type."""
    types = [_adopted(*each, batch, schema) for each in zip(batch.fields, batch.columns, strict=True)]
    if all(kind is None for kind in types):
        return batch
    fields = (each if kind is None else Field(each.name, kind) for each, kind in zip(batch.fields, types, strict=True))
    columns = (
        values if kind is None else _empty_lists(values, kind)
        for values, kind in zip(batch.columns, types, strict=True)
    )
    return Batch(tuple(fields), tuple(columns), batch.height)


def _adopted(field: Field, values: pl.Series, batch: Batch, schema: Schema) -> ColumnType | None:
    """The stored type for a column of empty lists; None for other columns. Decoders call empty lists LIST_UTF8."""
    column = schema.by_name.get(field.name)
    if field.type is not ColumnType.LIST_UTF8 or column is None or column.type not in ADOPTING:
        return None
    if Field(field.name, column.type) in batch.fields:
        return None
    elements = values.explode()
    return column.type if elements.null_count() == len(elements) else None


def _empty_lists(values: pl.Series, column_type: ColumnType) -> pl.Series:
    if column_type is not ColumnType.JSON:
        return values.cast(POLARS_TYPES[column_type])
    texts = [None if each is None else f"[{','.join(['null'] * len(each))}]" for each in values.to_list()]
    return pl.Series(values.name, texts, POLARS_TYPES[column_type])


def is_large(values: pl.Series) -> bool:
    """Whether any of the integers, or of those in the lists, is not exact as a float64."""
    if values.dtype.is_nested():
        values = values.explode()
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
    if fields[index].displaced:
        return 2
    column = schema.by_name.get(fields[index].name)
    if column is not None:
        return 0 if column.type is fields[index].type else 2
    is_first = all(each.name != fields[index].name or each.displaced for each in fields[:index])
    return 1 if is_first else 2


class _Draft:
    """A plan under construction: the routes so far, and the schema as it will be."""

    def __init__(self, fields: Sequence[Field], large: frozenset[int], schema: Schema) -> None:
        self._fields = fields
        self._large = large
        self._types = {column.name: column.type for column in schema.columns}
        self._never_widens = {column.name for column in schema.columns if column.holds_large}
        self._routes: list[Route] = []
        # The sent name that each stored column takes values of; two sent names never share a column.
        self._taken: dict[str, str] = {}
        self._add: list[Field] = []
        self._widen: list[str] = []
        self._hold_large: list[str] = []

    def plan(self) -> Plan:
        return Plan(tuple(self._routes), Change(tuple(self._add), tuple(self._widen), tuple(self._hold_large)))

    def route(self, index: int) -> None:
        field = self._fields[index]
        if field.displaced:
            self._to_sibling(index)
            return
        if field.type in NARROWER:
            self._widen_for(field)
        if not self._owns(field.name, field.name):
            self._to_sibling(index)
        elif field.name not in self._types:
            self._create(index, field.name)
        elif self._types[field.name] is field.type:
            self._take(index, field.name)
        elif WIDER.get(field.type) is self._types[field.name]:
            self._as_float(index)
        else:
            self._to_sibling(index)

    def _owns(self, target: str, name: str) -> bool:
        return self._taken.setdefault(target, name) == name

    def _widen_for(self, field: Field) -> None:
        """Widen an integer column to floats if the batch has floats for it and all its integers stay exact."""
        name = field.name
        if self._types.get(name) is not NARROWER[field.type] or name in self._never_widens:
            return
        if not self._owns(name, name):
            return
        self._types[name] = field.type
        self._widen.append(name)
        self._routes = [Route(each.source, name, field.type) if each.target == name else each for each in self._routes]

    def _create(self, index: int, name: str) -> None:
        column_type = self._fields[index].type
        wider = WIDER.get(column_type)
        if wider is not None and Field(name, wider) in self._fields and index not in self._large:
            column_type = wider
        self._add_column(name, column_type)
        self._take(index, name)

    def _add_column(self, name: str, column_type: ColumnType) -> None:
        self._types[name] = column_type
        self._add.append(Field(name, column_type))

    def _take(self, index: int, name: str, part: Part = Part.ALL) -> None:
        column_type = self._types[name]
        if column_type in WIDER and index in self._large and name not in self._never_widens:
            self._never_widens.add(name)
            self._hold_large.append(name)
        self._routes.append(Route(index, name, column_type, part))

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


def stored(plan: Plan, schema: Schema) -> Plan:
    """The plan with stored names as targets, once its change has been made to the schema."""
    routes = (replace(each, target=schema.by_name[each.target].stored) for each in plan.routes)
    return Plan(tuple(routes), Change())


def apply(routes: Sequence[Route], columns: Sequence[pl.Series]) -> pl.DataFrame:
    """The stored columns, in the order of their first route."""
    columns_by_name: dict[str, pl.Series] = {}
    for route in routes:
        values = _values(route, columns[route.source])
        before = columns_by_name.get(route.target)
        columns_by_name[route.target] = values if before is None else before.zip_with(before.is_not_null(), values)
    if not columns_by_name:
        return pl.DataFrame()
    # This takes a tenth of pl.DataFrame's time, and pl.DataFrame would rename a series with an empty name `column_0`.
    first, *others = columns_by_name.values()
    return first.to_frame().hstack(others)


def _is_exact(values: pl.Series) -> pl.Series:
    """For each integer, or list of integers, whether it is exact as float64."""
    if not values.dtype.is_nested():
        return values.is_between(-EXACT, EXACT)
    return (values.list.min() >= -EXACT).fill_null(True) & (values.list.max() <= EXACT).fill_null(True)


def _values(route: Route, values: pl.Series) -> pl.Series:
    if route.part is not Part.ALL:
        is_exact = _is_exact(values)
        is_taken = is_exact if route.part is Part.EXACT else ~is_exact
        values = values.zip_with(is_taken, pl.Series([None], dtype=values.dtype))
    dtype = POLARS_TYPES[route.type]
    if values.dtype != dtype:
        values = values.cast(dtype)
    return values if values.name == route.target else values.alias(route.target)
