"""Windows over samples: which samples each step of a range selector sees, and folds over all windows at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from promql.arrays import Bools, Floats, Ints
from promql.compensated import add_arrays
from promql.series import Samples


@dataclass(frozen=True)
class Windows:
    """For each series and step the samples from `first` up to, without it, `end`. Left-open since Prometheus 3.0."""

    samples: Samples
    first: Ints
    end: Ints

    @property
    def times(self) -> Ints:
        return self.samples.times

    @property
    def values(self) -> Floats:
        return self.samples.values

    @cached_property
    def count(self) -> Ints:
        return np.asarray(self.end - self.first, dtype=np.int64)

    @cached_property
    def filled(self) -> Bools:
        return np.asarray(self.count > 0, dtype=np.bool_)

    @cached_property
    def first_or_any(self) -> Ints:
        """Where the first sample is; somewhere for an empty window, so that it can be looked up."""
        return np.clip(self.first, 0, max(len(self.times) - 1, 0))

    @cached_property
    def last_or_any(self) -> Ints:
        return np.clip(self.end - 1, 0, max(len(self.times) - 1, 0))

    @property
    def is_empty(self) -> bool:
        return len(self.times) == 0


class Fold:
    """Walks over all windows together, sample after sample, each window from its first sample on.

    State is kept for windows in order of their length, so that those that still have a sample are always in front.
    """

    def __init__(self, first: Ints, end: Ints) -> None:
        count = (end - first).ravel()
        self._order = np.argsort(-count, kind="stable")
        self._first = first.ravel()[self._order]
        self._count = count[self._order]
        self._shape = first.shape
        self.cells = int(np.count_nonzero(self._count > 0))

    def state(self, value: float = 0.0) -> Floats:
        return np.full(self.cells, value)

    def per_window(self, values: Floats) -> Floats:
        """Values given for series and steps, in the order of the state."""
        return np.asarray(np.broadcast_to(values, self._shape).ravel()[self._order][: self.cells])

    def __iter__(self) -> Iterator[tuple[int, Ints]]:
        """How many windows have one more sample, and where that is."""
        longest = int(self._count[0]) if len(self._count) else 0
        descending = -self._count
        for position in range(longest):
            active = int(np.searchsorted(descending, -position, side="left"))
            yield active, self._first[:active] + position

    def result(self, state: Floats, empty: float = np.nan) -> Floats:
        """The state by series and step."""
        result = np.full(len(self._order), empty)
        result[self._order[: self.cells]] = state
        return result.reshape(self._shape)


def compensated_sum(windows: Windows) -> tuple[Floats, Floats, Fold]:
    """Neumaier's sum of each window and what it has lost, in the order of the fold."""
    fold = Fold(windows.first, windows.end)
    total, lost = fold.state(), fold.state()
    values = windows.values
    for active, index in fold:
        total[:active], lost[:active] = add_arrays(values[index], total[:active], lost[:active])
    return total, lost, fold
