"""Selectors over samples: the latest value at each step, or the window before it (promql/engine.go)."""

from typing import Protocol

import numpy as np

from promql.arrays import Bools, Ints, Objects
from promql.series import Matrix, Samples, Steps
from promql.tree import Matcher, Range, Selector, Subquery
from promql.windows import Windows


class Source(Protocol):
    """Where series come from."""

    def select(self, matchers: tuple[Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        """The series that satisfy all matchers, in the order of their labels, with their samples from `start_ms` to
        `end_ms`, both included. Raises InvalidPromQL for a matcher that is no expression."""
        ...


def reference_times(node: Selector | Subquery, steps: Steps) -> Ints:
    """At which instant each step looks: `@` and `offset` (setOffsetForAtModifier)."""
    if isinstance(node.fixed, int):
        return np.full(steps.count, node.fixed - node.offset_ms, dtype=np.int64)
    return steps.times - node.offset_ms


def latest(source: Source, node: Selector, steps: Steps, lookback_ms: int) -> tuple[Matrix, Ints]:
    """The latest sample at each step, not older than the lookback and not stale (vectorSelectorSingle); and their
    times."""
    instants = reference_times(node, steps)
    samples = source.select(node.matchers, int(instants[0]) - lookback_ms + 1, int(instants[-1]))
    is_fixed = isinstance(node.fixed, int)
    ends = samples.ends(int(instants[0]), steps.interval, 1 if is_fixed else steps.count)
    if is_fixed:
        ends = np.repeat(ends, steps.count, axis=1)
    last = np.clip(ends - 1, 0, max(len(samples.times) - 1, 0))
    if len(samples.times) == 0:
        empty = np.zeros((len(samples.labels), steps.count))
        return Matrix(list(samples.labels), empty, empty.astype(np.bool_)).without_empty(), ends[:0]
    times = samples.times[last]
    present = (ends > samples.starts[:-1, None]) & (times > instants - lookback_ms)
    if samples.stale is not None:
        present &= ~samples.stale[last]
    histograms = None if samples.histograms is None else _where(present, samples.histograms[last])
    matrix = Matrix(list(samples.labels), samples.values[last], present, histograms)
    kept = present.any(axis=1)
    return (matrix, times) if kept.all() else (matrix.rows(kept), times[kept])


def _where(present: Bools, histograms: Objects) -> Objects:
    chosen = histograms.copy()
    chosen[~present] = None
    return chosen


def windows(samples: Samples, instants: Ints, interval: int, range_ms: int, *, is_fixed: bool) -> Windows:
    """The samples of each window, left-open: later than its start, up to its end."""
    count = 1 if is_fixed else len(instants)
    ends = samples.ends(int(instants[0]), interval, count)
    first = samples.ends(int(instants[0]) - range_ms, interval, count)
    if is_fixed:
        ends, first = (np.repeat(each, len(instants), axis=1) for each in (ends, first))
    return Windows(samples, first, ends)


def range_of(node: Range | Subquery) -> tuple[Selector | Subquery, int]:
    """What says where the windows are, and how long they are."""
    return (node.selector, node.range_ms) if isinstance(node, Range) else (node, node.range_ms)


def subquery_steps(node: Subquery, steps: Steps, default_ms: int) -> Steps:
    """The steps at which the inner expression is evaluated: multiples of its own step (subqueryTimeRange)."""
    instants = reference_times(node, steps)
    interval = node.step_ms or default_ms
    begin = int(instants[0]) - node.range_ms
    # Go's division goes towards zero.
    start = interval * (abs(begin) // interval) * (-1 if begin < 0 else 1)
    if start <= begin:
        start += interval
    return Steps(start, int(instants[-1]), interval)
