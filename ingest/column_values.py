"""Which column type a value has, and a column of values as typed series. Knows neither events nor the wire.

The rules are those of docs/ingestion-json.md, "Types". They look at one value at a time, so that a value lands in
the same column whatever it was batched with; the one exception is a list without any element (`EMPTY_LIST`).
"""

import json
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from itertools import chain
from types import MappingProxyType, NoneType
from typing import Any, Final, NamedTuple

import orjson
import polars as pl

from columns import POLARS_TYPES, ColumnType
from errors import InvalidEvent

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
EXACT_IN_FLOAT64: Final = 2**53
"""Every integer up to this magnitude has a float64 of its own."""

EMPTY_LIST: Final = None
"""The kind of `[]` and `[null]`: a list that says nothing of its elements' type. See `ingest.batch_builder`."""


class Oversized(Enum):
    """The kind of integers outside int64. They are stored as text, beside the column of their name."""

    INTEGER = "decimal text"


Kind = ColumnType | Oversized | None

_NONE: Final = frozenset({NoneType})


class Column(NamedTuple):
    """The values of one name, one per row, `None` where absent, and the Python types among them but for NoneType."""

    name: str
    values: Sequence[Any]
    types: Set[type]

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> "Column":
        return cls(name, values, set(map(type, values)) - _NONE)


RoutedColumn = tuple[str, Mapping[Kind, pl.Series]]
"""A name, and its values as one series per type."""

FEW_ROWS: Final = 32
"""Up to so many rows one frame is cheaper than a series per column, and Python lists cheaper than JSON."""

_SCALARS: Final[Mapping[type, ColumnType]] = MappingProxyType(
    {bool: ColumnType.BOOL, int: ColumnType.INT64, float: ColumnType.FLOAT64, str: ColumnType.UTF8}
)
_LISTS: Final[Mapping[type, ColumnType]] = MappingProxyType(
    {
        bool: ColumnType.LIST_BOOL,
        int: ColumnType.LIST_INT64,
        float: ColumnType.LIST_FLOAT64,
        str: ColumnType.LIST_UTF8,
    }
)


JSON_DEPTH_LIMIT: Final = 254
"""The deepest nesting orjson writes. Deeper events are refused."""


class NestedTooDeep(ValueError):
    """A value nests deeper than `JSON_DEPTH_LIMIT`."""


def column_type(kind: Kind) -> ColumnType:
    """The type that values of a kind are stored as."""
    if isinstance(kind, Oversized):
        return ColumnType.UTF8
    return kind or ColumnType.LIST_UTF8


def series(name: str, values: Sequence[Any], kind: Kind) -> pl.Series:
    """`values` under the Polars type of `kind`. A scalar of another type raises TypeError or OverflowError.

    Lists are handed over as JSON, a fourteenth of the time in which Polars takes Python lists (bench/json_decode.py).
    Both ends write and read the nearest float64, so nothing changes on the way.
    """
    dtype = POLARS_TYPES[column_type(kind)]
    if not isinstance(dtype, pl.List) or len(values) <= FEW_ROWS:
        return pl.Series(name, values, dtype=dtype, strict=True)
    text = orjson.dumps(values).decode()
    return pl.Series(name, [text], dtype=pl.String).str.json_decode(pl.List(dtype)).explode()


def route(columns: Sequence[Column], *, first_index: int = 0) -> list[RoutedColumn]:
    """The values of each column as one series per type, in the order of first appearance.

    `first_index` is the place in the batch of the event that the first values are of, for InvalidEvent.

    >>> [(name, variants)] = route([Column.of("a", [1, None, "x"])])
    >>> {kind.value: values.to_list() for kind, values in variants.items()}
    {'int64': [1, None, None], 'utf8': [None, None, 'x']}
    """
    quick = _route_few_rows(columns)
    return [(column.name, quick.get(column.name) or _route_one(column, first_index)) for column in columns]


def _route_few_rows(columns: Sequence[Column]) -> Mapping[str, Mapping[Kind, pl.Series]]:
    """The columns of one scalar type, made by one call: four times as fast for a single row (bench/json_decode.py)."""
    plain = [column for column in columns if len(column.types) == 1 and column.types <= _SCALARS.keys()]
    if not plain or len(plain[0].values) > FEW_ROWS:
        return {}
    names = [column.name for column in plain]
    kinds = [_SCALARS[next(iter(column.types))] for column in plain]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(column.values for column in plain), strict=True)]
    schema = {name: POLARS_TYPES[kind] for name, kind in zip(names, kinds, strict=True)}
    try:
        made = pl.from_dicts(rows, schema=schema, strict=True).get_columns()
    except (pl.exceptions.ComputeError, OverflowError):  # an integer outside int64
        return {}
    return {name: {kind: values} for name, kind, values in zip(names, kinds, made, strict=True)}


def _route_one(column: Column, first_index: int) -> dict[Kind, pl.Series]:
    name, values, types = column
    kind = _SCALARS.get(next(iter(types))) if len(types) == 1 else None
    if kind is None:
        kind = _kind_of_lists(column)
    if kind is None:
        return _route_each(name, values, first_index)
    try:
        return {kind: series(name, values, kind)}
    except (TypeError, OverflowError):  # an integer outside int64
        return _route_each(name, values, first_index)


def _kind_of_lists(column: Column) -> ColumnType | None:
    """The type of a column of lists that all have elements, and all of one type; None for any other column."""
    if column.types != {list}:
        return None
    lists = [value for value in column.values if value is not None]
    types = set(map(type, chain.from_iterable(lists)))
    if len(types) != 1 or not all(lists):
        return None
    if types == {int} and (min(map(min, lists)) < INT64_MIN or max(map(max, lists)) > INT64_MAX):
        return None
    return _LISTS.get(types.pop())


def _route_each(name: str, values: Sequence[Any], first_index: int) -> dict[Kind, pl.Series]:
    routed: dict[Kind, list[Any]] = {}
    for row, value in enumerate(values):
        if value is None:
            continue
        try:
            kind, stored = classify(value)
        except NestedTooDeep as error:
            raise InvalidEvent(f"an event nests deeper than {error} levels", index=first_index + row) from error
        if kind not in routed:
            routed[kind] = [None] * len(values)
        routed[kind][row] = stored
    return {kind: series(name, stored, kind) for kind, stored in routed.items()}


def classify(value: Any) -> tuple[Kind, Any]:
    """The type of one value that is not None, and the value as that type stores it.

    >>> classify(2**64)
    (<Oversized.INTEGER: 'decimal text'>, '18446744073709551616')
    """
    kind = _SCALARS.get(type(value))
    if kind is ColumnType.INT64 and not INT64_MIN <= value <= INT64_MAX:
        return Oversized.INTEGER, str(value)
    if kind is not None:
        return kind, value
    if isinstance(value, list):
        return _classify_list(value)
    return ColumnType.JSON, json_text(value)


def _classify_list(values: list[Any]) -> tuple[Kind, Any]:
    types = set(map(type, values)) - _NONE
    if not types:
        return EMPTY_LIST, values
    if types == {int, float} and all(type(value) is not int or abs(value) <= EXACT_IN_FLOAT64 for value in values):
        return ColumnType.LIST_FLOAT64, [None if value is None else float(value) for value in values]
    if types == {int} and not all(value is None or INT64_MIN <= value <= INT64_MAX for value in values):
        return ColumnType.JSON, json_text(values)
    kind = _LISTS.get(next(iter(types))) if len(types) == 1 else None
    return (kind, values) if kind else (ColumnType.JSON, json_text(values))


def json_text(value: Any) -> str:
    """A value as compact JSON. Integers of any size stay exact. Raises NestedTooDeep."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        if _depth_exceeds(value, JSON_DEPTH_LIMIT):
            raise NestedTooDeep(JSON_DEPTH_LIMIT) from error
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))  # an integer outside 64 bits


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [child for parent in level for child in _children(parent)]
    return bool(level)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
