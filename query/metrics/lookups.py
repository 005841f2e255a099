"""Answers about label sets: series, label names and values, cardinality (web/api/v1/api.go)."""

from typing import Any, Final

import polars as pl

from promql.labels import METRIC_NAME
from query.metrics.questions import MetricQuestion
from storage.exactly import exactly

_COUNT: Final = "\0count"


def answer(lookup: MetricQuestion, sets: pl.DataFrame) -> tuple[Any, bool]:
    """The member `data`, and whether the limit has left something out."""
    match lookup.kind:
        case "series":
            return _limited(_sets(sets), lookup.limit)
        case "labels":
            return _limited(_names(sets), lookup.limit)
        case "values":
            return _limited(_values(sets, lookup.label), lookup.limit)
        case "label_names":
            return _limited(_entries(_value_counts(sets)), lookup.limit)
        case "label_values":
            return _limited(_entries(_series_counts(sets, lookup.label or METRIC_NAME)), lookup.limit)
        case "active_series":
            found, is_cut = _limited(_sets(sets), lookup.limit)
            return {"total_active_series": sets.height, "series": found}, is_cut
    return _statistics(sets, lookup), False


def _limited(found: list[Any], limit: int) -> tuple[list[Any], bool]:
    return (found[:limit], True) if 0 < limit < len(found) else (found, False)


def _names(sets: pl.DataFrame) -> list[str]:
    return sorted(name for name in sets.columns if _filled(sets, name).any())


def _filled(sets: pl.DataFrame, name: str) -> pl.Series:
    return sets.get_column(name).fill_null("") != ""


def _values(sets: pl.DataFrame, label: str) -> list[str]:
    if label not in sets.columns:
        return []
    values = sets.get_column(label).drop_nulls().unique().to_list()
    return sorted(value for value in values if value)


def _sets(sets: pl.DataFrame) -> list[dict[str, str]]:
    """In the order of label sets, as Prometheus sorts series."""
    names = sorted(sets.columns)
    rows = ({name: value for name, value in zip(names, row, strict=True) if value} for row in sets.select(names).rows())
    return sorted(rows, key=lambda labels: list(labels.items()))


def _value_counts(sets: pl.DataFrame) -> dict[str, int]:
    return {name: len(_values(sets, name)) for name in _names(sets)}


def _series_counts(sets: pl.DataFrame, label: str) -> dict[str, int]:
    """How many series have each value of the label."""
    if label not in sets.columns:
        return {}
    counts = sets.filter(_filled(sets, label)).group_by(exactly(label)).agg(pl.len().alias(_COUNT))
    return dict(counts.rows())


def _entries(counts: dict[str, int]) -> list[dict[str, str | int]]:
    """The greatest first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"name": name, "value": count} for name, count in ordered]


def _statistics(sets: pl.DataFrame, lookup: MetricQuestion) -> dict[str, Any]:
    """status/tsdb of Prometheus, with `totalSeries` and the counts of a label that is in focus."""
    limit = lookup.limit or 10
    names = _names(sets)
    by_name = {name: int(_filled(sets, name).sum()) for name in names}
    pairs = {f"{name}={value}": count for name in names for value, count in _series_counts(sets, name).items()}
    sizes = {name: sum(len(value.encode()) for value in _values(sets, name)) for name in names}
    found: dict[str, Any] = {
        "headStats": {
            "numSeries": sets.height,
            "numLabelPairs": len(pairs),
            "chunkCount": 0,
            "minTime": 0,
            "maxTime": 0,
        },
        "seriesCountByMetricName": _entries(_series_counts(sets, METRIC_NAME))[:limit],
        "labelValueCountByLabelName": _entries(_value_counts(sets))[:limit],
        "memoryInBytesByLabelName": _entries(sizes)[:limit],
        "seriesCountByLabelValuePair": _entries(pairs)[:limit],
        "totalSeries": sets.height,
        "totalLabelValuePairs": len(pairs),
        "seriesCountByLabelName": _entries(by_name)[:limit],
    }
    if lookup.label:
        found["seriesCountByFocusLabelValue"] = _entries(_series_counts(sets, lookup.label))[:limit]
    return found
