"""Rows of a metrics dataset as series with samples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, Final

import numpy as np
import polars as pl

from columns import ColumnType
from errors import InvalidPromQL, PromQLFailed
from promql.arrays import Ints, Objects
from promql.histogram import CUSTOM, Hint, Histogram
from promql.labels import METRIC_NAME, Labels
from promql.regexps import compile_pattern, is_alternation
from promql.series import Samples
from promql.tree import Matcher
from query.metrics.label_columns import (
    ARRIVAL_COLUMN,
    NAME_COLUMN,
    TIME_COLUMN,
    VALUE_COLUMN,
    LabelColumn,
    label_columns,
    stored_names,
)
from storage.exactly import exactly
from storage.read.contents import Column

NS_PER_MS: Final = 1_000_000
# Names of the helper columns; stored names have no NUL.
TIME: Final = "\0time"
VALUE: Final = "\0value"
STALE: Final = "\0stale"
ARRIVAL: Final = "\0arrival"
ROW: Final = "\0row"
_NATIVE: Final = "\0native"
# Fewer rows than these from one change of labels to the next stand in no order.
_ROWS_PER_CHANGE: Final = 4
_HISTOGRAM: Final = """data_point_count data_point_sum data_point_scale data_point_zero_count data_point_zero_threshold
    positive_offset positive_bucket_count negative_offset negative_bucket_count data_point_bucket_counts
    data_point_explicit_bounds data_point_reset_hint""".split()
_HINTS: Final = {"yes": Hint.RESET, "no": Hint.NOT_RESET, "gauge": Hint.GAUGE}

_TIMES: Final = (ColumnType.TIMESTAMP_NS, ColumnType.TIMESTAMP_US)
Rows = Callable[[Sequence[Matcher]], pl.LazyFrame]


@dataclass(frozen=True)
class MetricTable:
    """A dataset's columns, and its rows: `rows` gives those that may satisfy the matchers, with stored names."""

    columns: tuple[Column, ...]
    rows: Rows

    @property
    def labels(self) -> tuple[LabelColumn, ...]:
        return label_columns(self.columns)

    @property
    def stored(self) -> Mapping[str, str]:
        return stored_names(self.columns)

    @property
    def has_samples(self) -> bool:
        """A dataset without names or without times has no series."""
        types = {each.name: each.type for each in self.columns}
        return NAME_COLUMN in types and types.get(TIME_COLUMN) in _TIMES


def matching_rows(labels: Sequence[LabelColumn], matchers: Sequence[Matcher]) -> pl.Expr:
    """The rows of series that satisfy all matchers. Raises InvalidPromQL."""
    return reduce(and_, (_holds(labels, each) for each in matchers), pl.lit(True))


def _holds(labels: Sequence[LabelColumn], matcher: Matcher) -> pl.Expr:
    """A label that a series does not have counts as empty."""
    columns = [each for each in labels if each.label == matcher.name]
    if not columns:
        return pl.lit(_matches_empty(matcher))
    text = text_of(columns)
    if matcher.operation == "=":
        return text == matcher.value if matcher.value else text.is_null() | (text == "")
    if matcher.operation == "!=":
        return (text != matcher.value).fill_null(bool(matcher.value))
    found = _expression(text, matcher.value).fill_null(_matches_empty(matcher._replace(operation="=~")))
    return found if matcher.operation == "=~" else ~found


def _expression(text: pl.Expr, pattern: str) -> pl.Expr:
    if is_alternation(pattern):
        return text.is_in(pattern.split("|"))
    try:
        return text.str.contains(compile_pattern(pattern).text)
    except ValueError as error:
        raise InvalidPromQL(f"1:1: parse error: {error}") from error


def _matches_empty(matcher: Matcher) -> bool:
    match matcher.operation:
        case "=":
            return not matcher.value
        case "!=":
            return bool(matcher.value)
    if is_alternation(matcher.value):
        is_match = "" in matcher.value.split("|")
    else:
        is_match = compile_pattern(matcher.value).matches([""])[0]
    return is_match == (matcher.operation == "=~")


def text_of(columns: Sequence[LabelColumn]) -> pl.Expr:
    """The label as text: of two columns (an integer and its sibling) the one that has a value."""
    texts = [
        exactly(each.stored)
        if each.type in (ColumnType.UTF8, ColumnType.JSON)
        else exactly(each.stored).cast(pl.String)
        for each in columns
    ]
    return texts[0] if len(texts) == 1 else pl.coalesce(texts)


def label_texts(labels: Sequence[LabelColumn]) -> list[pl.Expr]:
    """A text column for each label, under the label's name."""
    by_label: dict[str, list[LabelColumn]] = {}
    for each in labels:
        by_label.setdefault(each.label, []).append(each)
    return [text_of(columns).alias(label) for label, columns in by_label.items()]


class MetricSource:
    """The series of a dataset, as the evaluator asks for them."""

    def __init__(self, table: MetricTable, most_samples: int, most_series: int) -> None:
        self._table, self._most_samples, self._most_series = table, most_samples, most_series

    def select(self, matchers: tuple[Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        """As a Source of the evaluator."""
        if not self._table.has_samples:
            return nothing()
        time = exactly(self._table.stored[TIME_COLUMN])
        rows = self._table.rows(matchers).filter(
            matching_rows(self._table.labels, matchers) & between(time, start_ms, end_ms)
        )
        return self.checked(self._read(rows))

    def all_samples(self, matchers: tuple[Matcher, ...]) -> Samples:
        """The same at all times, however many there are."""
        return self._read(self._table.rows(matchers).filter(matching_rows(self._table.labels, matchers)))

    def count(self, matchers: tuple[Matcher, ...]) -> int:
        """How many rows that is."""
        rows = self._table.rows(matchers).filter(matching_rows(self._table.labels, matchers))
        return int(rows.select(pl.len()).collect().item())

    def _read(self, rows: pl.LazyFrame) -> Samples:
        columns, stored = self._table.labels, self._table.stored
        native = [name for name in _HISTOGRAM if name in stored]
        frame = rows.select(
            *label_texts(columns),
            (exactly(stored[TIME_COLUMN]).dt.epoch("ns") // NS_PER_MS).alias(TIME),
            _column(stored, VALUE_COLUMN, pl.Float64()).alias(VALUE),
            _column(stored, "is_stale", pl.Boolean()).fill_null(False).alias(STALE),
            exactly(stored[ARRIVAL_COLUMN]).to_physical().alias(ARRIVAL),
            *(exactly(stored[name]).alias(f"\0{name}") for name in native),
        ).collect()
        self._check_rows(frame.height)
        return samples_of_rows(frame, list(dict.fromkeys(column.label for column in columns)), native)

    def _check_rows(self, count: int) -> None:
        if count > self._most_samples:
            raise PromQLFailed("query processing would load too many samples into memory in query execution")

    def checked(self, found: Samples) -> Samples:
        """The same samples. Raises PromQLFailed if a query may not read so many."""
        self._check_rows(len(found.times))
        if len(found.labels) > self._most_series:
            raise PromQLFailed(f"a selector matches {len(found.labels)} series, at most {self._most_series} are read")
        return found


def between(time: pl.Expr, start_ms: int, end_ms: int) -> pl.Expr:
    """From the first to the last ms, both included; of a sample's time only whole ms count."""
    first, after = (_clipped(ms) for ms in (start_ms, end_ms + 1))
    return (time >= pl.lit(first).cast(pl.Datetime("ns", "UTC"))) & (
        time < pl.lit(after).cast(pl.Datetime("ns", "UTC"))
    )


def _clipped(ms: int) -> int:
    return max(-(2**63), min(2**63 - 1, ms * NS_PER_MS))


def _column(stored: Mapping[str, str], name: str, dtype: pl.DataType) -> pl.Expr:
    return exactly(stored[name]).cast(dtype) if name in stored else pl.lit(None, dtype=dtype)


def nothing() -> Samples:
    return Samples([], np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def samples_of_rows(frame: pl.DataFrame, labels: Sequence[str], native: Sequence[str]) -> Samples:
    """Rows of samples as series in the order of their labels; of one series and time the first that arrived."""
    is_native = _is_native(frame, native)
    # A row without any value holds the exemplars of its series.
    is_sample = frame[VALUE].is_not_null() | frame[STALE] | is_native
    if not is_sample.all():
        frame, is_native = frame.filter(is_sample), is_native.filter(is_sample)
    if not frame.height:
        return nothing()
    keys, numbers = _numbered([frame[name] for name in sorted(labels)], frame.height)
    order, starts = _ordered(frame, numbers, len(keys))
    times, values, stale = (frame[name].to_numpy() for name in (TIME, VALUE, STALE))
    if frame[VALUE].null_count():
        values = frame[VALUE].fill_null(np.nan).to_numpy()
    if order is not None:
        times, values, stale = times[order], values[order], stale[order]
    histograms = None
    if is_native.any():
        kept = frame.select(name for name in frame.columns if name.startswith("\0")).with_columns(is_native)
        histograms = _histograms(kept if order is None else kept[order], native)
    return Samples(keys, starts, times, values, stale.astype(np.bool_) if stale.any() else None, histograms)


def _is_native(frame: pl.DataFrame, native: Sequence[str]) -> pl.Series:
    buckets = [f"\0{name}" for name in ("data_point_scale", "data_point_bucket_counts") if name in native]
    if "data_point_count" not in native or not buckets:
        return pl.Series(_NATIVE, np.zeros(frame.height, dtype=np.bool_))
    has_buckets = reduce(or_, (frame[name].is_not_null() for name in buckets))
    return (frame["\0data_point_count"].is_not_null() & has_buckets).alias(_NATIVE)


def _numbered(columns: Sequence[pl.Series], count: int) -> tuple[list[Labels], Ints]:
    """The label sets in order, and for each row which one it has. `columns`: of labels, in the order of their names."""
    columns = [each for each in columns if each.null_count() < count]
    if not columns:
        return [()], np.zeros(count, dtype=np.int64)
    first, groups = _grouped(columns)
    pairs = [_pairs(each.name, each.gather(first).to_list()) for each in columns]
    sets = [tuple([pair for pair in row if pair]) for row in zip(*pairs, strict=True)]
    distinct = sorted(set(sets))
    place = {labels: number for number, labels in enumerate(distinct)}
    return distinct, np.array([place[labels] for labels in sets], dtype=np.int64)[groups]


def _grouped(columns: Sequence[pl.Series]) -> tuple[Ints, Ints]:
    """Rows of the same labels: the first row of each group, and for each row its group. Two groups may be the same.

    Rows out of files stand series by series, and then a group is what lies between two changes: a quarter of the time
    of a hash table over all labels.
    """
    is_change = reduce(or_, (each.ne_missing(each.shift(1)) for each in columns)).to_numpy(writable=True)
    is_change[0] = True
    if np.count_nonzero(is_change) * _ROWS_PER_CHANGE <= len(is_change):
        return np.flatnonzero(is_change), np.cumsum(is_change) - 1
    rows = pl.DataFrame(columns).with_row_index(ROW)
    found = rows.group_by(*(exactly(each.name) for each in columns), maintain_order=True).agg(pl.col(ROW))[ROW]
    groups = np.empty(len(is_change), dtype=np.int64)
    groups[found.explode().to_numpy()] = np.repeat(np.arange(len(found)), found.list.len().to_numpy())
    return found.list.first().to_numpy().astype(np.int64), groups


def _pairs(name: str, values: Sequence[str | None]) -> list[tuple[str, str] | None]:
    """The label with each value, one object for the same; None where there is none."""
    known: dict[str | None, tuple[str, str] | None] = {value: (name, value) for value in set(values) if value}
    return [known.get(value) for value in values]


def _ordered(frame: pl.DataFrame, numbers: Ints, count: int) -> tuple[Ints | None, Ints]:
    """The rows by series and time, without those whose sample is there already (None: as they are), and where each
    series begins. The keys of rows out of files are in order mostly, since files are."""
    times = frame[TIME].to_numpy()
    first = int(times.min())
    keys = numbers * (int(times.max()) - first + 1) + (times - first)
    if bool((keys[1:] > keys[:-1]).all()):
        return None, np.searchsorted(numbers, np.arange(count + 1)).astype(np.int64)
    order = np.argsort(keys, kind="stable")
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = keys[order[1:]] != keys[order[:-1]]
    if not is_first.all():
        order = np.lexsort((frame[ARRIVAL].to_numpy(), keys))[is_first]
    starts = np.searchsorted(numbers[order], np.arange(count + 1))
    return order, starts.astype(np.int64)


def _histograms(frame: pl.DataFrame, native: Sequence[str]) -> Objects:
    found = np.full(frame.height, None, dtype=object)
    rows = frame.with_row_index(ROW).filter(pl.col(_NATIVE))
    for row in rows.select(ROW, *(f"\0{name}" for name in native)).iter_rows(named=True):
        found[row[ROW]] = histogram_of({name: row[f"\0{name}"] for name in native})
    return found


def histogram_of(cells: Mapping[str, Any]) -> Histogram:
    """A native histogram out of the columns that remote write and OTLP fill (docs/ingestion-prometheus.md)."""
    histogram = Histogram(
        schema=CUSTOM if cells.get("data_point_scale") is None else int(cells["data_point_scale"]),
        count=float(cells["data_point_count"]),
        sum=float("nan") if cells.get("data_point_sum") is None else float(cells["data_point_sum"]),
        zero_count=float(cells.get("data_point_zero_count") or 0),
        zero_threshold=float(cells.get("data_point_zero_threshold") or 0),
        hint=_HINTS.get(cells.get("data_point_reset_hint") or "", Hint.UNKNOWN),
    )
    if histogram.is_custom:
        histogram.custom = tuple(cells.get("data_point_explicit_bounds") or ())
        histogram.positive = _buckets(cells.get("data_point_bucket_counts"), 0)
        return histogram
    # OTLP names a bucket by its lower bound, Prometheus by its upper one.
    histogram.positive = _buckets(cells.get("positive_bucket_count"), (cells.get("positive_offset") or 0) + 1)
    histogram.negative = _buckets(cells.get("negative_bucket_count"), (cells.get("negative_offset") or 0) + 1)
    return histogram


def _buckets(counts: Sequence[float] | None, first: int) -> dict[int, float]:
    return {first + index: float(count) for index, count in enumerate(counts or ()) if count}


def is_metric_name(matcher: Matcher) -> bool:
    """Whether the matcher says which metric it is, so that files and row groups can be left out."""
    return matcher.name == METRIC_NAME and matcher.operation == "=" and bool(matcher.value)
