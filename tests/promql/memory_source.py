"""Series in memory, for tests of the evaluator alone."""

from collections.abc import Sequence

import numpy as np

from promql.histogram import Histogram
from promql.labels import Labels, value_of
from promql.regexps import matching
from promql.series import Samples
from promql.tree import Matcher

STALE = "stale"
Value = float | Histogram | str


class MemorySource:
    """Of several samples of one series and time the first counts."""

    def __init__(self) -> None:
        self.series: dict[Labels, dict[int, Value]] = {}

    def add(self, labels: Labels, time_ms: int, value: Value) -> None:
        self.series.setdefault(labels, {}).setdefault(time_ms, value)

    def select(self, matchers: tuple[Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        chosen = sorted(self.series)
        for matcher in matchers:
            kept = matching(matcher, [value_of(each, matcher.name) for each in chosen]) if chosen else []
            chosen = [each for each, keeps in zip(chosen, kept, strict=True) if keeps]
        return _samples(
            [
                (each, [(t, v) for t, v in sorted(self.series[each].items()) if start_ms <= t <= end_ms])
                for each in chosen
            ]
        )


def _samples(series: Sequence[tuple[Labels, list[tuple[int, Value]]]]) -> Samples:
    points = [point for _, found in series for point in found]
    natives = np.full(len(points), None, dtype=object)
    for at, (_, value) in enumerate(points):
        if isinstance(value, Histogram):
            natives[at] = value
    return Samples(
        [labels for labels, _ in series],
        np.cumsum([0, *(len(found) for _, found in series)], dtype=np.int64),
        np.array([time for time, _ in points], dtype=np.int64),
        np.array([value if isinstance(value, float) else np.nan for _, value in points], dtype=np.float64),
        np.array([value == STALE for _, value in points], dtype=np.bool_),
        natives if any(isinstance(value, Histogram) for _, value in points) else None,
    )
