"""Which columns of a metrics dataset are labels, and what each label is called. Pure.

The names are those of the decoders (docs/ingestion-prometheus.md, docs/ingestion-otlp.md).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from columns import ColumnType
from promql.labels import METRIC_NAME
from storage.read.snapshot import Column

NAME_COLUMN: Final = "metric_name"
TIME_COLUMN: Final = "time_unix_nano"
VALUE_COLUMN: Final = "data_point_value"
ARRIVAL_COLUMN: Final = "p_timestamp"
_OTHERS: Final = frozenset(
    """metric_name metric_type metric_description metric_unit start_time_unix_nano time_unix_nano data_point_value
    is_stale data_point_count data_point_sum data_point_scale data_point_zero_count data_point_zero_threshold
    positive_offset positive_bucket_count negative_offset negative_bucket_count data_point_bucket_counts
    data_point_explicit_bounds
    data_point_reset_hint exemplars data_point_min data_point_max data_point_quantile_values_quantile
    data_point_quantile_values_value data_point_flags data_point_flags_description aggregation_temporality
    aggregation_temporality_description is_monotonic scope_dropped_attributes_count scope_schema_url
    resource_dropped_attributes_count resource_schema_url""".split()
)
_PREFIX: Final = "label_"
_PREFIXES: Final = re.compile(f"(?:{_PREFIX})*")
_ARRIVAL_PREFIX: Final = "p_"
# Of OTLP's attributes those of every scalar type are labels.
_LABEL_TYPES: Final = (ColumnType.UTF8, ColumnType.JSON, ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64)


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A label and the stored column of its values."""

    label: str
    stored: str
    type: ColumnType


def label_columns(columns: Iterable[Column]) -> tuple[LabelColumn, ...]:
    """The metric's name and the labels, by the names that Prometheus knows them under, in their order."""
    found = []
    for each in columns:
        label = METRIC_NAME if each.name == NAME_COLUMN else label_of(each.name)
        if label is not None and each.type in _LABEL_TYPES:
            found.append(LabelColumn(label, each.stored, each.type))
    return tuple(sorted(found, key=lambda each: each.label))


def label_of(column: str) -> str | None:
    """The label whose values the column has; None: it is no label's.

    >>> label_of("job"), label_of("label_is_stale"), label_of("label_job"), label_of("is_stale"), label_of("p_src_ip")
    ('job', 'is_stale', 'label_job', None, None)
    """
    if _is_taken(column):
        return None
    return column.removeprefix(_PREFIX) if _is_taken(_PREFIXES.sub("", column, count=1)) else column


def _is_taken(name: str) -> bool:
    return name in _OTHERS or name.startswith(_ARRIVAL_PREFIX)


def stored_names(columns: Sequence[Column]) -> dict[str, str]:
    """Where the other columns are stored, by their names."""
    return {each.name: each.stored for each in columns}
