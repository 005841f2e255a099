"""JSON request bodies as typed columns. Pure; knows no stored schema."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from columns import Batch, ColumnType
from errors import InvalidEvent
from ingest.batch_builder import MAX_COLUMNS, BatchBuilder
from ingest.column_values import Column, RoutedColumn, route
from ingest.flatten import MAX_DEPTH, Rules, flatten
from ingest.json.fast_path import shapes
from ingest.json.framing import Chunk, runs

RESERVED: Final = frozenset({"p_timestamp", "p_src_ip", "p_user_agent"})
"""Columns that the service adds to every row."""

_BEYOND_INT64: Final = 2.0**63
_BIG_FLOAT_IN_JSON: Final = re.compile(r"e\+(?:1[89]|[2-9][0-9]|[0-9]{3})[,\]}]")


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
    rules = Rules(max_depth, max_columns, frozenset(reserved))
    builder = BatchBuilder(max_columns=max_columns)
    for run in runs(body, shapes(rules)):
        if isinstance(run, Batch):
            builder.append(run)
        else:
            builder.add(*_exactly(run, rules, builder.height))
    return builder.finish()


def _exactly(run: Chunk, rules: Rules, first_index: int) -> tuple[list[RoutedColumn], int]:
    require_objects(run.events, first_index)
    flat = flatten(run.events, rules, first_index=first_index)
    routed = route(flat, first_index=first_index)
    if run.text is not None and has_rounded(flat, routed):
        return _exactly(run.exactly(), rules, first_index)
    shapes(rules).learn(run.events, routed)
    return routed, len(run.events)


def require_objects(events: Sequence[Any], first_index: int) -> None:
    """Raises InvalidEvent for the first event that is not an object."""
    if set(map(type, events)) <= {dict}:
        return
    index = next(index for index, event in enumerate(events) if type(event) is not dict)
    raise InvalidEvent("an event is not a JSON object", index=first_index + index)


def has_rounded(columns: Iterable[Column], routed: Iterable[RoutedColumn]) -> bool:
    """Whether an integer beyond 64 bits may be among the values, which orjson reads as a float64.

    In Python on purpose: a Polars call gives up the interpreter for an instant, too short for another thread to take
    it but enough to restart that thread's wait, and so the hub would starve (docs/decisions/json-decoding.md).
    """
    return any(float in column.types and _is_big(column.values) for column in columns) or any(
        any(map(_BIG_FLOAT_IN_JSON.search, filter(None, values.to_list())))
        if kind is ColumnType.JSON
        else kind is ColumnType.LIST_FLOAT64 and any(map(_is_big, filter(None, values.to_list())))
        for _, variants in routed
        for kind, values in variants.items()
    )


def _is_big(values: Iterable[Any]) -> bool:
    return max((abs(value) for value in values if type(value) is float), default=0.0) >= _BEYOND_INT64
