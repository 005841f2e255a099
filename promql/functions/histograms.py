"""Functions of classic and native histograms (promql/functions.go: resetHistograms, funcHistogram...)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from promql.annotations import Annotations, Fixed
from promql.arrays import Bools, Floats, Ints
from promql.compensated import add
from promql.histogram import Bucket, Histogram
from promql.labels import BUCKET, METADATA, METRIC_NAME, Labels, labels_of, quoted, value_of, without, without_metadata
from promql.numbers import format_g
from promql.quantiles import (
    ClassicBucket,
    Forced,
    bucket_fraction,
    bucket_quantile,
    histogram_fraction,
    histogram_quantile,
)
from promql.series import Matrix, Steps

HistogramValue = Callable[[Histogram], float]


def histogram_values(matrix: Matrix, compute: HistogramValue) -> Matrix:
    """A number of each native histogram; other values have none."""
    values = np.full(matrix.values.shape, np.nan)
    native = np.zeros(matrix.present.shape, dtype=np.bool_) if matrix.native is None else matrix.native
    for row, step in zip(*np.nonzero(native), strict=True):
        values[row, step] = compute(_at(matrix, row, step))
    return Matrix([without(each, {METRIC_NAME}) for each in matrix.labels], values, native)


def _at(matrix: Matrix, row: int, step: int) -> Histogram:
    found = matrix.histogram(row, step)
    if not isinstance(found, Histogram):
        raise TypeError("no histogram there")
    return found


def _variance(histogram: Histogram) -> float:
    """From the middles of buckets: geometric for exponential ones (histogramVariance)."""
    if histogram.count == 0:
        return math.nan
    mean = histogram.sum / histogram.count
    variance = lost = 0.0
    for bucket in histogram.buckets():
        if bucket.count:
            delta = _middle(bucket, is_custom=histogram.is_custom) - mean
            variance, lost = add(bucket.count * delta * delta, variance, lost)
    return (variance + lost) / histogram.count


def _middle(bucket: Bucket, *, is_custom: bool) -> float:
    if is_custom:
        return (bucket.upper + bucket.lower) / 2.0
    if bucket.lower <= 0 <= bucket.upper:
        return 0.0
    middle = math.sqrt(bucket.upper * bucket.lower)
    return -middle if bucket.upper < 0 else middle


def _average(histogram: Histogram) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(histogram.sum) / np.float64(histogram.count))


def _deviation(histogram: Histogram) -> float:
    variance = _variance(histogram)
    return math.sqrt(variance) if variance >= 0 else math.nan


NATIVE: Final[dict[str, HistogramValue]] = {
    "histogram_count": lambda histogram: histogram.count,
    "histogram_sum": lambda histogram: histogram.sum,
    "histogram_avg": _average,
    "histogram_stddev": _deviation,
    "histogram_stdvar": _variance,
}


@dataclass(frozen=True)
class _Classic:
    """The bucket series of one classic histogram: `rows` and `uppers` side by side."""

    labels: Labels
    rows: Ints
    uppers: Floats


def _classic(matrix: Matrix, notes: Annotations, at: int) -> list[_Classic]:
    """Bucket series by their labels without `le`; those whose `le` is no number are left out with a warning."""
    groups: dict[Labels, list[tuple[int, float]]] = {}
    for row in np.flatnonzero(matrix.floats.any(axis=1)):
        labels = matrix.labels[row]
        upper = _upper(value_of(labels, BUCKET))
        if upper is None:
            text = f'bucket label "le" is missing or has a malformed value of {quoted(value_of(labels, BUCKET))}'
            notes.warn(text, at)
            continue
        groups.setdefault(without(labels, {BUCKET}), []).append((int(row), upper))
    return [
        _Classic(labels, np.array([row for row, _ in pairs], dtype=np.int64), np.array([upper for _, upper in pairs]))
        for labels, pairs in groups.items()
    ]


def _upper(text: str) -> float | None:
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return None


def _conflicts(matrix: Matrix, classic: Sequence[_Classic], notes: Annotations, at: int) -> set[tuple[int, int]]:
    """Native histograms (row, step) beside a classic one of the same labels: neither has a result there."""
    found: set[tuple[int, int]] = set()
    if matrix.native is None:
        return found
    by_labels = {each.labels: each for each in classic}
    for row in np.flatnonzero(matrix.native.any(axis=1)):
        beside = by_labels.get(matrix.labels[row])
        if beside is not None:
            both = matrix.native[row] & matrix.floats[beside.rows].any(axis=0)
            found.update((int(row), int(step)) for step in np.flatnonzero(both))
    if found:
        notes.warn("vector contains a mix of classic and native histograms", at)
    return found


ClassicValue = Callable[[int, list[ClassicBucket]], float]
NativeValue = Callable[[int, Histogram, str], float]


def _evaluate(matrix: Matrix, notes: Annotations, at: int, of_classic: ClassicValue, of_native: NativeValue) -> Matrix:
    """A number for each histogram, native ones first."""
    classic = _classic(matrix, notes, at)
    conflicts = _conflicts(matrix, classic, notes, at)
    conflicting = {(matrix.labels[row], step) for row, step in conflicts}
    labels, rows = [], []
    for values in _native_rows(matrix, conflicts, of_native):
        labels.append(without_metadata(values[0]))
        rows.append(values[1])
    for each in classic:
        labels.append(without(each.labels, METADATA))
        rows.append(_classic_row(matrix, each, conflicting, of_classic))
    if not rows:
        return Matrix([], np.empty((0, matrix.steps)), np.empty((0, matrix.steps), dtype=np.bool_))
    return Matrix(labels, np.array([row[0] for row in rows]), np.array([row[1] for row in rows]))


def _native_rows(
    matrix: Matrix, conflicts: set[tuple[int, int]], compute: NativeValue
) -> Iterator[tuple[Labels, tuple[Floats, Bools]]]:
    if matrix.native is None:
        return
    for row in map(int, np.flatnonzero(matrix.native.any(axis=1))):
        values, present = np.full(matrix.steps, np.nan), np.zeros(matrix.steps, dtype=np.bool_)
        metric = value_of(matrix.labels[row], METRIC_NAME)
        for step in map(int, np.flatnonzero(matrix.native[row])):
            if (row, step) not in conflicts:
                values[step], present[step] = compute(step, _at(matrix, row, step), metric), True
        yield matrix.labels[row], (values, present)


def _classic_row(
    matrix: Matrix, classic: _Classic, conflicting: set[tuple[Labels, int]], compute: ClassicValue
) -> tuple[Floats, Bools]:
    values = np.full(matrix.steps, np.nan)
    floats = matrix.floats[classic.rows]
    present = np.atleast_1d(floats.any(axis=0))
    counts = matrix.values[classic.rows]
    for step in np.flatnonzero(present):
        if (classic.labels, int(step)) in conflicting:
            present[step] = False
            continue
        there = floats[:, step]
        pairs = zip(classic.uppers[there].tolist(), counts[there, step].tolist(), strict=True)
        values[step] = compute(int(step), [ClassicBucket(*pair) for pair in pairs])
    return values, present


def quantiles(matrix: Matrix, wanted: Floats, steps: Steps, notes: Annotations, at: tuple[int, int]) -> Matrix:
    """histogram_quantile. `at`: where the quantile and the vector stand in the text."""
    for q in np.unique(wanted[~((wanted >= 0) & (wanted <= 1))]):
        notes.invalid_quantile(float(q), at[0])

    def of_classic(step: int, buckets: list[ClassicBucket]) -> float:
        value, forced = bucket_quantile(float(wanted[step]), buckets)
        if forced is not None:
            notes.forced_monotonicity(_fixed(forced, int(steps.times[step])), at[1])
        return value

    def of_native(step: int, histogram: Histogram, metric: str) -> float:
        return histogram_quantile(float(wanted[step]), histogram, notes, at[1], metric)

    return _evaluate(matrix, notes, at[1], of_classic, of_native)


def _fixed(forced: Forced, ms: int) -> Fixed:
    return Fixed(ms, ms, forced.least_bucket, forced.greatest_bucket, forced.most)


def fractions(matrix: Matrix, lower: Floats, upper: Floats, notes: Annotations, at: int) -> Matrix:
    """histogram_fraction."""

    def of_classic(step: int, buckets: list[ClassicBucket]) -> float:
        return bucket_fraction(float(lower[step]), float(upper[step]), buckets)

    def of_native(step: int, histogram: Histogram, metric: str) -> float:
        return histogram_fraction(float(lower[step]), float(upper[step]), histogram, notes, at, metric)

    return _evaluate(matrix, notes, at, of_classic, of_native)


def labelled(matrix: Matrix, label: str, q: float) -> Matrix:
    """With the quantile as a label (histogram_quantiles)."""
    text = "NaN" if math.isnan(q) else format_quantile(q)
    labels = [labels_of({**dict(each), label: text}) for each in matrix.labels]
    return Matrix(labels, matrix.values, matrix.present)


def format_quantile(value: float) -> str:
    """labels.FormatOpenMetricsFloat: whole numbers end in `.0`.

    >>> format_quantile(1.0), format_quantile(0.5)
    ('1.0', '0.5')
    """
    text = format_g(value)
    return text if "e" in text or "." in text or "Inf" in text else f"{text}.0"
