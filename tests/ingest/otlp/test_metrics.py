"""OTLP metrics to rows. Spec 4.2; api.md section 4: one row per data point."""

import math

import orjson
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Exemplar,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    Sum,
    Summary,
    SummaryDataPoint,
)

from columns import ColumnType
from errors import InvalidBody
from ingest.otlp import metrics

PROTOBUF, JSON = "application/x-protobuf", "application/json"
NOW = 1_795_000_000_000_000_001
NO_VALUE = 1


def request(*given: Metric) -> bytes:
    data = MetricsData()
    group = data.resource_metrics.add(schema_url="r")
    group.resource.attributes.append(pair("service.name", string_value="shop"))
    scoped = group.scope_metrics.add(schema_url="s")
    scoped.scope.name = "lib"
    scoped.metrics.extend(given)
    return data.SerializeToString()


def decode(*given: Metric):
    return metrics.decode(request(*given), PROTOBUF).batch


def rows(batch):
    listed = [{} for _ in range(batch.height)]
    for field, column in zip(batch.fields, batch.columns, strict=True):
        for row, value in zip(listed, column.to_list(), strict=True):
            if value is not None:
                row[field.name] = value
    return listed


def cells(batch, name):
    return {
        field.type: column.to_list()
        for field, column in zip(batch.fields, batch.columns, strict=True)
        if field.name == name
    }


def pair(key: str, **value) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(**value))


SHARED = {
    "metric_name": "m",
    "metric_description": "d",
    "metric_unit": "By",
    "data_point_flags": 0,
    "data_point_flags_description": "DO_NOT_USE",
    "scope_name": "lib",
    "scope_dropped_attributes_count": 0,
    "scope_schema_url": "s",
    "resource_dropped_attributes_count": 0,
    "resource_schema_url": "r",
    "service.name": "shop",
    "host": "a",
}
POINT = {"attributes": [pair("host", string_value="a")], "start_time_unix_nano": NOW, "time_unix_nano": NOW}


def only_row(**data):
    (row,) = rows(decode(Metric(name="m", description="d", unit="By", **data)))
    assert row.pop("time_unix_nano") == row.pop("start_time_unix_nano")
    return row


def test_a_gauge_point():
    row = only_row(gauge=Gauge(data_points=[NumberDataPoint(**POINT, as_double=0.5)]))

    assert row == {**SHARED, "metric_type": "gauge", "data_point_value": 0.5}


def test_a_sum_point():
    points = [NumberDataPoint(**POINT, as_int=-5)]

    row = only_row(sum=Sum(data_points=points, aggregation_temporality=2, is_monotonic=True))

    assert row == {
        **SHARED,
        "metric_type": "sum",
        "data_point_value": -5,
        "aggregation_temporality": 2,
        "aggregation_temporality_description": "CUMULATIVE",
        "is_monotonic": True,
    }


def test_a_histogram_point():
    point = HistogramDataPoint(**POINT, count=3, sum=1.5, min=0.1, max=1.0, bucket_counts=[1, 2], explicit_bounds=[0.5])

    row = only_row(histogram=Histogram(data_points=[point], aggregation_temporality=1))

    assert row == {
        **SHARED,
        "metric_type": "histogram",
        "data_point_count": 3,
        "data_point_sum": 1.5,
        "data_point_min": 0.1,
        "data_point_max": 1.0,
        "data_point_bucket_counts": [1, 2],
        "data_point_explicit_bounds": [0.5],
        "aggregation_temporality": 1,
        "aggregation_temporality_description": "DELTA",
    }


def test_an_exponential_histogram_point():
    buckets = ExponentialHistogramDataPoint.Buckets
    point = ExponentialHistogramDataPoint(
        **POINT,
        count=6,
        scale=-1,
        zero_count=1,
        zero_threshold=0.25,
        positive=buckets(offset=2, bucket_counts=[3]),
        negative=buckets(offset=-2, bucket_counts=[1, 1]),
    )

    row = only_row(exponential_histogram=ExponentialHistogram(data_points=[point], aggregation_temporality=2))

    assert row == {
        **SHARED,
        "metric_type": "exponential_histogram",
        "data_point_count": 6,
        "data_point_scale": -1,
        "data_point_zero_count": 1,
        "data_point_zero_threshold": 0.25,
        "positive_offset": 2,
        "positive_bucket_count": [3],
        "negative_offset": -2,
        "negative_bucket_count": [1, 1],
        "aggregation_temporality": 2,
        "aggregation_temporality_description": "CUMULATIVE",
    }


def test_a_summary_point():
    quantile = SummaryDataPoint.ValueAtQuantile
    point = SummaryDataPoint(
        **POINT,
        count=2,
        sum=3.0,
        quantile_values=[quantile(quantile=0.5, value=1.0), quantile(quantile=1.0, value=2.0)],
    )

    row = only_row(summary=Summary(data_points=[point]))

    assert row == {
        **SHARED,
        "metric_type": "summary",
        "data_point_count": 2,
        "data_point_sum": 3.0,
        "data_point_quantile_values_quantile": [0.5, 1.0],
        "data_point_quantile_values_value": [1.0, 2.0],
    }


def test_a_metric_without_points_has_no_rows():
    assert decode(Metric(name="m"), Metric(name="n", gauge=Gauge())).height == 0


def test_integers_and_doubles_of_one_request_stand_apart():
    points = [NumberDataPoint(as_int=2**62 + 1), NumberDataPoint(as_double=0.5), NumberDataPoint()]

    batch = decode(Metric(gauge=Gauge(data_points=points)))

    assert cells(batch, "data_point_value") == {
        ColumnType.INT64: [2**62 + 1, None, None],
        ColumnType.FLOAT64: [None, 0.5, None],
    }


def test_zero_is_a_value():
    (row,) = rows(decode(Metric(gauge=Gauge(data_points=[NumberDataPoint(as_int=0)]))))

    assert row["data_point_value"] == 0


def test_a_point_with_no_recorded_value_has_null_and_not_zero():
    """OTLP metrics.proto, DataPointFlags."""
    given = [
        Metric(gauge=Gauge(data_points=[NumberDataPoint(as_double=0.0, flags=NO_VALUE)])),
        Metric(sum=Sum(data_points=[NumberDataPoint(as_int=0, flags=NO_VALUE)])),
        Metric(histogram=Histogram(data_points=[HistogramDataPoint(sum=0, bucket_counts=[0], flags=NO_VALUE)])),
        Metric(exponential_histogram=ExponentialHistogram(data_points=[ExponentialHistogramDataPoint(flags=NO_VALUE)])),
        Metric(summary=Summary(data_points=[SummaryDataPoint(flags=NO_VALUE)])),
    ]

    found = rows(decode(*given))

    for row in found:
        assert row["data_point_flags_description"] == "NO_RECORDED_VALUE_MASK"
        assert not [
            name for name in row if name.startswith(("data_point_", "positive_", "negative_")) and "flags" not in name
        ]


def test_counts_beyond_63_bits_are_kept_as_text_and_json():
    point = HistogramDataPoint(count=2**64 - 1, bucket_counts=[2**64 - 1, 1])

    batch = decode(Metric(histogram=Histogram(data_points=[point, HistogramDataPoint(count=1, bucket_counts=[1])])))

    assert cells(batch, "data_point_count") == {
        ColumnType.INT64: [None, 1],
        ColumnType.UTF8: ["18446744073709551615", None],
    }
    assert cells(batch, "data_point_bucket_counts") == {
        ColumnType.LIST_INT64: [None, [1]],
        ColumnType.JSON: ["[18446744073709551615,1]", None],
    }


def test_non_finite_values_are_stored_as_such():
    points = [NumberDataPoint(as_double=value) for value in (math.inf, -math.inf, math.nan)]

    infinite, negative, nan = (row["data_point_value"] for row in rows(decode(Metric(gauge=Gauge(data_points=points)))))

    assert (infinite, negative) == (math.inf, -math.inf)
    assert math.isnan(nan)


def test_exemplars_are_a_json_array():
    exemplar = Exemplar(
        time_unix_nano=NOW,
        as_int=7,
        trace_id=b"\xab" * 16,
        span_id=b"\xcd" * 8,
        filtered_attributes=[pair("user", string_value="u")],
    )
    points = [NumberDataPoint(as_int=1, exemplars=[exemplar, Exemplar()]), NumberDataPoint(as_int=2)]

    first, second = rows(decode(Metric(sum=Sum(data_points=points))))

    assert orjson.loads(first["exemplars"]) == [
        {
            "time_unix_nano": "2026-11-18T11:06:40.000000001Z",
            "value": 7,
            "trace_id": "ab" * 16,
            "span_id": "cd" * 8,
            "attributes": {"user": "u"},
        },
        {"time_unix_nano": None, "value": None, "trace_id": None, "span_id": None, "attributes": {}},
    ]
    assert "exemplars" not in second


def test_metadata_of_a_metric_comes_after_the_attributes_of_its_points():
    point = NumberDataPoint(attributes=[pair("a", int_value=1)])
    metric = Metric(
        metadata=[pair("a", int_value=2), pair("b", int_value=3), pair("service.name", string_value="x")],
        gauge=Gauge(data_points=[point]),
    )

    (row,) = rows(decode(metric))

    assert (row["a"], row["metadata_a"], row["b"]) == (1, 2, 3)
    assert (row["service.name"], row["resource_service.name"]) == ("x", "shop")


def test_rows_of_all_kinds_stand_in_one_batch():
    batch = decode(
        Metric(name="s", summary=Summary(data_points=[SummaryDataPoint(count=1)])),
        Metric(name="g", gauge=Gauge(data_points=[NumberDataPoint(as_int=1)])),
        Metric(name="t", gauge=Gauge(data_points=[NumberDataPoint(as_int=2)])),
    )

    assert [(row["metric_name"], row["metric_type"]) for row in rows(batch)] == [
        ("g", "gauge"),
        ("t", "gauge"),
        ("s", "summary"),
    ]


def test_refused_points_are_counted_over_all_kinds():
    attributes = [pair("p_timestamp", int_value=1)]
    given = [
        Metric(gauge=Gauge(data_points=[NumberDataPoint(as_int=1, attributes=attributes), NumberDataPoint(as_int=2)])),
        Metric(summary=Summary(data_points=[SummaryDataPoint(attributes=attributes)])),
    ]

    decoded = metrics.decode(request(*given), PROTOBUF)

    assert (decoded.reasons, decoded.batch.height) == ({"reserved_name": 2}, 1)
    assert "p_timestamp" in decoded.message


def json_metric(**metric) -> bytes:
    return orjson.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]})


@pytest.mark.parametrize("counts", [[0, 1], ["0", "1"], ["0", 1]])
def test_json_counts_may_be_text_or_numbers(counts):
    """The JavaScript exporter writes numbers."""
    body = json_metric(histogram={"dataPoints": [{"count": "1", "bucketCounts": counts, "explicitBounds": [1, "NaN"]}]})

    (row,) = rows(metrics.decode(body, JSON).batch)

    assert row["data_point_bucket_counts"] == [0, 1]
    assert row["data_point_explicit_bounds"][0] == 1.0
    assert math.isnan(row["data_point_explicit_bounds"][1])


@pytest.mark.parametrize(
    ("metric", "path"),
    [
        ({"gauge": {}, "sum": {}}, ""),
        ({"gauge": {"dataPoints": [{"asInt": "1", "asDouble": 1}]}}, ".gauge.dataPoints[0]"),
        ({"gauge": {"dataPoints": [{}, {"asInt": 0.5}]}}, ".gauge.dataPoints[1].asInt"),
        ({"sum": {"dataPoints": [{}], "isMonotonic": 1}}, ".sum.isMonotonic"),
        ({"histogram": {"dataPoints": [{"bucketCounts": [1, -1]}]}}, ".histogram.dataPoints[0].bucketCounts[1]"),
        ({"histogram": {"dataPoints": [{"sum": {}}]}}, ".histogram.dataPoints[0].sum"),
        (
            {"exponentialHistogram": {"dataPoints": [{"positive": {"offset": 2**31}}]}},
            ".exponentialHistogram.dataPoints[0].positive.offset",
        ),
        (
            {"summary": {"dataPoints": [{"quantileValues": [{"value": "x"}]}]}},
            ".summary.dataPoints[0].quantileValues[0].value",
        ),
    ],
)
def test_json_of_the_wrong_shape_is_refused_by_its_path(metric, path):
    with pytest.raises(InvalidBody) as caught:
        metrics.decode(json_metric(**metric), JSON)

    assert caught.value.message.startswith(f"resourceMetrics[0].scopeMetrics[0].metrics[0]{path}: expected ")


@pytest.mark.parametrize("encoding", [PROTOBUF, JSON])
def test_metadata_says_what_prometheus_would_call_each_metric(encoding, to_json):
    """OpenTelemetry, "Prometheus and OpenMetrics Compatibility"."""
    points = [NumberDataPoint(time_unix_nano=NOW, as_int=1)]
    body = request(
        Metric(name="a", description="A.", unit="By", sum=Sum(data_points=points, is_monotonic=True)),
        Metric(name="b", sum=Sum(data_points=points)),
        Metric(name="c", gauge=Gauge(data_points=points)),
        Metric(name="d", exponential_histogram=ExponentialHistogram()),
        Metric(name="e", summary=Summary()),
        Metric(name="f"),
        Metric(gauge=Gauge(data_points=points)),
    )
    if encoding == JSON:
        body = orjson.dumps(to_json(MetricsData.FromString(body)))

    decoded = metrics.decode(body, encoding)

    assert decoded.metadata == {
        "a": ("counter", "A.", "By"),
        "b": ("gauge", "", ""),
        "c": ("gauge", "", ""),
        "d": ("histogram", "", ""),
        "e": ("summary", "", ""),
        "f": ("unknown", "", ""),
    }
