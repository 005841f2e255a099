"""The `..._over_time` functions: one value of all samples in a window (promql/functions.go)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from errors import PromQLFailed
from promql.arrays import Bools, Floats, Ints
from promql.compensated import add_arrays
from promql.fault import failed
from promql.functions.native_rates import put
from promql.functions.range_input import RangeFunction, RangeInput, RangeOutput
from promql.histogram import IncompatibleSchemas
from promql.native_sums import NativeMean, NativeSum, NativeTotal
from promql.windows import Fold, Windows, compensated_sum

# How many values are sorted at once.
_PORTION: Final = 2_000_000


def sum_over_time(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    total, lost, fold = compensated_sum(data.floats)
    result = fold.result(np.where(np.isinf(total), total, total + lost))
    return _with_native(data, result, NativeSum)


def avg_over_time(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    total, lost, fold = compensated_sum(data.floats)
    count = fold.per_window(data.floats.count.astype(np.float64))
    with np.errstate(all="ignore"):
        result = total / count + lost / count
    is_finite = np.isfinite(total)
    if not is_finite.all():
        result = np.where(is_finite, result, _incremental_mean(data.floats))
    return _with_native(data, fold.result(result), NativeMean)


def _incremental_mean(windows: Windows) -> Floats:
    """The mean where the sum overflows or has an infinite term: term by term from there on (funcAvgOverTime)."""
    fold = Fold(windows.first, windows.end)
    total, lost, mean, count = fold.state(), fold.state(), fold.state(), fold.state()
    is_incremental = np.zeros(fold.cells, dtype=np.bool_)
    with np.errstate(all="ignore"):
        for active, index in fold:
            value, now = windows.values[index], slice(active)
            count[now] += 1
            is_first = count[now] == 1
            sum_now, lost_now = add_arrays(value, total[now], lost[now])
            sum_now, lost_now = np.where(is_first, value, sum_now), np.where(is_first, 0.0, lost_now)
            turns = ~is_incremental[now] & np.isinf(sum_now) & ~is_first
            mean[now] = np.where(turns, total[now] / (count[now] - 1), mean[now])
            lost[now] = np.where(turns, lost[now] / (count[now] - 1), lost[now])
            is_incremental[now] |= turns
            share = (count[now] - 1) / count[now]
            mean_now, mean_lost = add_arrays(value / count[now], share * mean[now], share * lost[now])
            mean[now] = np.where(is_incremental[now], mean_now, mean[now])
            lost[now] = np.where(is_incremental[now], mean_lost, lost_now)
            total[now] = np.where(is_incremental[now], total[now], sum_now)
        return np.where(is_incremental, mean + lost, total / count + lost / count)


def _with_native(data: RangeInput, values: Floats, kind: type[NativeTotal]) -> RangeOutput:
    mixed = data.note_mixed()
    output = RangeOutput(values, data.floats.filled & ~mixed)
    found = data.histograms()
    for row, step, first, end in data.native_windows(~mixed):
        total = kind(found[first])
        try:
            for each in found[first + 1 : end]:
                total.add(each)
            put(output, row, step, total.result())
        except IncompatibleSchemas:
            data.notes.mixed_schemas(data.metric(row), data.at)
        total.note(data.notes, data.at)
    return output


def count_over_time(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    counted = data.floats.count + (0 if data.native is None else data.native.count)
    return RangeOutput(counted.astype(np.float64), counted > 0)


def present_over_time(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    return RangeOutput(np.ones(data.shape), data.floats.filled | data.has_native())


def extreme_over_time(data: RangeInput, _: Sequence[Floats], *, pick: np.ufunc) -> RangeOutput:
    """The least or greatest number; NaN where there is no other."""
    windows = data.floats
    data.note_ignored(windows.filled)
    result = np.full(data.shape, np.nan)
    if windows.filled.any():
        first, end = windows.first[windows.filled], windows.end[windows.filled]
        # reduceat takes each index up to the next, so every other result is of what lies between two windows.
        bounds = np.column_stack((first, end)).ravel()
        values = np.append(windows.values, np.nan)
        result[windows.filled] = pick.reduceat(values, bounds)[::2]
    return RangeOutput(result, windows.filled)


def edge_over_time(data: RangeInput, _: Sequence[Floats], *, is_last: bool) -> RangeOutput:
    """The first or last sample, of whichever kind."""
    windows = data.floats
    index = windows.last_or_any if is_last else windows.first_or_any
    values = np.full(data.shape, np.nan) if windows.is_empty else windows.values[index]
    output = RangeOutput(values, windows.filled.copy())
    if data.native is None:
        return output
    native_index = data.native.last_or_any if is_last else data.native.first_or_any
    found = data.histograms()
    for row, step, _first, _end in data.native_windows(_is_native_edge(data, is_last=is_last)):
        put(output, row, step, found[int(native_index[row, step])])
    return output


def _is_native_edge(data: RangeInput, *, is_last: bool) -> Bools:
    """Where the first or last sample of a window is a histogram."""
    native = data.native
    if native is None:
        return np.zeros(data.shape, dtype=np.bool_)
    if data.floats.is_empty:
        return native.filled
    windows = data.floats
    if is_last:
        is_beyond = native.times[native.last_or_any] >= windows.times[windows.last_or_any]
    else:
        is_beyond = native.times[native.first_or_any] <= windows.times[windows.first_or_any]
    return np.asarray(native.filled & (~windows.filled | is_beyond), dtype=np.bool_)


def time_of_edge(data: RangeInput, _: Sequence[Floats], *, is_last: bool) -> RangeOutput:
    """When the first or last sample was, in seconds."""
    is_native = _is_native_edge(data, is_last=is_last)
    result = np.full(data.shape, np.nan)
    for windows, chosen in ((data.floats, ~is_native & data.floats.filled), (data.native, is_native)):
        if windows is not None and not windows.is_empty:
            index = windows.last_or_any if is_last else windows.first_or_any
            result = np.where(chosen, windows.times[index] / 1000, result)
    return RangeOutput(result, data.floats.filled | data.has_native())


def time_of_extreme(data: RangeInput, _: Sequence[Floats], *, is_greatest: bool) -> RangeOutput:
    """When the least or greatest number was last, in seconds."""
    windows = data.floats
    data.note_ignored(windows.filled)
    fold = Fold(windows.first, windows.end)
    best, time = fold.state(math.nan), fold.state()
    with np.errstate(invalid="ignore"):
        for active, index in fold:
            value = windows.values[index]
            is_better = value >= best[:active] if is_greatest else value <= best[:active]
            takes = is_better | np.isnan(best[:active])
            best[:active] = np.where(takes, value, best[:active])
            time[:active] = np.where(takes, windows.times[index] / 1000, time[:active])
    return RangeOutput(fold.result(time), windows.filled)


def variance_over_time(data: RangeInput, _: Sequence[Floats], *, is_deviation: bool) -> RangeOutput:
    """Welford's variance with compensated sums (varianceOverTime)."""
    windows = data.floats
    data.note_ignored(windows.filled)
    fold = Fold(windows.first, windows.end)
    mean, mean_lost, square, square_lost, count = (fold.state() for _ in range(5))
    with np.errstate(all="ignore"):
        for active, index in fold:
            value, now = windows.values[index], slice(active)
            count[now] += 1
            delta = value - (mean[now] + mean_lost[now])
            mean[now], mean_lost[now] = add_arrays(delta / count[now], mean[now], mean_lost[now])
            term = delta * (value - (mean[now] + mean_lost[now]))
            square[now], square_lost[now] = add_arrays(term, square[now], square_lost[now])
        variance = (square + square_lost) / count
        result = np.sqrt(variance) if is_deviation else variance
    return RangeOutput(fold.result(result), windows.filled)


def quantile_over_time(data: RangeInput, parameters: Sequence[Floats]) -> RangeOutput:
    windows, wanted = data.floats, parameters[0]
    data.note_ignored(windows.filled)
    for q in np.unique(wanted[windows.filled.any(axis=0) & ~((wanted >= 0) & (wanted <= 1))]):
        data.notes.invalid_quantile(float(q), data.at)
    result = _over_windows(windows, np.broadcast_to(wanted, data.shape), quantiles)
    return RangeOutput(result, windows.filled)


def mad_over_time(data: RangeInput, _: Sequence[Floats]) -> RangeOutput:
    """The median of how far the values are from their median."""
    data.note_ignored(data.floats.filled)
    result = _over_windows(data.floats, np.full(data.shape, 0.5), _deviations)
    return RangeOutput(result, data.floats.filled)


def _deviations(values: Floats, counts: Ints, half: Floats) -> Floats:
    with np.errstate(all="ignore"):
        median = quantiles(values, counts, half)
        result = quantiles(np.abs(values - median[:, None]), counts, half)
    has_nan = np.isnan(values) & (np.arange(values.shape[1]) < counts[:, None])
    return np.where(has_nan.any(axis=1), np.nan, result)


def _over_windows(windows: Windows, parameter: Floats, compute: Callable[[Floats, Ints, Floats], Floats]) -> Floats:
    """Compute over the values of windows, side by side in one array with NaN behind the last."""
    rows, columns = np.nonzero(windows.filled)
    result = np.full(windows.first.shape, np.nan)
    first, counts, wanted = windows.first[rows, columns], windows.count[rows, columns], parameter[rows, columns]
    portion = max(1, _PORTION // max(int(counts.max(initial=1)), 1))
    for start in range(0, len(rows), portion):
        chosen = slice(start, start + portion)
        width = np.arange(int(counts[chosen].max()), dtype=np.int64)
        index = np.minimum(first[chosen, None] + width, len(windows.values) - 1)
        values = np.where(width < counts[chosen, None], windows.values[index], np.nan)
        result[rows[chosen], columns[chosen]] = compute(values, counts[chosen], wanted[chosen])
    return result


def quantiles(values: Floats, counts: Ints, wanted: Floats) -> Floats:
    """The quantile of each row, of which the first `counts` values are there; NaN is less than every number."""
    padding = np.arange(values.shape[1]) >= counts[:, None]
    nans = np.count_nonzero(np.isnan(values) & ~padding, axis=1)
    ordered = np.sort(values, axis=1)
    with np.errstate(all="ignore"):
        rank = wanted * (counts - 1)
        lower = np.clip(np.nan_to_num(np.floor(rank), nan=0.0, posinf=0.0, neginf=0.0), 0, counts - 1).astype(np.int64)
        upper = np.minimum(lower + 1, counts - 1)
        weight = rank - np.floor(rank)
        low, high = (_nan_first(ordered, nans, position) for position in (lower, upper))
        result = low * (1 - weight) + high * weight
    result = np.where(wanted < 0, -np.inf, np.where(wanted > 1, np.inf, result))
    return np.where(np.isnan(wanted), np.nan, result)


def _nan_first(ordered: Floats, nans: Ints, position: Ints) -> Floats:
    """The value at a position of an order that begins with the NaN values; numpy's ends with them."""
    index = np.clip(position - nans, 0, ordered.shape[1] - 1)
    found = np.take_along_axis(ordered, index[:, None], axis=1)[:, 0]
    return np.where(position < nans, np.nan, found)


def double_exponential_smoothing(data: RangeInput, parameters: Sequence[Floats]) -> RangeOutput:
    smoothing, trend = parameters
    windows = data.floats
    _check_factor("smoothing", smoothing, windows)
    _check_factor("trend", trend, windows)
    data.note_ignored(windows.filled)
    present = windows.count >= 2
    if windows.is_empty:
        return RangeOutput(np.full(data.shape, np.nan), present)
    fold = Fold(windows.first, windows.end)
    sf, tf = (fold.per_window(np.broadcast_to(each, data.shape)) for each in (smoothing, trend))
    second = np.minimum(windows.first_or_any + 1, len(windows.values) - 1)
    s1 = fold.per_window(windows.values[windows.first_or_any]).copy()
    slope = fold.per_window(windows.values[second] - windows.values[windows.first_or_any]).copy()
    s0, count = fold.state(), fold.state()
    with np.errstate(all="ignore"):
        for active, index in fold:
            now = slice(active)
            count[now] += 1
            if count[0] == 1:
                continue
            is_second = count[now] == 2
            slope[now] = np.where(is_second, slope[now], tf[now] * (s1[now] - s0[now]) + (1 - tf[now]) * slope[now])
            value = sf[now] * windows.values[index] + (1 - sf[now]) * (s1[now] + slope[now])
            s0[now], s1[now] = s1[now], value
    return RangeOutput(fold.result(s1), present)


def _check_factor(name: str, factor: Floats, windows: Windows) -> None:
    asked = factor[windows.filled.any(axis=0)]
    bad = asked[~((asked > 0) & (asked < 1))]
    if len(bad):
        raise _bad_factor(name, float(bad[0]))


def _bad_factor(name: str, factor: float) -> PromQLFailed:
    return failed(f"invalid {name} factor. Expected: 0 < {name[0]}f < 1, got: {factor:f}")


OVER_TIME: Final[dict[str, RangeFunction]] = {
    "sum_over_time": sum_over_time,
    "avg_over_time": avg_over_time,
    "count_over_time": count_over_time,
    "present_over_time": present_over_time,
    "absent_over_time": present_over_time,
    "max_over_time": partial(extreme_over_time, pick=np.fmax),
    "min_over_time": partial(extreme_over_time, pick=np.fmin),
    "last_over_time": partial(edge_over_time, is_last=True),
    "first_over_time": partial(edge_over_time, is_last=False),
    "ts_of_last_over_time": partial(time_of_edge, is_last=True),
    "ts_of_first_over_time": partial(time_of_edge, is_last=False),
    "ts_of_max_over_time": partial(time_of_extreme, is_greatest=True),
    "ts_of_min_over_time": partial(time_of_extreme, is_greatest=False),
    "stddev_over_time": partial(variance_over_time, is_deviation=True),
    "stdvar_over_time": partial(variance_over_time, is_deviation=False),
    "quantile_over_time": quantile_over_time,
    "mad_over_time": mad_over_time,
    "double_exponential_smoothing": double_exponential_smoothing,
}
