"""What senders said of metrics: type, help and unit, in Prometheus' JSON (web/api/v1/api.go, metricMetadata)."""

from typing import Any, Final

import polars as pl

from query.metrics.label_columns import NAME_COLUMN
from query.metrics.series import MetricTable
from storage.exactly import exactly

_COLUMNS: Final = {"type": "metric_type", "help": "metric_description", "unit": "metric_unit"}
# The endings of series that a family's metadata is about.
_ENDINGS: Final = ("_bucket", "_count", "_sum")
_BUCKETED: Final = ("histogram", "gaugehistogram", "summary")


def metadata(table: MetricTable, metric: str, limit: int) -> dict[str, list[dict[str, str]]]:
    """By the name of the family; of metrics that nobody said anything of there is nothing."""
    stored = table.stored
    if NAME_COLUMN not in stored:
        return {}
    said = [_text(stored, name, column) for name, column in _COLUMNS.items()]
    frame = table.rows(()).select(exactly(stored[NAME_COLUMN]).alias("metric"), *said).unique().collect()
    found: dict[str, list[dict[str, str]]] = {}
    for row in frame.sort("metric", "type", "help", "unit").iter_rows(named=True):
        members = {name: row[name] for name in _COLUMNS}
        family = _family(row["metric"] or "", row["type"])
        if _says_something(members) and metric in ("", family):
            kept = found.setdefault(family, [])
            kept += [] if members in kept else [members]
    return dict(list(found.items())[: limit or None])


def _text(stored: Any, name: str, column: str) -> pl.Expr:
    value = exactly(stored[column]).fill_null("") if column in stored else pl.lit("")
    return value.alias(name)


def _says_something(members: dict[str, str]) -> bool:
    return members["type"] not in ("", "unknown") or bool(members["help"] or members["unit"])


def _family(metric: str, kind: str) -> str:
    ending = next((each for each in _ENDINGS if metric.endswith(each)), None)
    return metric.removesuffix(ending) if ending and kind in _BUCKETED else metric
