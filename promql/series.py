"""Series as they were stored, and values at the steps of an evaluation: arrays over series and steps at once.

Presence is an array of its own, since NaN is a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from promql.arrays import Bools, Floats, Ints, Objects, filled
from promql.histogram import Hint, Histogram
from promql.labels import EMPTY, Labels


@dataclass(frozen=True)
class Steps:
    """The instants of an evaluation, in ms: `start`, and every `interval` up to `end`."""

    start: int
    end: int
    interval: int

    @cached_property
    def count(self) -> int:
        return max((self.end - self.start) // self.interval + 1, 0)

    @cached_property
    def times(self) -> Ints:
        return self.start + self.interval * np.arange(self.count, dtype=np.int64)

    def first(self) -> "Steps":
        return Steps(self.start, self.start, self.interval)


@dataclass(frozen=True)
class Samples:
    """The samples of series, one after another: those of series i are at `starts[i]` to `starts[i + 1]`, in time order.

    `stale` marks staleness markers, `histograms` holds a Histogram where the sample is one, else None; both are None
    where there is none at all.
    """

    labels: Sequence[Labels]
    starts: Ints
    times: Ints
    values: Floats
    stale: Bools | None = None
    histograms: Objects | None = None

    @cached_property
    def series_index(self) -> Ints:
        """For each sample which series it is of."""
        return np.repeat(np.arange(len(self.labels), dtype=np.int64), np.diff(self.starts))

    def ends(self, first_ms: int, interval: int, count: int) -> Ints:
        """For each series and instant the position after the last sample that is not later: series x count.

        Counting samples by the instant that first includes them costs less than a search for each instant.
        """
        # Rounded up: the instant that equals a sample's time includes it.
        bins = np.clip(-((first_ms - self.times) // interval), 0, count)
        counts = np.bincount(self.series_index * (count + 1) + bins, minlength=len(self.labels) * (count + 1))
        upto = np.cumsum(counts.reshape(len(self.labels), count + 1)[:, :count], axis=1, dtype=np.int64)
        return np.asarray(upto + self.starts[:-1, None], dtype=np.int64)

    def where(self, kept: Bools) -> "Samples":
        """The samples at which `kept` is true, of the same series."""
        before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
        return Samples(
            self.labels,
            before[self.starts],
            self.times[kept],
            self.values[kept],
            None if self.stale is None else self.stale[kept],
            None if self.histograms is None else self.histograms[kept],
        )

    def between(self, start_ms: int, end_ms: int) -> "Samples":
        """The samples from the first to the last ms, both included, and the series that have any."""
        kept = (self.times >= start_ms) & (self.times <= end_ms)
        if kept.all():
            return self
        cut = self.where(kept)
        filled_series = np.diff(cut.starts) > 0
        if filled_series.all():
            return cut
        labels = [self.labels[row] for row in np.flatnonzero(filled_series).tolist()]
        return replace(cut, labels=labels, starts=np.append(cut.starts[:-1][filled_series], cut.starts[-1]))

    @cached_property
    def has_histogram(self) -> Bools | None:
        if self.histograms is None:
            return None
        return filled(self.histograms)

    @cached_property
    def floats(self) -> "Samples":
        """Those that are numbers."""
        if self.stale is None and self.histograms is None:
            return self
        kept = np.ones(len(self.times), dtype=np.bool_)
        if self.stale is not None:
            kept &= ~self.stale
        if self.has_histogram is not None:
            kept &= ~self.has_histogram
        return Samples(self.labels, *self._kept(kept))

    @cached_property
    def native(self) -> "Samples | None":
        """Those that are histograms; None where there are none."""
        if self.has_histogram is None or not self.has_histogram.any():
            return None
        kept = self.has_histogram if self.stale is None else self.has_histogram & ~self.stale
        return self.where(kept)

    def _kept(self, kept: Bools) -> tuple[Ints, Ints, Floats]:
        chosen = self.where(kept)
        return chosen.starts, chosen.times, chosen.values


@dataclass
class Matrix:
    """Values of series at steps: `values` and `present` are series x steps.

    `histograms` has the same shape and holds a Histogram where the value is one; None where no value is.
    """

    labels: list[Labels]
    values: Floats
    present: Bools
    histograms: Objects | None = None

    @property
    def steps(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def native(self) -> Bools | None:
        """Where the value is a histogram."""
        if self.histograms is None:
            return None
        return filled(self.histograms) & self.present

    @cached_property
    def floats(self) -> Bools:
        """Where the value is a number."""
        return self.present if self.native is None else self.present & ~self.native

    def rows(self, chosen: "Sequence[int] | Ints | Bools | np.bool_") -> "Matrix":
        index = np.asarray(chosen)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        index = index.astype(np.int64)
        histograms = None if self.histograms is None else self.histograms[index]
        return Matrix([self.labels[i] for i in index], self.values[index], self.present[index], histograms)

    def without_empty(self) -> "Matrix":
        """Without the series that have no value at any step."""
        kept = self.present.any(axis=1)
        return self if kept.all() else self.rows(kept)

    def histogram(self, row: int, step: int) -> object | None:
        return None if self.histograms is None else self.histograms[row, step]


def scalar(values: Floats) -> Matrix:
    """A scalar: one value at every step."""
    return Matrix([EMPTY], values.reshape(1, -1), np.ones((1, len(values)), dtype=np.bool_))


def nothing(steps: int) -> Matrix:
    return Matrix([], np.empty((0, steps)), np.empty((0, steps), dtype=np.bool_))


def no_objects(shape: tuple[int, int]) -> Objects:
    return np.full(shape, None, dtype=object)


def stacked(upper: Matrix, lower: Matrix) -> Matrix:
    """The rows of both."""
    histograms: Objects | None = None
    if upper.histograms is not None or lower.histograms is not None:
        parts = [
            no_objects((len(each.labels), each.steps)) if each.histograms is None else each.histograms
            for each in (upper, lower)
        ]
        histograms = np.concatenate(parts)
    return Matrix(
        [*upper.labels, *lower.labels],
        np.concatenate((upper.values, lower.values)),
        np.concatenate((upper.present, lower.present)),
        histograms,
    )


def samples_of(matrix: Matrix, steps: Steps) -> Samples:
    """The values of an evaluation as samples: what a subquery hands on."""
    rows, columns = np.nonzero(matrix.present)
    starts = np.concatenate(([0], np.cumsum(matrix.present.sum(axis=1), dtype=np.int64)))
    histograms = None if matrix.histograms is None else _without_hints(matrix.histograms[rows, columns])
    return Samples(matrix.labels, starts, steps.times[columns], matrix.values[rows, columns], None, histograms)


def _without_hints(found: Objects) -> Objects:
    """One sample may be seen at several steps, so what it says of the one before it no longer holds (evalSubquery)."""
    for at, each in enumerate(found):
        if isinstance(each, Histogram) and each.hint in (Hint.RESET, Hint.NOT_RESET):
            found[at] = each.with_hint(Hint.UNKNOWN)
    return found


def with_hints(samples: Samples) -> Samples:
    """With what the samples themselves tell of counter resets, as histogram_count and its like read them
    (histogram_stats_iterator.go)."""
    if samples.histograms is None:
        return samples
    hinted = samples.histograms.copy()
    for row in range(len(samples.labels)):
        before: Histogram | None = None
        for at in range(int(samples.starts[row]), int(samples.starts[row + 1])):
            found = hinted[at]
            if isinstance(found, Histogram) and before is not None and found.hint is Hint.UNKNOWN:
                hinted[at] = found.with_hint(Hint.RESET if found.resets_after(before) else Hint.NOT_RESET)
            before = found if isinstance(found, Histogram) else None
    return replace(samples, histograms=hinted)
