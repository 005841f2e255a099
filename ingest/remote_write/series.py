"""One time series of a request, in the terms that both versions of the protocol share."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from ingest.batch_builder import MAX_NAME_BYTES
from metric_columns import METRIC_TYPES, MetricMetadata, column_of

METRIC_NAME_LABEL: Final = "__name__"

UNKNOWN: Final = METRIC_TYPES[0]


class Refused(ValueError):
    """A series, sample, histogram or exemplar cannot be stored; the text says why, and `reason` in a word."""

    reason: ClassVar = "invalid_labels"


class InvalidHistogram(Refused):
    """Parts of a native histogram contradict each other."""

    reason = "invalid_histogram"


class TimeOutOfRange(Refused):
    """A timestamp cannot hold the time."""

    reason = "time_out_of_range"


class Metadata(NamedTuple):
    type: str = UNKNOWN
    description: str | None = None
    unit: str | None = None

    @property
    def stored(self) -> MetricMetadata:
        """The same as it is kept of the metric."""
        return MetricMetadata(self.type, self.description or "", self.unit or "")


NO_METADATA: Final = Metadata()


class Exemplar(NamedTuple):
    labels: Sequence[tuple[str, str]]
    value: float
    timestamp_ms: int


class Series(NamedTuple):
    """`samples` and `histograms` are protobuf messages of either version."""

    labels: Sequence[tuple[str, str]]
    samples: Sequence[Any]
    histograms: Sequence[Any]
    exemplars: Sequence[Exemplar]
    metadata: Metadata
    created_timestamp_ms: int = 0


def metric_type(number: int) -> str:
    return METRIC_TYPES[number] if 0 <= number < len(METRIC_TYPES) else UNKNOWN


class LabelSet(NamedTuple):
    """The labels of a series as cells of its rows."""

    metric_name: str | None
    columns: dict[str, str]


def label_set(labels: Sequence[tuple[str, str]]) -> LabelSet:
    """The metric name and the column of every other label. Raises Refused for a label set that is none.

    An empty value is Prometheus' way to say that there is no such label.

    >>> label_set([("__name__", "up"), ("job", "node"), ("is_stale", "no"), ("zone", "")])
    LabelSet(metric_name='up', columns={'job': 'node', 'label_is_stale': 'no'})
    """
    columns = dict(labels)
    if not columns or "" in columns or len(columns) < len(labels) or not _are_column_names(columns):
        raise _refused(labels)
    name = columns.pop(METRIC_NAME_LABEL, None)
    if "" in columns.values():
        columns = {label: value for label, value in columns.items() if value}
    return LabelSet(name or None, {column_of(label): value for label, value in columns.items()})


def _are_column_names(names: Collection[str]) -> bool:
    together = "".join(names)
    if "\0" in together:
        return False
    # No character has more than four bytes, and names are seldom long.
    return 4 * len(together) <= MAX_NAME_BYTES or all(len(name.encode()) <= MAX_NAME_BYTES for name in names)


def _refused(labels: Sequence[tuple[str, str]]) -> Refused:
    names = [name for name, _ in labels]
    if not names:
        return Refused("a series without labels")
    if "" in names:
        return Refused("a label without a name")
    if not _are_column_names(names):
        return Refused(f"a label name with a NUL or longer than {MAX_NAME_BYTES} bytes")
    repeated = next(name for name in names if names.count(name) > 1)
    return Refused(f"label {repeated[:100]} occurs twice in one series")
