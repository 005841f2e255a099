"""Sums and means of native histograms, as aggregations and `..._over_time` functions take them."""

from promql.annotations import Annotations
from promql.histogram import Hint, Histogram


class NativeTotal:
    """What both have in common: which hints and bounds the histograms had."""

    def __init__(self, first: Histogram) -> None:
        self._count = 1.0
        self._sum = first.copy()
        self._lost: Histogram | None = None
        self._hints = {first.hint}
        self._reconciled = False

    def add(self, histogram: Histogram) -> None:
        """Raises IncompatibleSchemas."""
        raise NotImplementedError

    def result(self) -> Histogram:
        """The total, which may be changed."""
        raise NotImplementedError

    def note(self, notes: Annotations, at: int) -> None:
        if {Hint.RESET, Hint.NOT_RESET} <= self._hints:
            notes.reset_collision("aggregation", at)
        if self._reconciled:
            notes.reconciled_bounds("aggregation", at)

    def _add_to(self, total: Histogram, histogram: Histogram) -> None:
        if self._lost is None:
            self._lost = total.new_compensation()
        self._reconciled |= total.add(histogram, self._lost).reconciled


class NativeSum(NativeTotal):
    """sum and sum_over_time."""

    def add(self, histogram: Histogram) -> None:
        self._hints.add(histogram.hint)
        self._add_to(self._sum, histogram)

    def result(self) -> Histogram:
        if self._lost is not None:
            self._sum.add(self._lost.with_hint(self._sum.hint))
        return self._sum.compact()


class NativeMean(NativeTotal):
    """avg and avg_over_time: sum by count, or term by term once the sum overflows."""

    def __init__(self, first: Histogram) -> None:
        super().__init__(first)
        self._mean: Histogram | None = None

    def add(self, histogram: Histogram) -> None:
        self._hints.add(histogram.hint)
        self._count += 1
        if self._mean is None:
            total, lost = self._sum.copy(), self._lost
            self._lost = None if lost is None else lost.copy()
            self._add_to(total, histogram)
            if not total.has_overflow():
                self._sum = total
                return
            self._mean = self._sum.copy().divide(self._count - 1)
            self._lost = None if lost is None else lost.divide(self._count - 1)
        share = (self._count - 1) / self._count
        if self._lost is not None:
            self._lost.scale(share)
        self._add_to(self._mean.scale(share), histogram.copy().divide(self._count))

    def result(self) -> Histogram:
        if self._mean is not None:
            mean, lost = self._mean, self._lost
        else:
            mean = self._sum.divide(self._count)
            lost = None if self._lost is None else self._lost.divide(self._count)
        if lost is not None:
            mean.add(lost.with_hint(mean.hint))
        return mean.compact()
