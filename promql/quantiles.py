"""Quantiles and fractions of values, of classic buckets and of native histograms (promql/quantile.go)."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from promql.annotations import Annotations
from promql.histogram import Bucket, Histogram

# Differences of floats below this come from computing with them.
_SMALL_DELTA: Final = 1e-12
_LEAST_NORMAL: Final = 2.0**-1022


class ClassicBucket(NamedTuple):
    """All observations up to `upper`."""

    upper: float
    count: float  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Forced:
    """Counts that had to be raised so that they never fall: from which bucket to which, and by how much at most."""

    least_bucket: float
    greatest_bucket: float
    most: float


def quantile(q: float, values: Sequence[float]) -> float:
    """The quantile of values by linear interpolation; NaN counts as less than all numbers.

    >>> quantile(0.5, [3.0, 1.0, 2.0, 4.0])
    2.5
    """
    if not values or math.isnan(q):
        return math.nan
    if q < 0:
        return -math.inf
    if q > 1:
        return math.inf
    ordered = sorted(values, key=lambda value: (not math.isnan(value), value))
    rank = q * (len(ordered) - 1)
    lower = max(0, math.floor(rank))
    upper = min(len(ordered) - 1, lower + 1)
    weight = rank - math.floor(rank)
    return ordered[lower] * (1 - weight) + ordered[upper] * weight


def bucket_quantile(q: float, buckets: Sequence[ClassicBucket]) -> tuple[float, Forced | None]:
    """The quantile of a classic histogram (BucketQuantile)."""
    if math.isnan(q):
        return math.nan, None
    if q < 0 or q > 1:
        return math.copysign(math.inf, q), None
    merged = _coalesced(buckets)
    if not math.isinf(merged[-1].upper) or merged[-1].upper < 0:
        return math.nan, None
    monotonic, forced = _monotonic(merged)
    if len(monotonic) < 2 or monotonic[-1].count == 0:
        return math.nan, forced
    return _interpolated(q, monotonic), forced


def _interpolated(q: float, buckets: Sequence[ClassicBucket]) -> float:
    rank = q * buckets[-1].count
    last = len(buckets) - 1
    at = bisect_left(range(last), True, key=lambda i: buckets[i].count >= rank)
    if at == last:
        return buckets[-2].upper
    if at == 0 and buckets[0].upper <= 0:
        return buckets[0].upper
    start, count = 0.0, buckets[at].count
    if at > 0:
        start = buckets[at - 1].upper
        count -= buckets[at - 1].count
        rank -= buckets[at - 1].count
    return start + (buckets[at].upper - start) * _divided(rank, count)


def _divided(value: float, by: float) -> float:
    if by != 0:
        return value / by
    return math.nan if value == 0 or math.isnan(value) else math.copysign(math.inf, value)


def _coalesced(buckets: Sequence[ClassicBucket]) -> list[ClassicBucket]:
    """In ascending order, those of the same bound added up (coalesceBuckets)."""
    merged: list[ClassicBucket] = []
    for each in sorted(buckets, key=lambda bucket: bucket.upper):
        if merged and merged[-1].upper == each.upper:
            merged[-1] = ClassicBucket(each.upper, merged[-1].count + each.count)
        else:
            merged.append(each)
    return merged


def _monotonic(buckets: Sequence[ClassicBucket]) -> tuple[list[ClassicBucket], Forced | None]:
    """ensureMonotonicAndIgnoreSmallDeltas."""
    result, forced = [buckets[0]], None
    previous = buckets[0].count
    for each in buckets[1:]:
        if each.count == previous or _almost_equal(previous, each.count):
            result.append(ClassicBucket(each.upper, previous))
        elif each.count < previous:
            forced = _with_step(forced, each.upper, previous - each.count)
            result.append(ClassicBucket(each.upper, previous))
        else:
            result.append(each)
            previous = each.count
    return result, forced


def _with_step(forced: Forced | None, upper: float, difference: float) -> Forced:
    if forced is None:
        return Forced(upper, upper, difference)
    return Forced(min(forced.least_bucket, upper), max(forced.greatest_bucket, upper), max(forced.most, difference))


def _almost_equal(left: float, right: float) -> bool:
    """util/almost, Equal."""
    if math.isnan(left) and math.isnan(right):
        return True
    size, difference = abs(left) + abs(right), abs(left - right)
    if left == 0 or right == 0 or size < _LEAST_NORMAL:
        return difference < _SMALL_DELTA * _LEAST_NORMAL
    return difference / min(size, 1.7976931348623157e308) < _SMALL_DELTA


def bucket_fraction(lower: float, upper: float, buckets: Sequence[ClassicBucket]) -> float:
    """How much of a classic histogram lies between two values (BucketFraction)."""
    merged = _coalesced(buckets)
    count = merged[-1].count
    if merged[-1].upper != math.inf or count == 0 or math.isnan(lower) or math.isnan(upper):
        return math.nan
    if lower >= upper:
        return 0.0
    below_upper, below_lower = _rank(upper, merged), _rank(lower, merged)
    return (min(below_upper, count) - min(below_lower, count)) / count


def _rank(value: float, buckets: Sequence[ClassicBucket]) -> float:
    """How many observations are below the value."""
    start = -math.inf if buckets[0].upper <= 0 else 0.0
    before = 0.0
    for each in buckets:
        if start >= value:
            return before
        if each.upper > value:
            return (
                each.count
                if start == -math.inf
                else before + (each.count - before) * (value - start) / (each.upper - start)
            )
        before, start = each.count, each.upper
    return buckets[-1].count


def histogram_quantile(q: float, histogram: Histogram, notes: Annotations, at: int, metric: str = "") -> float:
    """The quantile of a native histogram (HistogramQuantile)."""
    if q < 0 or q > 1:
        return math.copysign(math.inf, q)
    if histogram.count == 0 or math.isnan(q):
        return math.nan
    is_nan = math.isnan(histogram.sum)
    forward = is_nan or q < 0.5
    buckets = histogram.buckets() if forward else histogram.buckets()[::-1]
    rank = (q if forward else 1 - q) * histogram.count
    bucket, count, seen = Bucket(0.0, 0.0, False, False, 0.0), 0.0, 0
    for each in buckets:
        bucket, seen = each, seen + 1
        count += each.count
        if each.count != 0 and count >= rank:
            break
    edge = _edge(bucket, histogram)
    if isinstance(edge, float):
        return edge
    bucket, count = edge, min(count, histogram.count)
    if count < rank:
        if is_nan:
            notes.info(_about("input to histogram_quantile has NaN observations, result is NaN", metric), at)
            return math.nan
        return bucket.upper
    rank = rank - (count - bucket.count) if forward else count - rank
    if is_nan and count + sum(each.count for each in buckets[seen:]) < histogram.count:
        notes.info(_about("input to histogram_quantile has NaN observations, result is skewed higher", metric), at)
    return _within(bucket, _divided(rank, bucket.count), histogram)


def _about(message: str, metric: str) -> str:
    return f'{message} for metric name "{metric}"' if metric else message


def _edge(bucket: Bucket, histogram: Histogram) -> Bucket | float:
    """The bucket to interpolate in, or the quantile itself where it lies in an open bucket."""
    if not histogram.is_custom:
        return _zero_sided(bucket, histogram) if bucket.lower < 0 < bucket.upper else bucket
    if bucket.lower == -math.inf:
        return bucket.upper if bucket.upper <= 0 else bucket._replace(lower=0.0)
    return bucket.lower if bucket.upper == math.inf else bucket


def _zero_sided(bucket: Bucket, histogram: Histogram) -> Bucket:
    """A zero bucket of a histogram that has buckets on one side only counts as half."""
    if not histogram.negative and histogram.positive:
        return bucket._replace(lower=0.0)
    if not histogram.positive and histogram.negative:
        return bucket._replace(upper=0.0)
    return bucket


def _within(bucket: Bucket, fraction: float, histogram: Histogram) -> float:
    if histogram.is_custom or (bucket.lower <= 0 <= bucket.upper):
        return bucket.lower + (bucket.upper - bucket.lower) * fraction
    log_lower, log_upper = math.log2(abs(bucket.lower)), math.log2(abs(bucket.upper))
    if bucket.lower > 0:
        return _exp2(log_lower + (log_upper - log_lower) * fraction)
    return -_exp2(log_upper + (log_lower - log_upper) * (1 - fraction))


def _exp2(value: float) -> float:
    return 2.0**value if value < 1024 else math.inf


def histogram_fraction(
    lower: float, upper: float, histogram: Histogram, notes: Annotations, at: int, metric: str = ""
) -> float:
    """How much of a native histogram lies between two values (HistogramFraction)."""
    if histogram.count == 0 or math.isnan(lower) or math.isnan(upper):
        return math.nan
    if lower >= upper:
        return 0.0
    buckets = histogram.buckets()
    count = histogram.count
    if math.isnan(histogram.sum):
        count = sum(each.count for each in buckets)
        if count < histogram.count:
            text = "input to histogram_fraction has NaN observations, which are excluded from all fractions"
            notes.info(_about(text, metric), at)
    below_lower, below_upper = (_native_rank(value, buckets, histogram, count) for value in (lower, upper))
    return (min(below_upper, count) - min(below_lower, count)) / histogram.count


def _native_rank(value: float, buckets: Sequence[Bucket], histogram: Histogram, count: float) -> float:
    rank = 0.0
    for each in buckets:
        is_zero = each.lower <= 0 <= each.upper
        bucket = _zero_sided(each, histogram) if is_zero else each
        if bucket.lower >= value:
            return rank
        if bucket.upper > value:
            linear = histogram.is_custom or is_zero
            if linear and bucket.lower == -math.inf:
                return bucket.count
            return rank + bucket.count * fraction_below(bucket, value, linear=linear)
        rank += bucket.count
    return count


def fraction_below(bucket: Bucket, value: float, *, linear: bool) -> float:
    """How much of a bucket lies below a value within it (generic.go, FractionBelow)."""
    if linear:
        return _divided(value - bucket.lower, bucket.upper - bucket.lower)
    log_lower, log_upper = math.log2(abs(bucket.lower)), math.log2(abs(bucket.upper))
    log_value = math.log2(abs(value))
    if value > 0:
        return (log_value - log_lower) / (log_upper - log_lower)
    return 1 - (log_value - log_upper) / (log_lower - log_upper)
