"""The vocabulary of column types, shared by decoders, storage and query. Knows Polars, no I/O.

A dataset's column has one of these types for ever, except that it may widen once, as WIDER says. A value of another
type goes to the sibling column `<name>_<type>`, with the names below.
JSON is a text column whose every value is one JSON document; everything else is its Polars type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

import polars as pl


class ColumnType(StrEnum):
    BOOL = "bool"
    INT64 = "int64"
    FLOAT64 = "float64"
    UTF8 = "utf8"
    JSON = "json"
    DATE = "date"
    TIMESTAMP_US = "timestamp_us"
    TIMESTAMP_NS = "timestamp_ns"
    LIST_BOOL = "list_bool"
    LIST_INT64 = "list_int64"
    LIST_FLOAT64 = "list_float64"
    LIST_UTF8 = "list_utf8"


POLARS_TYPES: Final[Mapping[ColumnType, pl.DataType]] = MappingProxyType(
    {
        ColumnType.BOOL: pl.Boolean(),
        ColumnType.INT64: pl.Int64(),
        ColumnType.FLOAT64: pl.Float64(),
        ColumnType.UTF8: pl.String(),
        ColumnType.JSON: pl.String(),
        ColumnType.DATE: pl.Date(),
        ColumnType.TIMESTAMP_US: pl.Datetime("us", "UTC"),
        ColumnType.TIMESTAMP_NS: pl.Datetime("ns", "UTC"),
        ColumnType.LIST_BOOL: pl.List(pl.Boolean()),
        ColumnType.LIST_INT64: pl.List(pl.Int64()),
        ColumnType.LIST_FLOAT64: pl.List(pl.Float64()),
        ColumnType.LIST_UTF8: pl.List(pl.String()),
    }
)

# Integers become floats where each is exact as one; so do lists of them.
WIDER: Final[Mapping[ColumnType, ColumnType]] = MappingProxyType(
    {ColumnType.INT64: ColumnType.FLOAT64, ColumnType.LIST_INT64: ColumnType.LIST_FLOAT64}
)
NARROWER: Final[Mapping[ColumnType, ColumnType]] = MappingProxyType({wide: narrow for narrow, wide in WIDER.items()})


class Field(NamedTuple):
    """A column as it was sent: its name and the type of its values. A `displaced` one never takes the name itself:
    integers outside int64, as text."""

    name: str
    type: ColumnType
    displaced: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Decoded events, one per row, as typed columns.

    `fields[i]` describes `columns[i]`, whose Polars type is `POLARS_TYPES[fields[i].type]` and whose length is
    `height`. A name occurs once per type: values of one name but of two types (`1` and `"a"`) stand in two
    columns, each null where the other has the value, in the order in which the types were first seen. Storage
    decides which stored column each goes to. A column of nothing but nulls is left out. An empty event is a row.
    """

    fields: tuple[Field, ...]
    columns: tuple[pl.Series, ...]
    height: int


def one_row(members: Mapping[str, str | int | None]) -> Batch:
    """An event of texts and integers; a member that is None is a text without a value."""
    types = {name: ColumnType.INT64 if isinstance(value, int) else ColumnType.UTF8 for name, value in members.items()}
    fields = tuple(Field(name, kind) for name, kind in types.items())
    columns = tuple(pl.Series(name, [members[name]], POLARS_TYPES[kind]) for name, kind in types.items())
    return Batch(fields, columns, 1)
