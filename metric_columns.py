"""Metrics datasets: which columns are labels, what each label is called, and what is said of a metric. Pure.

Decoders name the columns, storage sorts by them, and PromQL reads them; none of the three knows the others.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from columns import ColumnType

METRICS: Final = "metrics"
METRIC_NAME: Final = "metric_name"

# Prometheus' MetricMetadata.MetricType in the order of their numbers, written as in its text format.
METRIC_TYPES: Final = ("unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset")

# What a sample of remote write has besides labels, in this order.
SAMPLE_COLUMNS: Final = (
    METRIC_NAME,
    "metric_type",
    "metric_description",
    "metric_unit",
    "start_time_unix_nano",
    "time_unix_nano",
    "data_point_value",
    "is_stale",
    "data_point_count",
    "data_point_sum",
    "data_point_scale",
    "data_point_zero_count",
    "data_point_zero_threshold",
    "positive_offset",
    "positive_bucket_count",
    "negative_offset",
    "negative_bucket_count",
    "data_point_bucket_counts",
    "data_point_explicit_bounds",
    "data_point_reset_hint",
    "exemplars",
)
# What a data point of OTLP has beyond that. Name and version of the scope are labels of its series.
_DATA_POINT_COLUMNS: Final = (
    "data_point_min",
    "data_point_max",
    "data_point_quantile_values_quantile",
    "data_point_quantile_values_value",
    "data_point_flags",
    "data_point_flags_description",
    "aggregation_temporality",
    "aggregation_temporality_description",
    "is_monotonic",
    "scope_dropped_attributes_count",
    "scope_schema_url",
    "resource_dropped_attributes_count",
    "resource_schema_url",
)
NO_LABELS: Final = frozenset({*SAMPLE_COLUMNS, *_DATA_POINT_COLUMNS})
# The columns of arrival, and those of `X-P-<Name>` headers.
_ARRIVAL_PREFIX: Final = "p_"
_PREFIX: Final = "label_"
_PREFIXED: Final = re.compile(f"(?:{_PREFIX})*")
_SIBLING: Final = f"_{ColumnType.UTF8}"
# Of OTLP's attributes those of every scalar type are labels.
_LABEL_TYPES: Final = (ColumnType.UTF8, ColumnType.JSON, ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64)


class MetricMetadata(NamedTuple):
    """What a sender says of a metric. `type` is one of METRIC_TYPES; an empty text says nothing."""

    type: str
    help: str = ""
    unit: str = ""


@lru_cache(maxsize=4096)
def column_of(label: str) -> str:
    """The column of a label. Each label has its own: one that has the name of another column gets a prefix.

    So does a name that is such a name with prefixes, or two labels would share a column.

    >>> column_of("job"), column_of("is_stale"), column_of("label_is_stale"), column_of("p_zone")
    ('job', 'label_is_stale', 'label_label_is_stale', 'label_p_zone')
    """
    return f"{_PREFIX}{label}" if _is_taken(_PREFIXED.sub("", label, count=1)) else label


def label_of(column: str) -> str | None:
    """The label whose values the column has; None: it is no label's.

    >>> label_of("job"), label_of("label_is_stale"), label_of("label_job"), label_of("is_stale"), label_of("p_src_ip")
    ('job', 'is_stale', 'label_job', None, None)
    """
    if _is_taken(column):
        return None
    return column.removeprefix(_PREFIX) if _is_taken(_PREFIXED.sub("", column, count=1)) else column


def labels_of(types: Mapping[str, ColumnType]) -> Mapping[str, str]:
    """Of the columns of a dataset, by their names, those of labels: column name to label, by column name.

    Two columns have one label where its values have two types: a text that is sent after an integer is in the sibling
    column `<name>_utf8`. Lists and timestamps are no labels.

    >>> dict(labels_of({"port": ColumnType.INT64, "port_utf8": ColumnType.UTF8, "is_stale": ColumnType.BOOL}))
    {'port': 'port', 'port_utf8': 'port'}
    """
    found = {name: _label(name, types) for name, kind in types.items() if kind in _LABEL_TYPES}
    return MappingProxyType({name: label for name, label in sorted(found.items()) if label is not None})


def _label(column: str, types: Mapping[str, ColumnType]) -> str | None:
    owner = column.removesuffix(_SIBLING)
    is_sibling = owner != column and types.get(owner, ColumnType.UTF8) is not ColumnType.UTF8
    return label_of(owner if is_sibling else column)


def _is_taken(name: str) -> bool:
    return name in NO_LABELS or name.startswith(_ARRIVAL_PREFIX)
