"""The shape of what Weir stores of itself: a row for each log line, and one for each sample of a number. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import orjson
import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from logs import Line
from metrics.exposition import Sample

COLUMNS: Final = (
    # When the line was written or the number read; `p_timestamp` is a moment later, when the row was stored.
    Field("time", ColumnType.TIMESTAMP_US),
    Field("kind", ColumnType.UTF8),
    Field("host", ColumnType.UTF8),
    # Of a line.
    Field("level", ColumnType.UTF8),
    Field("logger", ColumnType.UTF8),
    Field("message", ColumnType.UTF8),
    Field("process", ColumnType.INT64),
    Field("request_id", ColumnType.UTF8),
    Field("code", ColumnType.UTF8),
    Field("exception", ColumnType.UTF8),
    # Of a sample. The labels are JSON, because their names differ from metric to metric.
    Field("metric", ColumnType.UTF8),
    Field("labels", ColumnType.JSON),
    Field("value", ColumnType.FLOAT64),
)
NAMES: Final = frozenset(each.name for each in COLUMNS)
# A histogram has a series for each bound of each route: they are for those who read /api/v1/metrics.
LEFT_OUT: Final = ("_bucket", "_created")

Row = Mapping[str, object]


def of_line(line: Line, host: str) -> Row:
    """The row of a log line. What a caller added to it under other names than ours is left out.

    >>> of_line({"level": "info", "message": "started", "colour": "red"}, "h")
    {'level': 'info', 'message': 'started', 'kind': 'log', 'host': 'h'}
    """
    return {name: value for name, value in line.items() if name in NAMES} | {"kind": "log", "host": host}


def of_samples(samples: Iterable[Sample], host: str, time: datetime, dataset: tuple[str, str]) -> list[Row]:
    """The rows of the numbers of one moment, without those about `dataset` (tenant and name), where they will be."""
    return [
        {
            "time": time.isoformat(),
            "kind": "metric",
            "host": host,
            "metric": each.name,
            "labels": orjson.dumps(each.labels, option=orjson.OPT_SORT_KEYS).decode(),
            "value": each.value,
        }
        for each in samples
        if not each.name.endswith(LEFT_OUT) and (each.labels.get("tenant"), each.labels.get("dataset")) != dataset
    ]


def batch(rows: Sequence[Row]) -> Batch:
    """The rows as typed columns; those of nothing but nulls are left out."""
    columns = [(each, _series(each, [row.get(each.name) for row in rows])) for each in COLUMNS]
    filled = [(each, values) for each, values in columns if values.null_count() < len(rows)]
    return Batch(tuple(each for each, _ in filled), tuple(values for _, values in filled), len(rows))


def _series(column: Field, values: list[object]) -> pl.Series:
    if column.type is ColumnType.TIMESTAMP_US:
        values = [datetime.fromisoformat(str(each)) for each in values]
    elif column.type is ColumnType.UTF8:
        values = [None if each is None else _text(each) for each in values]
    return pl.Series(column.name, values, POLARS_TYPES[column.type], strict=False)


def _text(value: object) -> str:
    """A caller may have added anything under one of our names, and a client's bytes may be no text."""
    return str(value).encode("utf-8", "replace").decode()
