"""JSON request bodies as typed columns. Pure; knows no stored schema."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, cast

import polars as pl

from columns import Batch, ColumnType
from errors import InvalidEvent
from ingest.flatten import MAX_DEPTH, flatten
from ingest.json_framing import Run, runs
from ingest.routing import RoutedColumn, route
from ingest.rows import MAX_COLUMNS, BatchBuilder

RESERVED: Final = frozenset({"p_timestamp", "p_src_ip", "p_user_agent"})
"""Columns that the service adds to every row."""

_INTEGER_BEYOND_64_BITS: Final = 2**63
_BIG_FLOAT_IN_JSON: Final = r"e\+(?:1[89]|[2-9][0-9]|[0-9]{3})[,\]}]"


def decode(
    body: bytes,
    *,
    max_depth: int = MAX_DEPTH,
    max_columns: int = MAX_COLUMNS,
    reserved: Collection[str] = RESERVED,
) -> Batch:
    """The events of a body, one per row, in order; docs/ingestion-json.md has the rules.

    `body` is one object, an array of objects, NDJSON, or objects one behind the other. `reserved` are the columns
    that the service adds to this request's events. Raises InvalidJSON with `position`, InvalidEvent with `index`,
    TooManyColumns and TooLarge; then the whole body is refused.

    >>> batch = decode(b'[{"a": {"b": 1}}, {"a": {"b": 2}, "c": "x"}]')
    >>> [(field.name, column.to_list()) for field, column in zip(batch.fields, batch.columns)]
    [('a_b', [1, 2]), ('c', [None, 'x'])]
    """
    builder = BatchBuilder(max_columns=max_columns)
    for run in runs(body):
        columns = _columns(run, builder.height, max_depth, max_columns, reserved)
        builder.add(columns, len(run.events))
    return builder.finish()


def _columns(
    run: Run, first_index: int, max_depth: int, max_columns: int, reserved: Collection[str]
) -> Sequence[RoutedColumn]:
    require_objects(run.events, first_index)
    flat = flatten(run.events, max_depth=max_depth, max_columns=max_columns, reserved=reserved, first_index=first_index)
    columns = route(flat, first_index=first_index)
    if run.text is not None and has_rounded(columns):
        return _columns(run.exactly(), first_index, max_depth, max_columns, reserved)
    return columns


def require_objects(events: Sequence[Any], first_index: int) -> None:
    """Raises InvalidEvent for the first event that is not an object."""
    if set(map(type, events)) <= {dict}:
        return
    index = next(index for index, event in enumerate(events) if type(event) is not dict)
    raise InvalidEvent("an event is not a JSON object", index=first_index + index)


def has_rounded(columns: Iterable[RoutedColumn]) -> bool:
    """Whether an integer beyond 64 bits may be among the values, which orjson reads as a float64."""
    return any(_has_big_float(kind, column) for _, variants in columns for kind, column in variants.items())


def _has_big_float(kind: ColumnType | None, column: pl.Series) -> bool:
    if kind is ColumnType.JSON:
        return bool(column.str.contains(_BIG_FLOAT_IN_JSON).any())
    if kind is ColumnType.LIST_FLOAT64:
        column = column.explode()
    elif kind is not ColumnType.FLOAT64:
        return False
    largest, smallest = cast(float, column.max() or 0.0), cast(float, column.min() or 0.0)
    return max(largest, -smallest) >= _INTEGER_BEYOND_64_BITS
