"""rate, increase, delta and their kin: what a counter or gauge did within a window (promql/functions.go)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from promql.arrays import Bools, Floats, Ints
from promql.compensated import add_arrays
from promql.functions.native_rates import native_instant, native_rate
from promql.functions.range_input import RangeFunction, RangeInput, RangeOutput
from promql.histogram import Histogram
from promql.windows import Fold, Windows

_COUNTER_ENDINGS: Final = ("_total", "_sum", "_count", "_bucket")
_NEAR: Final = 1.1
Differ = Callable[[float | Histogram, float | Histogram], bool]


def extrapolated(data: RangeInput, _: Sequence[Floats], *, is_counter: bool, is_rate: bool) -> RangeOutput:
    """extrapolatedRate: the difference of the ends of a window, stretched to the whole window."""
    mixed = data.note_mixed()
    present = (data.floats.count >= 2) & ~mixed
    values = _stretched(data, present, is_counter=is_counter, is_rate=is_rate)
    output = RangeOutput(values, present.copy())
    if data.native is not None:
        native_rate(data, output, ~mixed & (data.native.count >= 2), is_counter=is_counter, is_rate=is_rate)
    if is_counter:
        _note_names(data, present)
    return output


def _note_names(data: RangeInput, present: Bools) -> None:
    for name in dict.fromkeys(data.metric(row) for row in np.flatnonzero(present.any(axis=1)).tolist()):
        if name and not name.endswith(_COUNTER_ENDINGS):
            data.notes.possible_non_counter(name, data.at)


def _stretched(data: RangeInput, present: Bools, *, is_counter: bool, is_rate: bool) -> Floats:
    windows = data.floats
    if windows.is_empty or not present.any():
        return np.full(data.shape, np.nan)
    with np.errstate(all="ignore"):
        result = _difference(windows, present, is_counter=is_counter)
        return result * _factor(data, result, is_counter=is_counter, is_rate=is_rate)


def _difference(windows: Windows, present: Bools, *, is_counter: bool) -> Floats:
    first, last = windows.first_or_any, windows.last_or_any
    result = windows.values[last] - windows.values[first]
    return _with_resets(windows, result, present) if is_counter else result


def _with_resets(windows: Windows, result: Floats, present: Bools) -> Floats:
    """Add what the counter had reached at each reset, one after another as Prometheus does."""
    values = windows.values
    is_reset = values[1:] < values[:-1]
    # What another series has before the first sample of one is no reset.
    begins = windows.samples.starts[1:-1]
    is_reset[begins[(begins > 0) & (begins < len(values))] - 1] = False
    positions = np.flatnonzero(is_reset) + 1
    if len(positions) == 0:
        return result
    before = np.concatenate(([0], np.cumsum(is_reset, dtype=np.int64)))
    first, end = before[windows.first_or_any], before[windows.last_or_any]
    end = np.where(present, end, first)
    fold = Fold(first, end)
    corrected = fold.per_window(result).copy()
    for active, index in fold:
        corrected[:active] += values[positions[index] - 1]
    return np.where(end > first, fold.result(corrected), result)


def _factor(data: RangeInput, result: Floats, *, is_counter: bool, is_rate: bool) -> Floats:
    windows = data.floats
    first_ms, last_ms = windows.times[windows.first_or_any], windows.times[windows.last_or_any]
    to_start = (first_ms - (data.ends - data.range_ms)) / 1000
    to_end = (data.ends - last_ms) / 1000
    sampled = (last_ms - first_ms) / 1000
    spacing = sampled / (windows.count - 1)
    threshold = spacing * _NEAR
    to_start = np.where(to_start >= threshold, spacing / 2, to_start)
    if is_counter:
        start = windows.values[windows.first_or_any]
        # A counter does not fall below zero: the extrapolation ends where it would have been zero.
        to_zero = np.where((result > 0) & (start >= 0), sampled * (start / result), to_start)
        to_start = np.where(to_zero < to_start, to_zero, to_start)
    to_end = np.where(to_end >= threshold, spacing / 2, to_end)
    factor = np.where(sampled != 0, (sampled + to_start + to_end) / sampled, 1.0)
    return np.asarray(factor / (data.range_ms / 1000) if is_rate else factor)


def instant(data: RangeInput, _: Sequence[Floats], *, is_rate: bool) -> RangeOutput:
    """instantValue: the difference of the last two samples."""
    windows = data.floats
    output = RangeOutput(np.full(data.shape, np.nan), windows.count >= 2)
    if not windows.is_empty:
        last = windows.last_or_any
        before = np.clip(last - 1, 0, None)
        interval = (windows.times[last] - windows.times[before]).astype(np.float64)
        with np.errstate(all="ignore"):
            value, previous = windows.values[last], windows.values[before]
            result = np.where(value < previous, value, value - previous) if is_rate else value - previous
            output.values = result / (interval / 1000) if is_rate else result
    if data.native is not None:
        native_instant(data, output, is_rate=is_rate)
    return output


def _count_pairs(windows: Windows, flags: Bools) -> Floats:
    """How many neighbours within each window have the flag; a flag is about a sample and the one before it."""
    if windows.is_empty:
        return np.zeros(windows.first.shape)
    before = np.concatenate(([0], np.cumsum(flags, dtype=np.int64)))
    counted = before[windows.last_or_any] - before[windows.first_or_any]
    return np.where(windows.filled, counted, 0).astype(np.float64)


def resets(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    values = data.floats.values
    counted = _count_pairs(data.floats, values[1:] < values[:-1])
    return _with_native_pairs(data, counted, _resets)


def changes(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    values = data.floats.values
    is_nan = np.isnan(values)
    differ = (values[1:] != values[:-1]) & ~(is_nan[1:] & is_nan[:-1])
    counted = _count_pairs(data.floats, differ)
    return _with_native_pairs(data, counted, _changes)


def _resets(before: float | Histogram, now: float | Histogram) -> bool:
    if isinstance(before, Histogram) and isinstance(now, Histogram):
        return now.resets_after(before)
    if isinstance(before, Histogram) or isinstance(now, Histogram):
        return True
    return now < before


def _changes(before: float | Histogram, now: float | Histogram) -> bool:
    if isinstance(before, Histogram) and isinstance(now, Histogram):
        return not now.equals(before)
    if isinstance(before, Histogram) or isinstance(now, Histogram):
        return True
    return now != before and not (math.isnan(now) and math.isnan(before))


def _with_native_pairs(data: RangeInput, counted: Floats, differ: Differ) -> RangeOutput:
    """The count over windows that have histograms too: a change of kind counts, and so does what `differ` says."""
    output = RangeOutput(counted, data.floats.filled | data.has_native())
    if data.native is None:
        return output
    found, times, floats = data.histograms(), data.native.times, data.floats
    for row, step, first, end in data.native_windows(data.native.filled):
        merged: list[tuple[int, float | Histogram]] = [(int(times[i]), found[i]) for i in range(first, end)]
        values = range(int(floats.first[row, step]), int(floats.end[row, step]))
        merged += [(int(floats.times[i]), float(floats.values[i])) for i in values]
        merged.sort(key=lambda pair: pair[0])
        output.values[row, step] = sum(differ(before[1], now[1]) for before, now in pairwise(merged))
    return output


def regression(windows: Windows, intercept_ms: Ints, at_first: bool) -> tuple[Floats, Floats]:
    """linearRegression: slope and intercept of each window, whose times count from an instant near them."""
    fold = Fold(windows.first, windows.end)
    origin = fold.per_window((windows.times[windows.first_or_any] if at_first else intercept_ms).astype(np.float64))
    sums = [(fold.state(), fold.state()) for _ in range(4)]
    count, is_constant = fold.state(), np.ones(fold.cells, dtype=np.bool_)
    initial = fold.per_window(windows.values[windows.first_or_any])
    with np.errstate(all="ignore"):
        for active, index in fold:
            x, y = (windows.times[index] - origin[:active]) / 1e3, windows.values[index]
            count[:active] += 1
            # NaN differs from itself: a window of one NaN is constant all the same.
            is_constant[:active] &= (y == initial[:active]) | (count[:active] == 1)
            for (total, lost), term in zip(sums, (x, y, x * y, x * x), strict=True):
                total[:active], lost[:active] = add_arrays(term, total[:active], lost[:active])
        sum_x, sum_y, sum_xy, sum_x2 = (total + lost for total, lost in sums)
        covariance, variance = sum_xy - sum_x * sum_y / count, sum_x2 - sum_x * sum_x / count
        slope = covariance / variance
        intercept = sum_y / count - slope * sum_x / count
    constant_slope = np.where(np.isinf(initial), np.nan, 0.0)
    constant_value = np.where(np.isinf(initial), np.nan, initial)
    return (
        fold.result(np.where(is_constant, constant_slope, slope)),
        fold.result(np.where(is_constant, constant_value, intercept)),
    )


def deriv(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    return _predicted(data, None)


def predict_linear(data: RangeInput, parameters: Sequence[Floats]) -> RangeOutput:
    return _predicted(data, parameters[0])


def _predicted(data: RangeInput, seconds: Floats | None) -> RangeOutput:
    present = data.floats.count >= 2
    data.note_ignored(data.floats.filled)
    if data.floats.is_empty:
        return RangeOutput(np.full(data.shape, np.nan), present)
    times = np.broadcast_to(data.steps.times, data.shape)
    slope, intercept = regression(data.floats, times, at_first=seconds is None)
    with np.errstate(all="ignore"):
        return RangeOutput(slope if seconds is None else slope * seconds + intercept, present)


RATES: Final[dict[str, RangeFunction]] = {
    "rate": partial(extrapolated, is_counter=True, is_rate=True),
    "increase": partial(extrapolated, is_counter=True, is_rate=False),
    "delta": partial(extrapolated, is_counter=False, is_rate=False),
    "irate": partial(instant, is_rate=True),
    "idelta": partial(instant, is_rate=False),
    "resets": resets,
    "changes": changes,
    "deriv": deriv,
    "predict_linear": predict_linear,
}
