"""Collects rows: one per sample, one per native histogram. Knows no wire format."""

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from errors import TooLarge, TooManyColumns
from ingest.batch_builder import require_size
from ingest.decoded import Decoded
from ingest.remote_write.histograms import Cells, histogram_cells, histogram_type
from ingest.remote_write.series import NO_METADATA, Exemplar, Refused, Series, TimeOutOfRange, label_set
from ingest.sparse_column import Sparse
from metric_columns import SAMPLE_COLUMNS, MetricMetadata

# The NaN by which Prometheus says that a series has ended; other NaNs are values.
STALE: Final = bytes.fromhex("020000000000f07f")
_DOUBLE: Final = struct.Struct("<d")

# A timestamp in ns is a signed 64-bit number: the years 1677 to 2262.
LAST_MS: Final = (2**63 - 1) // 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Empty buckets between spans cost the sender nothing: without a limit, 40 bytes become 80 kB, a million times.
MAX_REQUEST_BUCKETS: Final = 5_000_000

METRIC_NAME: Final = Field("metric_name", ColumnType.UTF8)
METRIC_TYPE: Final = Field("metric_type", ColumnType.UTF8)
TIME: Final = Field("time_unix_nano", ColumnType.TIMESTAMP_NS)
VALUE: Final = Field("data_point_value", ColumnType.FLOAT64)
IS_STALE: Final = Field("is_stale", ColumnType.BOOL)
# What every row has: the five above.
_ALWAYS: Final = 5
_START_TIME: Final = Field("start_time_unix_nano", ColumnType.TIMESTAMP_NS)
_DESCRIPTION: Final = Field("metric_description", ColumnType.UTF8)
_UNIT: Final = Field("metric_unit", ColumnType.UTF8)
_EXEMPLARS: Final = Field("exemplars", ColumnType.JSON)


@dataclass(frozen=True, slots=True)
class DecodedSamples(Decoded):
    """The rows of a request, one per sample and native histogram, and how many of each kind are in the batch."""

    samples: int = 0
    histograms: int = 0
    exemplars: int = 0


class Rows:
    """The rows of one request. A series that cannot be stored is counted and leaves no trace."""

    def __init__(self, max_columns: int) -> None:
        self._max_columns = max_columns
        self._names: list[str | None] = []
        self._types: list[str] = []
        self._times: list[int] = []
        self._values: list[float | None] = []
        self._stale: list[bool] = []
        self._sometimes: dict[Field, Sparse] = {}
        self._labels: dict[str, Sparse] = {}
        self._buckets = 0
        self._samples = 0
        self._histograms = 0
        self._exemplars = 0
        self._reasons: Counter[str] = Counter()
        self._message = ""

    @property
    def _height(self) -> int:
        return len(self._times)

    def add(self, series: Series) -> None:
        """The rows of one series."""
        try:
            name, columns = label_set(series.labels)
        except Refused as refusal:
            self.refuse(refusal, len(series.samples) + len(series.histograms) + len(series.exemplars))
            return
        first = self._height
        self._require_room(series, len(columns))
        for sample in series.samples:
            self._add_sample(sample, series)
        for histogram in series.histograms:
            self._add_histogram(histogram, series)
        if series.exemplars:
            self._add_exemplars(series, first)
        added = range(first, self._height)
        self._names += [name] * len(added)
        for label, value in columns.items():
            column = self._labels.get(label)
            if column is None:
                column = self._labels[label] = Sparse()
            if len(added) == 1:
                column.rows.append(first)
                column.values.append(value)
            else:
                column.rows.extend(added)
                column.values.extend([value] * len(added))
        if series.metadata is not NO_METADATA:
            self._add_metadata(series, added)

    def _require_room(self, series: Series, labels: int) -> None:
        """Raises TooManyColumns, TooLarge: before any list grows that a small body makes long."""
        require_columns(labels, self._max_columns)
        added = len(series.samples) + len(series.histograms) + bool(series.exemplars)
        require_size(self._height + added, _ALWAYS + max(labels, len(self._labels)))

    def refuse(self, refusal: Refused, count: int = 1) -> None:
        """Counts what is not stored."""
        self._reasons[refusal.reason] += count
        self._message = self._message or str(refusal)

    def _add_sample(self, sample: Any, series: Series) -> None:
        value, time = sample.value, sample.timestamp
        is_stale = value != value and _is_stale(value)
        if self._add_row(time, series.metadata.type, None if is_stale else value, is_stale):
            self._add_start(sample, series)
            self._samples += 1

    def _add_histogram(self, histogram: Any, series: Series) -> None:
        is_stale = _is_stale(histogram.sum)
        try:
            cells = {} if is_stale else histogram_cells(histogram)
        except Refused as refusal:
            self.refuse(refusal)
            return
        if self._add_row(histogram.timestamp, histogram_type(histogram), None, is_stale):
            self._require_buckets(cells)
            for field, value in cells.items():
                self._add_cell(field, value)
            self._add_start(histogram, series)
            self._histograms += 1

    def _require_buckets(self, cells: Cells) -> None:
        self._buckets += sum(len(value) for value in cells.values() if isinstance(value, list))
        if self._buckets > MAX_REQUEST_BUCKETS:
            raise TooLarge(
                f"more than {MAX_REQUEST_BUCKETS} histogram buckets in one request; send fewer at a time",
                limit=MAX_REQUEST_BUCKETS,
            )

    def _add_row(self, timestamp_ms: int, type: str, value: float | None, is_stale: bool) -> bool:
        """Whether there is a row: not for a time that a timestamp cannot hold."""
        if abs(timestamp_ms) > LAST_MS:
            self.refuse(_out_of_range(timestamp_ms))
            return False
        self._times.append(timestamp_ms * 1_000_000)
        self._types.append(type)
        self._values.append(value)
        self._stale.append(is_stale)
        return True

    def _add_cell(self, field: Field, value: Any) -> None:
        """To the last row."""
        column = self._sometimes.setdefault(field, Sparse())
        column.rows.append(self._height - 1)
        column.values.append(value)

    def _add_start(self, sample: Any, series: Series) -> None:
        """2.0 only. A start that a timestamp cannot hold is not worth losing the sample."""
        start = getattr(sample, "start_timestamp", 0) or series.created_timestamp_ms
        if start and abs(start) <= LAST_MS:
            self._add_cell(_START_TIME, start * 1_000_000)

    def _add_exemplars(self, series: Series, first: int) -> None:
        """To the last row of their series. Prometheus sends them in a series of their own, which is a row then."""
        usable = [exemplar for exemplar in series.exemplars if abs(exemplar.timestamp_ms) <= LAST_MS]
        for exemplar in series.exemplars:
            if abs(exemplar.timestamp_ms) > LAST_MS:
                self.refuse(_out_of_range(exemplar.timestamp_ms))
        if not usable:
            return
        if self._height == first:
            self._add_row(max(exemplar.timestamp_ms for exemplar in usable), series.metadata.type, None, False)
        self._add_cell(_EXEMPLARS, orjson.dumps([_exemplar_object(exemplar) for exemplar in usable]).decode())
        self._exemplars += len(usable)

    def _add_metadata(self, series: Series, rows: range) -> None:
        for own, text in ((_DESCRIPTION, series.metadata.description), (_UNIT, series.metadata.unit)):
            if text:
                column = self._sometimes.setdefault(own, Sparse())
                column.rows.extend(rows)
                column.values.extend([text] * len(rows))

    def finish(self, metadata: Mapping[str, MetricMetadata]) -> DecodedSamples:
        """All rows, and what the request says of metrics. Raises TooManyColumns."""
        require_columns(len(self._labels), self._max_columns)
        height = self._height
        always: dict[Field, Sequence[Any]] = {
            METRIC_NAME: self._names,
            METRIC_TYPE: self._types,
            TIME: self._times,
            VALUE: self._values,
            IS_STALE: self._stale,
        }
        own = {field: _series(field, values) for field, values in always.items()}
        own |= {field: _series(field, cells.dense(height)) for field, cells in self._sometimes.items()}
        labels = {
            name: _series(Field(name, ColumnType.UTF8), cells.dense(height)) for name, cells in self._labels.items()
        }
        batch = batch_of(own, labels, height)
        return DecodedSamples(
            batch, self._reasons, self._message, metadata, self._samples, self._histograms, self._exemplars
        )


def batch_of(own: Mapping[Field, pl.Series], labels: Mapping[str, pl.Series], height: int) -> Batch:
    """Own columns in their order, then labels by name, so that both paths give one answer."""
    order = {name: position for position, name in enumerate(SAMPLE_COLUMNS)}
    fields = sorted(own, key=lambda field: order[field.name])
    columns = [(field, own[field].alias(field.name)) for field in fields]
    columns += [(Field(name, ColumnType.UTF8), labels[name].alias(name)) for name in sorted(labels)]
    filled = [(field, series) for field, series in columns if series.null_count() < height]
    return Batch(tuple(field for field, _ in filled), tuple(series for _, series in filled), height)


def require_columns(label_names: int, max_columns: int) -> None:
    """Raises TooManyColumns for labels that can never become columns of a dataset."""
    if label_names > max_columns:
        raise TooManyColumns(
            f"the request has {label_names} different label names and each is a column, of which a dataset may have "
            f"{max_columns}: a label name seems to carry values"
        )


def _series(field: Field, values: Sequence[Any]) -> pl.Series:
    if field.type is ColumnType.TIMESTAMP_NS:
        return pl.Series(values, dtype=pl.Int64).cast(POLARS_TYPES[field.type])
    return pl.Series(values, dtype=POLARS_TYPES[field.type])


def _out_of_range(timestamp_ms: int) -> Refused:
    return TimeOutOfRange(f"timestamp {timestamp_ms} ms is outside the years 1677 to 2262")


def _is_stale(value: float) -> bool:
    return value != value and _DOUBLE.pack(value) == STALE


def _exemplar_object(exemplar: Exemplar) -> dict[str, Any]:
    """As OTLP's. OpenTelemetry's mapping for Prometheus: labels `trace_id` and `span_id` are those ids."""
    attributes = dict(exemplar.labels)
    time = _EPOCH + timedelta(milliseconds=exemplar.timestamp_ms)
    return {
        "time_unix_nano": f"{time:%Y-%m-%dT%H:%M:%S}.{exemplar.timestamp_ms % 1000:03}000000Z",
        "value": exemplar.value,
        "trace_id": attributes.pop("trace_id", None),
        "span_id": attributes.pop("span_id", None),
        "attributes": attributes,
    }
