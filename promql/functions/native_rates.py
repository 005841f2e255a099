"""rate and its kin over native histograms (promql/functions.go: histogramRate, instantValue)."""

from collections.abc import Sequence
from typing import Final

from promql.arrays import Bools
from promql.functions.range_input import RangeInput, RangeOutput
from promql.histogram import Hint, Histogram, IncompatibleSchemas
from promql.series import no_objects

_NEAR: Final = 1.1


def put(output: RangeOutput, row: int, step: int, histogram: Histogram) -> None:
    """The result at this place is a histogram."""
    if output.histograms is None:
        output.histograms = no_objects((output.values.shape[0], output.values.shape[1]))
    output.histograms[row, step] = histogram
    output.present[row, step] = True


def native_rate(data: RangeInput, output: RangeOutput, chosen: Bools, *, is_counter: bool, is_rate: bool) -> None:
    """Fill in the chosen windows, which have histograms only."""
    found = data.histograms()
    for row, step, first, end in data.native_windows(chosen):
        points = found[first:end]
        result = _difference(data, row, points, is_counter=is_counter)
        if result is not None:
            factor = _factor(data, step, (first, end - 1), points[0], result, is_counter=is_counter)
            result.scale(factor / (data.range_ms / 1000) if is_rate else factor)
            put(output, row, step, result)


def _difference(data: RangeInput, row: int, points: Sequence[Histogram], *, is_counter: bool) -> Histogram | None:
    """histogramRate: last less first, and what the counter had reached at each reset."""
    metric, last = data.metric(row), points[-1]
    previous = _start(data, metric, points) if is_counter else points[0]
    is_custom = previous.is_custom
    if any(each.is_custom != is_custom for each in ((last,) if not is_counter else points[1:])):
        data.notes.mixed_schemas(metric, data.at)
        return None
    schema = min(each.schema for each in (last, previous, *(points[1:-1] if is_counter else ())))
    try:
        result = last.copy().reduce(schema)
        _note(data, "subtraction", result.subtract(previous).reconciled)
        if is_counter:
            _add_resets(data, result, previous, points)
    except IncompatibleSchemas:
        data.notes.mixed_schemas(metric, data.at)
        return None
    if not is_counter and not points[0].hint is last.hint is Hint.GAUGE:
        data.notes.not_gauge(metric, data.at)
    result.hint = Hint.GAUGE
    return result.compact()


def _start(data: RangeInput, metric: str, points: Sequence[Histogram]) -> Histogram:
    """The first histogram; an empty one if the counter began anew right after it, so that its buckets do not matter."""
    if any(each.hint is Hint.GAUGE for each in points):
        data.notes.not_counter(metric, data.at)
    second = points[1]
    if second.resets_after(points[0]):
        return Histogram(schema=second.schema, custom=second.custom)
    return points[0]


def _add_resets(data: RangeInput, result: Histogram, start: Histogram, points: Sequence[Histogram]) -> None:
    previous = start
    for each in points[1:]:
        if each.resets_after(previous):
            _note(data, "addition", result.add(previous).reconciled)
        previous = each


def _note(data: RangeInput, operation: str, reconciled: bool) -> None:
    if reconciled:
        data.notes.reconciled_bounds(operation, data.at)


def _factor(
    data: RangeInput, step: int, ends: tuple[int, int], first: Histogram, result: Histogram, *, is_counter: bool
) -> float:
    """The extrapolation of extrapolatedRate, with counts of observations in place of values."""
    times = (data.native or data.floats).times
    first_ms, last_ms = int(times[ends[0]]), int(times[ends[1]])
    window_end = int(data.ends[step])
    to_start, to_end = (first_ms - (window_end - data.range_ms)) / 1000, (window_end - last_ms) / 1000
    sampled = (last_ms - first_ms) / 1000
    spacing = sampled / (ends[1] - ends[0])
    if to_start >= spacing * _NEAR:
        to_start = spacing / 2
    if is_counter and result.count > 0 and first.count >= 0:
        to_start = min(to_start, sampled * (first.count / result.count))
    if to_end >= spacing * _NEAR:
        to_end = spacing / 2
    return (sampled + to_start + to_end) / sampled if sampled else 1.0


def native_instant(data: RangeInput, output: RangeOutput, *, is_rate: bool) -> None:
    """instantValue where one of the last two samples of a window is a histogram."""
    if data.native is None:
        return
    for row, step, first, end in data.native_windows(data.native.filled):
        pair = _last_two(data, row, step, (first, end))
        if len(pair) < 2 or all(isinstance(value, float) for _, value in pair):
            continue
        output.present[row, step] = False
        _put_instant(data, output, (row, step), pair, is_rate=is_rate)


def _last_two(data: RangeInput, row: int, step: int, native: tuple[int, int]) -> list[tuple[int, float | Histogram]]:
    floats, found = data.floats, data.histograms()
    last_floats = range(max(int(floats.first[row, step]), int(floats.end[row, step]) - 2), int(floats.end[row, step]))
    samples: list[tuple[int, float | Histogram]] = [
        (int(floats.times[i]), float(floats.values[i])) for i in last_floats
    ]
    if data.native is not None:
        last_native = range(max(native[0], native[1] - 2), native[1])
        samples += [(int(data.native.times[i]), found[i]) for i in last_native]
    return sorted(samples, key=lambda pair: pair[0])[-2:]


def _put_instant(
    data: RangeInput,
    output: RangeOutput,
    place: tuple[int, int],
    pair: list[tuple[int, float | Histogram]],
    *,
    is_rate: bool,
) -> None:
    (before_ms, before), (now_ms, now) = pair
    if before_ms == now_ms:
        return
    metric = data.metric(place[0])
    if not (isinstance(before, Histogram) and isinstance(now, Histogram)):
        data.notes.mixed_floats_histograms(metric, data.at)
        return
    if is_rate and Hint.GAUGE in (before.hint, now.hint):
        data.notes.not_counter(metric, data.at)
    if not is_rate and not before.hint is now.hint is Hint.GAUGE:
        data.notes.not_gauge(metric, data.at)
    result = now.copy()
    try:
        if not is_rate or not now.resets_after(before):
            _note(data, "subtraction", result.subtract(before).reconciled)
    except IncompatibleSchemas:
        data.notes.mixed_schemas(metric, data.at)
        return
    result.hint = Hint.GAUGE
    result.compact()
    put(output, *place, result.divide((now_ms - before_ms) / 1000) if is_rate else result)
