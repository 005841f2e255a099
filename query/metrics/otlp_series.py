"""OTLP's data points as series, under the names that Prometheus translates them to (its OTLP receiver).

Attributes of resources are labels like those of data points, since rows do not tell them apart
(`promote_all_resource_attributes`); delta points are summed up from the first one that is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
import polars as pl

from promql.arrays import Bools, Objects
from promql.histogram import Histogram, IncompatibleSchemas
from promql.labels import METRIC_NAME, Labels, labels_of
from promql.numbers import format_plain
from promql.regexps import matches, matching
from promql.series import Samples
from promql.tree import Matcher
from query.metrics.label_columns import NAME_COLUMN, TIME_COLUMN, LabelColumn
from query.metrics.otlp_names import label_name, metric_name
from query.metrics.series import NS_PER_MS, MetricTable, between, histogram_of, nothing, text_of
from query.metrics.summaries import FIRST, LAST
from storage.exactly import exactly
from storage.read.contents import Column

_DESCRIPTOR: Final = ("metric_name", "metric_unit", "metric_type", "is_monotonic")
# What divides a histogram, and a summary, into series.
_DIVISIONS: Final = ("data_point_explicit_bounds", "data_point_quantile_values_quantile")
_VALUES: Final = """data_point_value data_point_flags aggregation_temporality data_point_count data_point_sum
    data_point_bucket_counts data_point_explicit_bounds data_point_scale data_point_zero_count data_point_zero_threshold
    positive_offset positive_bucket_count negative_offset negative_bucket_count data_point_quantile_values_quantile
    data_point_quantile_values_value""".split()
_DELTA: Final = 1
_NO_RECORDED_VALUE: Final = 1
# Prometheus' native histograms have no finer schema.
_FINEST: Final = 8
_ENDINGS: Final = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}
_SCOPE: Final = {"scope_name": "otel_scope_name", "scope_version": "otel_scope_version"}
_NOTHING: Final = {FIRST: pl.Int64, LAST: pl.Int64}
Value = float | Histogram | None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What names a metric's series."""

    name: str
    unit: str
    type: str
    is_monotonic: bool

    @property
    def base(self) -> str:
        is_counter = self.type == "sum" and self.is_monotonic
        return metric_name(self.name, self.unit, is_counter=is_counter, is_gauge=self.type == "gauge")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.base + ending for ending in _ENDINGS.get(self.type, ("",)))

    def series(self, bounds: Sequence[float], quantiles: Sequence[float]) -> Iterator[tuple[str, dict[str, str]]]:
        """The names of its series, with the labels `le` and `quantile` of those that have them."""
        for name in self.names:
            if self.type == "histogram" and name.endswith("_bucket"):
                yield from ((name, {"le": le}) for le in [*map(_plain, bounds), "+Inf"])
            elif self.type == "summary" and name == self.base:
                yield from ((name, {"quantile": _plain(each)}) for each in quantiles)
            else:
                yield name, {}


class OtlpSource:
    """The series of a dataset of OTLP, as the evaluator asks for them."""

    def __init__(self, table: MetricTable) -> None:
        self._table = table

    def select(self, matchers: tuple[Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        if not self._table.has_samples:
            return nothing()
        in_range = between(exactly(self._table.stored[TIME_COLUMN]), start_ms, end_ms)
        series: dict[Labels, dict[int, Value]] = {}
        for descriptor in self._descriptors(in_range, matchers):
            exact = (Matcher(METRIC_NAME, "=", descriptor.name),)
            rows = self._table.rows(exact).filter(self._is(descriptor) & in_range)
            for labels, time, value in _points(self._table, rows, descriptor):
                series.setdefault(labels, {}).setdefault(time, value)
        return _samples({labels: points for labels, points in series.items() if labels in _matched(series, matchers)})

    def _descriptors(self, in_range: pl.Expr, matchers: Sequence[Matcher]) -> list[Descriptor]:
        """The metrics with a series whose name the matchers take."""
        named = [each for each in matchers if each.name == METRIC_NAME]
        found = descriptors(self._table.rows(()).filter(in_range), self._table.stored)
        return [each for each in found if any(all(matches(matcher, name) for matcher in named) for name in each.names)]

    def _is(self, descriptor: Descriptor) -> pl.Expr:
        stored = self._table.stored
        wanted = exactly(stored[NAME_COLUMN]) == descriptor.name
        for name, value in (("metric_unit", descriptor.unit), ("metric_type", descriptor.type)):
            if name in stored:
                wanted &= exactly(stored[name]).fill_null("") == value
        return wanted


def descriptors(rows: pl.LazyFrame, stored: Mapping[str, str]) -> list[Descriptor]:
    columns = [
        exactly(stored[name]).alias(name) if name in stored else pl.lit(None).alias(name) for name in _DESCRIPTOR
    ]
    found = rows.select(columns).unique().collect()
    members = {
        Descriptor(name, unit or "", kind or "", bool(monotonic))
        for name, unit, kind, monotonic in found.rows()
        if name
    }
    return sorted(members, key=lambda each: (each.name, each.type, each.unit))


def label_names(columns: Sequence[LabelColumn]) -> dict[str, list[LabelColumn]]:
    """The columns by the labels that they become; of two columns with one label the first that has a value counts."""
    found: dict[str, list[LabelColumn]] = {}
    for each in columns:
        if each.label != METRIC_NAME:
            found.setdefault(_SCOPE.get(each.label) or label_name(each.label), []).append(each)
    return found


def identity(labels: Mapping[str, str]) -> dict[str, str]:
    """With `job` and `instance`, which Prometheus makes of the service's name, namespace and id."""
    service, namespace = labels.get("service_name"), labels.get("service_namespace")
    job = f"{namespace}/{service}" if service and namespace else service
    made = {"job": job, "instance": labels.get("service_instance_id")}
    return {**{name: value for name, value in made.items() if value}, **labels}


def _points(table: MetricTable, rows: pl.LazyFrame, descriptor: Descriptor) -> Iterator[tuple[Labels, int, Value]]:
    """All samples of a metric, series by series in the order of time; None is a staleness marker."""
    stored, names = table.stored, label_names(table.labels)
    values = [name for name in _VALUES if name in stored]
    frame = rows.select(
        *(text_of(columns).alias(label) for label, columns in names.items()),
        (exactly(stored[TIME_COLUMN]).dt.epoch("ns") // NS_PER_MS).alias("\0time"),
        exactly(stored["p_timestamp"]).to_physical().alias("\0arrival"),
        *(exactly(stored[name]).alias(f"\0{name}") for name in values),
    ).collect()
    groups: dict[Labels, list[dict[str, Any]]] = {}
    for row in frame.sort("\0time", "\0arrival").iter_rows(named=True):
        labels = labels_of(identity({label: row[label] for label in names if row[label]}))
        point = {name: row[f"\0{name}"] for name in values} | {"time": row["\0time"]}
        groups.setdefault(labels, []).append(point)
    for each, points in groups.items():
        yield from _series(each, points, descriptor)


def _series(
    labels: Labels, points: list[dict[str, Any]], descriptor: Descriptor
) -> Iterator[tuple[Labels, int, Value]]:
    totals: dict[Labels, float | Histogram] = {}
    seen: set[int] = set()
    for point in points:
        if point["time"] in seen:
            continue
        seen.add(point["time"])
        is_stale = bool((point.get("data_point_flags") or 0) & _NO_RECORDED_VALUE)
        for name, extra, value in _parts(point, descriptor):
            full = labels_of({**dict(labels), METRIC_NAME: name, **extra})
            if is_stale or value is None:
                yield full, point["time"], None
                continue
            if point.get("aggregation_temporality") == _DELTA:
                value = totals[full] = _added(totals.get(full), value)
            yield full, point["time"], value


def _added(total: float | Histogram | None, value: float | Histogram) -> float | Histogram:
    if isinstance(total, float) and isinstance(value, float):
        return total + value
    if isinstance(total, Histogram) and isinstance(value, Histogram):
        result = total.copy()
        try:
            result.add(value)
        except IncompatibleSchemas:
            return value
        return result
    return value


def _parts(point: Mapping[str, Any], descriptor: Descriptor) -> Iterator[tuple[str, dict[str, str], Value]]:
    """The series that a data point has samples of, with the labels that tell them apart."""
    base = descriptor.base
    match descriptor.type:
        case "histogram":
            yield from _buckets(point, base)
        case "summary":
            quantiles = zip(
                point.get("data_point_quantile_values_quantile") or (),
                point.get("data_point_quantile_values_value") or (),
                strict=False,
            )
            yield from ((base, {"quantile": _plain(q)}, float(value)) for q, value in quantiles)
        case "exponential_histogram":
            if point.get("data_point_count") is not None:
                histogram = histogram_of(point)
                yield base, {}, histogram.reduce(min(histogram.schema, _FINEST))
            return
        case _:
            yield base, {}, _number(point.get("data_point_value"))
            return
    yield f"{base}_count", {}, _number(point.get("data_point_count"))
    if point.get("data_point_sum") is not None:
        yield f"{base}_sum", {}, _number(point["data_point_sum"])


def _buckets(point: Mapping[str, Any], base: str) -> Iterator[tuple[str, dict[str, str], Value]]:
    bounds = map(_plain, point.get("data_point_explicit_bounds") or ())
    counts = list(accumulate(point.get("data_point_bucket_counts") or ()))
    for le, count in zip(bounds, counts, strict=False):
        yield f"{base}_bucket", {"le": le}, float(count)
    yield f"{base}_bucket", {"le": "+Inf"}, _number(point.get("data_point_count"))


def _plain(bound: float) -> str:
    return format_plain(float(bound))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _matched(series: Mapping[Labels, Any], matchers: Sequence[Matcher]) -> set[Labels]:
    chosen = list(series)
    for matcher in matchers:
        kept = matching(matcher, [dict(each).get(matcher.name, "") for each in chosen]) if chosen else []
        chosen = [each for each, keeps in zip(chosen, kept, strict=True) if keeps]
    return set(chosen)


def _samples(series: Mapping[Labels, Mapping[int, Value]]) -> Samples:
    ordered = [(labels, sorted(series[labels].items())) for labels in sorted(series)]
    points = [point for _, found in ordered for point in found]
    natives: Objects = np.full(len(points), None, dtype=object)
    stale: Bools = np.array([value is None for _, value in points], dtype=np.bool_)
    for at, (_, value) in enumerate(points):
        if isinstance(value, Histogram):
            natives[at] = value
    values = np.array([value if isinstance(value, float) else np.nan for _, value in points], dtype=np.float64)
    starts = np.cumsum([0, *(len(found) for _, found in ordered)], dtype=np.int64)
    times = np.array([time for time, _ in points], dtype=np.int64)
    has_native = any(isinstance(value, Histogram) for _, value in points)
    labels = [each for each, _ in ordered]
    return Samples(labels, starts, times, values, stale if stale.any() else None, natives if has_native else None)


def summarize_points(rows: pl.LazyFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """As `summarize` of query/metrics/summaries.py, under Prometheus' names."""
    table = MetricTable(tuple(columns), lambda _: rows)
    stored, names = table.stored, label_names(table.labels)
    time = exactly(stored[TIME_COLUMN]).dt.epoch("ns") // NS_PER_MS
    keys = [text_of(found).alias(label) for label, found in names.items()]
    for name in (*_DESCRIPTOR, *_DIVISIONS):
        keys.append((exactly(stored[name]) if name in stored else pl.lit(None)).alias(f"\0{name}"))
    grouped = rows.select(*keys, time.alias(FIRST)).group_by(pl.all().exclude(FIRST))
    return _translated(grouped.agg(pl.col(FIRST).max().alias(LAST), pl.col(FIRST).min()).collect(engine="streaming"))


def _translated(sets: pl.DataFrame) -> pl.DataFrame:
    """Label sets, with the columns of descriptors and of their divisions, under Prometheus' names."""
    rows = []
    for row in sets.iter_rows(named=True):
        name, unit, kind, is_monotonic, bounds, quantiles = (
            row.pop(f"\0{each}") for each in (*_DESCRIPTOR, *_DIVISIONS)
        )
        descriptor = Descriptor(name or "", unit or "", kind or "", bool(is_monotonic))
        times = {each: row.pop(each) for each in (FIRST, LAST)}
        labels = identity({name: value for name, value in row.items() if value})
        series = descriptor.series(bounds or (), quantiles or ()) if descriptor.name else ()
        rows += [{METRIC_NAME: name, **labels, **division, **times} for name, division in series]
    if not rows:
        return pl.DataFrame(schema=_NOTHING)
    # A histogram whose bounds change has the series that they share twice.
    found = pl.DataFrame(rows, infer_schema_length=None).group_by(pl.all().exclude(FIRST, LAST))
    return found.agg(pl.col(FIRST).min(), pl.col(LAST).max())
