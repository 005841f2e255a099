"""Exemplars of series (web/api/v1/api.go, queryExemplars)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson
import polars as pl

from promql.labels import Labels, labels_of
from promql.numbers import format_sample
from promql.tree import Matcher
from query.metrics.series import MetricTable, label_texts, matching_rows
from storage.exactly import exactly

_COLUMN: Final = "exemplars"


def exemplars(table: MetricTable, selectors: Sequence[tuple[Matcher, ...]], start_ms: int, end_ms: int) -> list[Any]:
    """The exemplars of each series that one of the selectors takes, by series and time."""
    found: dict[Labels, dict[tuple[float, str], dict[str, Any]]] = {}
    if not table.has_samples or _COLUMN not in table.stored:
        return []
    names = list(dict.fromkeys(each.label for each in table.labels))
    for matchers in selectors:
        wanted = matching_rows(table.labels, matchers) & exactly(table.stored[_COLUMN]).is_not_null()
        texts = exactly(table.stored[_COLUMN]).alias("\0exemplars")
        frame = table.rows(matchers).filter(wanted).select(*label_texts(table.labels), texts).unique().collect()
        for row in frame.select(*map(exactly, names), pl.col("\0exemplars")).iter_rows():
            labels = labels_of({name: value for name, value in zip(names, row[:-1], strict=True) if value})
            found.setdefault(labels, {}).update(_read(row[-1], start_ms, end_ms))
    return [
        {"seriesLabels": dict(labels), "exemplars": [each[key] for key in sorted(each)]}
        for labels, each in sorted(found.items())
        if each
    ]


def _read(text: str, start_ms: int, end_ms: int) -> dict[tuple[float, str], dict[str, Any]]:
    """The exemplars of one row, by time and text so that each counts once."""
    found = {}
    for each in orjson.loads(text):
        seconds = _seconds(str(each.get("time_unix_nano", "")))
        if seconds is None or not start_ms / 1000 <= seconds <= end_ms / 1000:
            continue
        ids = {name: each[name] for name in ("trace_id", "span_id") if each.get(name)}
        attributes = {str(name): str(value) for name, value in (each.get("attributes") or {}).items()}
        labels = dict(sorted({**attributes, **ids}.items()))
        member = {"labels": labels, "value": format_sample(float(each.get("value") or 0)), "timestamp": seconds}
        found[seconds, orjson.dumps(member).decode()] = member
    return found


def _seconds(text: str) -> float | None:
    """Of RFC 3339 in nanoseconds; Prometheus' times are ms."""
    try:
        whole = datetime.fromisoformat(text[:19] + "+00:00").timestamp()
        fraction = text[19:].strip("Z").lstrip(".")
        ms = int(fraction[:3].ljust(3, "0")) if fraction else 0
    except ValueError:
        return None
    return (int(whole) * 1000 + ms) / 1000
