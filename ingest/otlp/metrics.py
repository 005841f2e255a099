"""OTLP metrics: one row per data point. Columns: docs/ingestion-otlp.md.

The five kinds of metric have different points, so each kind is a table of its own; the rows of a request stand in
the order gauge, sum, histogram, exponential histogram, summary.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeVar

from columns import ColumnType
from errors import InvalidBody
from ingest.decoded import Decoded
from ingest.gc_pause import uncollected
from ingest.otlp.messages import INT32, UINT32, UINT64, Messages, Reader
from ingest.otlp.reading import RESOURCE_COLUMNS, SCOPE_COLUMNS, Groups, Signal, open_request
from ingest.otlp.table import Level, Table, concatenate
from ingest.otlp.times import LAST, texts
from ingest.otlp.values import JsonText, json_arrays, json_text
from ingest.proto.otlp import MetricsData
from metric_columns import MetricMetadata

SIGNAL: Final = Signal(MetricsData, "resource_metrics", "scope_metrics", "scope_schema_url", "resource_schema_url")

COLUMNS: Final = (
    "metric_name",
    "metric_description",
    "metric_unit",
    "metric_type",
    "start_time_unix_nano",
    "time_unix_nano",
    "data_point_value",
    "data_point_count",
    "data_point_sum",
    "data_point_min",
    "data_point_max",
    "data_point_bucket_counts",
    "data_point_explicit_bounds",
    "data_point_scale",
    "data_point_zero_count",
    "data_point_zero_threshold",
    "positive_offset",
    "positive_bucket_count",
    "negative_offset",
    "negative_bucket_count",
    "data_point_quantile_values_quantile",
    "data_point_quantile_values_value",
    "data_point_flags",
    "data_point_flags_description",
    "aggregation_temporality",
    "aggregation_temporality_description",
    "is_monotonic",
    "exemplars",
    *SCOPE_COLUMNS,
    "scope_schema_url",
    *RESOURCE_COLUMNS,
    "resource_schema_url",
)

TEMPORALITIES: Final = dict(enumerate(("UNSPECIFIED", "DELTA", "CUMULATIVE")))

# Bit 0 of the flags: the point says only that there was nothing to record.
NO_RECORDED_VALUE: Final = 1

V = TypeVar("V")


class Points(NamedTuple):
    """The data points of one kind. `data` are the messages that hold them (`Sum`, `Gauge`), one per metric."""

    reader: Reader
    items: Messages
    data: Messages
    level: Level
    recorded: list[bool]

    def where_recorded(self, values: Sequence[V]) -> list[V | None]:
        return [value if is_recorded else None for value, is_recorded in zip(values, self.recorded, strict=True)]


@uncollected
def decode(body: bytes, media_type: str, *, max_columns: int = 1000) -> Decoded:
    """One row per data point of an ExportMetricsServiceRequest; a metric without points has none.

    Raises UnsupportedMedia, InvalidBody and, for more than `max_columns` attribute names, TooManyColumns.
    """
    reader, request = open_request(body, media_type, SIGNAL)
    groups = Groups(reader, request, SIGNAL)
    metrics = reader.children(groups.scope_groups, "metrics")
    kinds = _kinds(reader, metrics)
    decoded = concatenate([_decode_kind(kind, reader, metrics, groups, max_columns) for kind in _ADD_VALUES])
    return replace(decoded, metadata=_metadata(reader, metrics, kinds))


def _kinds(reader: Reader, metrics: Messages) -> list[str]:
    """The kind of data of each metric, "" for none. JSON can say two members of a oneof: nobody knows which counts."""
    kinds = [""] * len(metrics)
    for kind in _ADD_VALUES:
        for index, is_present in enumerate(reader.present(metrics, kind)):
            if is_present and kinds[index]:
                raise InvalidBody(f"{metrics.path(index)}: expected one kind of data, found {kinds[index]} and {kind}")
            kinds[index] = kind if is_present else kinds[index]
    return kinds


def _metadata(reader: Reader, metrics: Messages, kinds: Sequence[str]) -> dict[str, MetricMetadata]:
    """What is said of each metric, under the name and with the unit that it was sent with."""
    texts = [reader.strings(metrics, name) for name in ("name", "description", "unit")]
    monotonic = reader.booleans(reader.child(metrics, "sum"), "is_monotonic") if "sum" in kinds else repeat(False)
    return {
        name: MetricMetadata(_prometheus_type(kind, is_monotonic), description, unit)
        for name, description, unit, kind, is_monotonic in zip(*texts, kinds, monotonic, strict=False)
        if name
    }


def _prometheus_type(kind: str, is_monotonic: bool) -> str:
    """A sum that only grows is a counter, another a gauge (OpenTelemetry, "OTLP Metric points to Prometheus")."""
    if kind == "sum":
        return "counter" if is_monotonic else "gauge"
    return "histogram" if kind == "exponential_histogram" else kind or "unknown"


def _decode_kind(kind: str, reader: Reader, metrics: Messages, groups: Groups, max_columns: int) -> Decoded:
    data = reader.child(metrics, kind)
    items = reader.children(data, "data_points")
    metric_of_row = items.owners()
    flags = reader.integers(items, "flags", UINT32)
    recorded = [not flag & NO_RECORDED_VALUE for flag in flags]
    points = Points(reader, items, data, Level(metric_of_row, len(metrics)), recorded)
    table = Table(len(items), COLUMNS, max_columns)
    if not len(items):
        return table.finish()
    _add_metric(table, points, metrics, kind)
    _add_times(table, points)
    _ADD_VALUES[kind](table, points)
    table.add_integers("data_point_flags", flags)
    described = ["DO_NOT_USE" if is_recorded else "NO_RECORDED_VALUE_MASK" for is_recorded in recorded]
    table.add_texts("data_point_flags_description", described)
    table.add_attributes("attribute_", reader.attributes(items, "attributes"))
    table.add_attributes("metadata_", reader.attributes(metrics, "metadata"), points.level)
    scope_of_metric = metrics.owners()
    groups.add_to(table, [scope_of_metric[metric] for metric in metric_of_row])
    return table.finish()


def _add_metric(table: Table, points: Points, metrics: Messages, kind: str) -> None:
    for column in ("name", "description", "unit"):
        table.add_texts(f"metric_{column}", points.reader.strings(metrics, column), points.level)
    table.add_texts("metric_type", [kind] * len(points.items))


def _add_times(table: Table, points: Points) -> None:
    for name in ("start_time_unix_nano", "time_unix_nano"):
        table.add_times(name, points.reader.integers(points.items, name, UINT64))


def _add_number(table: Table, points: Points) -> None:
    table.add_values("data_point_value", points.where_recorded(points.reader.numbers(points.items)))
    _add_exemplars(table, points)


def _add_sum(table: Table, points: Points) -> None:
    _add_number(table, points)
    _add_temporality(table, points)
    table.add("is_monotonic", ColumnType.BOOL, points.reader.booleans(points.data, "is_monotonic"), points.level)


def _add_temporality(table: Table, points: Points) -> None:
    numbers = points.reader.integers(points.data, "aggregation_temporality", INT32)
    table.add_integers("aggregation_temporality", numbers, points.level)
    names = [TEMPORALITIES.get(number) for number in numbers]
    table.add_texts("aggregation_temporality_description", names, points.level)


def _add_distribution(table: Table, points: Points) -> None:
    """What both kinds of histogram have."""
    reader, items = points.reader, points.items
    table.add_integers("data_point_count", points.where_recorded(reader.integers(items, "count", UINT64)))
    for name in ("sum", "min", "max"):
        values = points.where_recorded(reader.optional_doubles(items, name))
        table.add(f"data_point_{name}", ColumnType.FLOAT64, values)
    _add_temporality(table, points)
    _add_exemplars(table, points)


def _add_histogram(table: Table, points: Points) -> None:
    _add_distribution(table, points)
    counts = points.where_recorded(points.reader.integer_lists(points.items, "bucket_counts"))
    _add_counts(table, "data_point_bucket_counts", counts)
    bounds = points.where_recorded(points.reader.double_lists(points.items, "explicit_bounds"))
    table.add("data_point_explicit_bounds", ColumnType.LIST_FLOAT64, bounds)


def _add_exponential_histogram(table: Table, points: Points) -> None:
    _add_distribution(table, points)
    reader, items = points.reader, points.items
    table.add_integers("data_point_scale", points.where_recorded(reader.integers(items, "scale", INT32)))
    table.add_integers("data_point_zero_count", points.where_recorded(reader.integers(items, "zero_count", UINT64)))
    thresholds = points.where_recorded(reader.doubles(items, "zero_threshold"))
    table.add("data_point_zero_threshold", ColumnType.FLOAT64, thresholds)
    for side in ("positive", "negative"):
        buckets = reader.child(items, side)
        table.add_integers(f"{side}_offset", points.where_recorded(reader.integers(buckets, "offset", INT32)))
        counts = points.where_recorded(reader.integer_lists(buckets, "bucket_counts"))
        _add_counts(table, f"{side}_bucket_count", counts)


def _add_summary(table: Table, points: Points) -> None:
    reader, items = points.reader, points.items
    table.add_integers("data_point_count", points.where_recorded(reader.integers(items, "count", UINT64)))
    table.add("data_point_sum", ColumnType.FLOAT64, points.where_recorded(reader.doubles(items, "sum")))
    quantiles = reader.children(items, "quantile_values")
    for name in ("quantile", "value"):
        lists = _sliced(reader.doubles(quantiles, name), quantiles.counts or [])
        column = f"data_point_quantile_values_{name}"
        table.add(column, ColumnType.LIST_FLOAT64, points.where_recorded(lists))


def _sliced(values: list[float], counts: Sequence[int]) -> list[list[float]]:
    remaining = iter(values)
    return [[next(remaining) for _ in range(count)] for count in counts]


def _add_counts(table: Table, name: str, lists: list[list[int] | None]) -> None:
    """Bucket counts. A list with a number beyond 64 bits with sign is JSON."""
    large = [counts is not None and any(count > LAST for count in counts) for counts in lists]
    fits = [None if is_large else counts for counts, is_large in zip(lists, large, strict=True)]
    table.add(name, ColumnType.LIST_INT64, fits)
    if any(large):
        documents = [json_text(counts) if is_large else None for counts, is_large in zip(lists, large, strict=True)]
        table.add(name, ColumnType.JSON, documents)


def _add_exemplars(table: Table, points: Points) -> None:
    """A JSON array per point that has any."""
    exemplars = points.reader.children(points.items, "exemplars")
    if not len(exemplars):
        return
    counts = exemplars.counts or []
    arrays = json_arrays(counts, _exemplar_objects(points.reader, exemplars))
    present: list[JsonText | None] = [text if count else None for text, count in zip(arrays, counts, strict=True)]
    table.add("exemplars", ColumnType.JSON, present)


def _exemplar_objects(reader: Reader, exemplars: Messages) -> list[dict[str, Any]]:
    columns = (
        texts(reader.integers(exemplars, "time_unix_nano", UINT64)),
        reader.numbers(exemplars),
        reader.ids(exemplars, "trace_id"),
        reader.ids(exemplars, "span_id"),
        reader.attribute_objects(exemplars, "filtered_attributes"),
    )
    return [
        {
            "time_unix_nano": time,
            "value": value,
            "trace_id": trace_id or None,
            "span_id": span_id or None,
            "attributes": attributes,
        }
        for time, value, trace_id, span_id, attributes in zip(*columns, strict=True)
    ]


# In the order in which their rows stand.
_ADD_VALUES: Final[dict[str, Callable[[Table, Points], None]]] = {
    "gauge": _add_number,
    "sum": _add_sum,
    "histogram": _add_histogram,
    "exponential_histogram": _add_exponential_histogram,
    "summary": _add_summary,
}
