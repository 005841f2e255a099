"""Requests of every shape OTLP allows, and their JSON form, made independently of the decoders."""

import math
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
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
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status, TracesData

_HEX_FIELDS = {"trace_id", "span_id", "parent_span_id"}
_64_BIT = {"int64", "uint64", "sint64", "fixed64", "sfixed64"}
_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def _scalar(field: Any, value: Any, numbers_as_text: bool) -> Any:
    if field.type == field.TYPE_BYTES:
        return value.hex().upper() if field.name in _HEX_FIELDS else b64encode(value).decode()
    if field.type == field.TYPE_DOUBLE:
        return "NaN" if math.isnan(value) else _NON_FINITE.get(value, value)
    is_long = field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64)
    return str(value) if is_long and numbers_as_text else value


def write_json(message: Message, numbers_as_text: bool = True) -> dict[str, Any]:
    """A message in OTLP's JSON mapping: hexadecimal ids, integer enums, 64-bit integers as text or numbers."""
    document: dict[str, Any] = {}
    for field, value in message.ListFields():
        one: Callable[[Any], Any] = (
            (lambda item: write_json(item, numbers_as_text))
            if field.type == field.TYPE_MESSAGE
            else (lambda item, field=field: _scalar(field, item, numbers_as_text))
        )
        document[_camel(field.name)] = [one(item) for item in value] if field.is_repeated else one(value)
    return document


@pytest.fixture(scope="session")
def to_json() -> Callable[..., dict[str, Any]]:
    return write_json


def _maybe(strategy: st.SearchStrategy[Any], default: Any) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(default), strategy)


texts = st.text(st.characters(codec="utf-8"), max_size=5)
times = st.one_of(st.just(0), st.integers(1, 2**63 - 1), st.integers(2**63, 2**64 - 1))
uint32 = st.integers(0, 2**32 - 1)
uint64 = st.one_of(st.integers(0, 1000), st.integers(0, 2**64 - 1))
int32 = st.integers(-(2**31), 2**31 - 1)
doubles = st.floats(width=64)
trace_ids = st.one_of(st.just(b""), st.binary(min_size=16, max_size=16))
span_ids = st.one_of(st.just(b""), st.binary(min_size=8, max_size=8))
scalars = st.one_of(
    st.builds(AnyValue),
    st.builds(AnyValue, string_value=texts),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
    st.builds(AnyValue, double_value=doubles),
    st.builds(AnyValue, bytes_value=st.binary(max_size=6)),
)
# Few names, so that records repeat them, resources share them and the signals' own columns collide with them.
keys = st.sampled_from(
    ("a", "b", "body", "resource_a", "scope_a", "attribute_body", "metric_name", "events", "é.x", "")
)


def _nest(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    pairs = st.builds(KeyValue, key=keys, value=values)
    return st.one_of(
        st.builds(AnyValue, array_value=st.builds(ArrayValue, values=st.lists(values, max_size=3))),
        st.builds(AnyValue, kvlist_value=st.builds(KeyValueList, values=st.lists(pairs, max_size=3))),
    )


any_values = st.recursive(scalars, _nest, max_leaves=4)
attributes = st.lists(st.builds(KeyValue, key=keys, value=any_values), max_size=4)
resources = st.builds(Resource, attributes=attributes, dropped_attributes_count=uint32)
scopes = st.builds(
    InstrumentationScope, name=texts, version=texts, attributes=attributes, dropped_attributes_count=uint32
)


def _groups(outer: Any, inner: Any, inner_field: str, records_field: str, records: Any) -> st.SearchStrategy[Any]:
    scoped = st.builds(
        inner, scope=_maybe(scopes, None), schema_url=texts, **{records_field: st.lists(records, max_size=4)}
    )
    grouped = st.builds(
        outer, resource=_maybe(resources, None), schema_url=texts, **{inner_field: st.lists(scoped, max_size=2)}
    )
    return st.lists(grouped, max_size=3)


log_records = st.builds(
    LogRecord,
    time_unix_nano=times,
    observed_time_unix_nano=times,
    severity_number=st.integers(0, 30),
    severity_text=texts,
    body=_maybe(any_values, None),
    attributes=attributes,
    dropped_attributes_count=uint32,
    flags=uint32,
    trace_id=trace_ids,
    span_id=span_ids,
    event_name=texts,
)
logs_requests = st.builds(
    LogsData, resource_logs=_groups(ResourceLogs, ScopeLogs, "scope_logs", "log_records", log_records)
)

spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    trace_state=texts,
    parent_span_id=span_ids,
    flags=uint32,
    name=texts,
    kind=st.integers(0, 6),
    start_time_unix_nano=times,
    end_time_unix_nano=times,
    attributes=attributes,
    dropped_attributes_count=uint32,
    events=st.lists(
        st.builds(Span.Event, time_unix_nano=times, name=texts, attributes=attributes, dropped_attributes_count=uint32),
        max_size=2,
    ),
    dropped_events_count=uint32,
    links=st.lists(
        st.builds(
            Span.Link,
            trace_id=trace_ids,
            span_id=span_ids,
            trace_state=texts,
            attributes=attributes,
            dropped_attributes_count=uint32,
            flags=uint32,
        ),
        max_size=2,
    ),
    dropped_links_count=uint32,
    status=_maybe(st.builds(Status, message=texts, code=st.integers(0, 2)), None),
)
traces_requests = st.builds(
    TracesData, resource_spans=_groups(ResourceSpans, ScopeSpans, "scope_spans", "spans", spans)
)

_number = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"as_int": st.integers(-(2**63), 2**63 - 1)}),
    st.fixed_dictionaries({"as_double": doubles}),
)
exemplars = _number.flatmap(
    lambda number: st.builds(
        Exemplar,
        filtered_attributes=attributes,
        time_unix_nano=times,
        span_id=span_ids,
        trace_id=trace_ids,
        **{name: st.just(value) for name, value in number.items()},
    )
)
_flags = st.sampled_from((0, 0, 1, 3))
_point = {
    "attributes": attributes,
    "start_time_unix_nano": times,
    "time_unix_nano": times,
    "flags": _flags,
}
_with_exemplars = {**_point, "exemplars": st.lists(exemplars, max_size=2)}
_optional = _maybe(doubles, None)
number_points = _number.flatmap(
    lambda number: st.builds(
        NumberDataPoint, **_with_exemplars, **{name: st.just(value) for name, value in number.items()}
    )
)
_counts = st.lists(uint64, max_size=3)
histogram_points = st.builds(
    HistogramDataPoint,
    **_with_exemplars,
    count=uint64,
    sum=_optional,
    min=_optional,
    max=_optional,
    bucket_counts=_counts,
    explicit_bounds=st.lists(doubles, max_size=3),
)
_buckets = _maybe(st.builds(ExponentialHistogramDataPoint.Buckets, offset=int32, bucket_counts=_counts), None)
exponential_points = st.builds(
    ExponentialHistogramDataPoint,
    **_with_exemplars,
    count=uint64,
    sum=_optional,
    min=_optional,
    max=_optional,
    scale=int32,
    zero_count=uint64,
    zero_threshold=doubles,
    positive=_buckets,
    negative=_buckets,
)
summary_points = st.builds(
    SummaryDataPoint,
    **_point,
    count=uint64,
    sum=doubles,
    quantile_values=st.lists(st.builds(SummaryDataPoint.ValueAtQuantile, quantile=doubles, value=doubles), max_size=2),
)
_temporality = st.integers(0, 3)


def _points(points: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(points, max_size=3)


_data = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"gauge": st.builds(Gauge, data_points=_points(number_points))}),
    st.fixed_dictionaries(
        {
            "sum": st.builds(
                Sum,
                data_points=_points(number_points),
                aggregation_temporality=_temporality,
                is_monotonic=st.booleans(),
            )
        }
    ),
    st.fixed_dictionaries(
        {"histogram": st.builds(Histogram, data_points=_points(histogram_points), aggregation_temporality=_temporality)}
    ),
    st.fixed_dictionaries(
        {
            "exponential_histogram": st.builds(
                ExponentialHistogram, data_points=_points(exponential_points), aggregation_temporality=_temporality
            )
        }
    ),
    st.fixed_dictionaries({"summary": st.builds(Summary, data_points=_points(summary_points))}),
)
metrics = _data.flatmap(
    lambda data: st.builds(
        Metric,
        name=texts,
        description=texts,
        unit=texts,
        metadata=attributes,
        **{name: st.just(value) for name, value in data.items()},
    )
)
metrics_requests = st.builds(
    MetricsData, resource_metrics=_groups(ResourceMetrics, ScopeMetrics, "scope_metrics", "metrics", metrics)
)


@pytest.fixture(scope="session")
def requests() -> dict[str, st.SearchStrategy[Any]]:
    """Generators of requests by signal, for `st.data().draw`."""
    return {"logs": logs_requests, "metrics": metrics_requests, "traces": traces_requests}
