"""What functions of range vectors get and give."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from promql.annotations import Annotations
from promql.arrays import Bools, Floats, Ints, Objects
from promql.histogram import Histogram
from promql.labels import Labels, metric_name
from promql.series import Steps
from promql.windows import Windows


@dataclass(frozen=True)
class RangeInput:
    """The windows of a range selector or subquery over floats and over native histograms (None: there are none).

    `ends`: where each step's window ends, in ms. `at`: what place warnings name.
    """

    labels: Sequence[Labels]
    floats: Windows
    native: Windows | None
    steps: Steps
    range_ms: int
    ends: Ints
    at: int
    notes: Annotations

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.labels), self.steps.count

    def metric(self, row: int) -> str:
        return metric_name(self.labels[row])

    def has_native(self) -> Bools:
        return np.zeros(self.shape, dtype=np.bool_) if self.native is None else self.native.filled

    def mixed(self) -> Bools:
        """Windows with both kinds of samples."""
        return np.asarray(self.floats.filled & self.has_native(), dtype=np.bool_)

    def native_windows(self, chosen: Bools) -> Iterator[tuple[int, int, int, int]]:
        """Series, step, first and end of the histogram windows that are chosen."""
        if self.native is not None:
            for row, step in zip(*np.nonzero(chosen & self.native.filled), strict=True):
                yield int(row), int(step), int(self.native.first[row, step]), int(self.native.end[row, step])

    def histograms(self) -> Sequence[Histogram]:
        found = None if self.native is None else self.native.samples.histograms
        return [] if found is None else list(found)

    def note_ignored(self, answered: Bools) -> None:
        """Say which metrics have windows whose histograms were left out."""
        for row in np.flatnonzero((answered & self.has_native()).any(axis=1)):
            self.notes.ignored_in_range(self.metric(int(row)), self.at)

    def note_mixed(self) -> Bools:
        """Warn of windows with both kinds of samples, which have no result, and say where they are."""
        mixed = self.mixed()
        for row in np.flatnonzero(mixed.any(axis=1)):
            self.notes.mixed_floats_histograms(self.metric(int(row)), self.at)
        return mixed


@dataclass
class RangeOutput:
    """Series x steps; `histograms` as in a Matrix."""

    values: Floats
    present: Bools
    histograms: Objects | None = None


RangeFunction = Callable[[RangeInput, Sequence[Floats]], RangeOutput]
