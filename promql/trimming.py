"""`</` and `>/`: a native histogram without the observations above or below a value (FloatHistogram.TrimBuckets)."""

import math

from promql.histogram import Bucket, Buckets, Histogram
from promql.quantiles import fraction_below


def trimmed(histogram: Histogram, limit: float, *, upper: bool) -> Histogram:
    """What is left below the limit (`upper`) or above it. Buckets that the limit cuts are interpolated, and where
    anything was cut the sum is estimated from the middles of buckets."""
    result = histogram.copy()
    kept = _Kept(histogram.is_custom, limit, upper)
    positive = {each: kept.bucket(bucket, is_positive=True) for each, bucket in _indexed(result, is_positive=True)}
    negative = {each: kept.bucket(bucket, is_positive=False) for each, bucket in _indexed(result, is_positive=False)}
    sides = bool(_filled(result.negative)), bool(_filled(result.positive))
    if result.zero_count > 0:
        count, middle = _zero_trim(result.zero_bucket(), limit, sides, upper=upper)
        kept.add(count, middle, is_cut=count != result.zero_count)
        result.zero_count = count
    if kept.is_cut:
        result.positive.update(positive)
        result.negative.update(negative)
        result.count, result.sum = kept.count, kept.sum
        result.compact()
    return result


def _indexed(histogram: Histogram, *, is_positive: bool) -> list[tuple[int, Bucket]]:
    buckets = histogram.positive if is_positive else histogram.negative
    bounds = histogram.positive_buckets() if is_positive else histogram.negative_buckets()
    return [(i, bucket) for i, bucket in zip(sorted(buckets), bounds, strict=True) if bucket.count != 0]


def _filled(buckets: Buckets) -> Buckets:
    return {i: count for i, count in buckets.items() if count != 0}


class _Kept:
    """What is left so far."""

    def __init__(self, is_custom: bool, limit: float, upper: bool) -> None:
        self._is_custom, self._limit, self._upper = is_custom, limit, upper
        self.count = self.sum = 0.0
        self.is_cut = False

    def add(self, count: float, middle: float, *, is_cut: bool) -> None:
        self.count += count
        self.sum += middle * count
        self.is_cut = self.is_cut or is_cut

    def bucket(self, bucket: Bucket, *, is_positive: bool) -> float:
        """The count that the bucket keeps."""
        limit = self._limit
        is_whole = bucket.upper <= limit if self._upper else bucket.lower >= limit
        is_partly = bucket.lower < limit if self._upper else bucket.upper > limit
        if is_whole:
            middle = _midpoint(bucket.lower, bucket.upper, is_positive, self._is_custom)
            self.add(bucket.count, middle, is_cut=False)
            return bucket.count
        if not is_partly:
            self.is_cut = True
            return 0.0
        count, middle = self._cut(bucket, is_positive)
        self.add(count, middle, is_cut=count != bucket.count)
        return count

    def _cut(self, bucket: Bucket, is_positive: bool) -> tuple[float, float]:
        """computeBucketTrim."""
        if math.isinf(bucket.lower) or math.isinf(bucket.upper):
            return _open_trim(bucket, self._limit, upper=self._upper)
        under = bucket.count * fraction_below(bucket, self._limit, linear=self._is_custom)
        if self._upper:
            return under, _midpoint(bucket.lower, self._limit, is_positive, self._is_custom)
        return bucket.count - under, _midpoint(self._limit, bucket.upper, is_positive, self._is_custom)


def _open_trim(bucket: Bucket, limit: float, *, upper: bool) -> tuple[float, float]:
    """A bucket that is open to one side cannot be interpolated (handleInfinityBuckets)."""
    if bucket.lower == -math.inf:
        return _open_below(bucket, limit, upper=upper)
    if not upper and limit >= bucket.lower:
        return bucket.count, limit
    return 0.0, _finite(bucket.lower)


def _open_below(bucket: Bucket, limit: float, *, upper: bool) -> tuple[float, float]:
    is_bounded = not math.isinf(bucket.upper)
    if upper:
        if limit >= bucket.upper:
            return bucket.count, 0.0
        if limit > 0 and bucket.upper > 0 and is_bounded:
            return bucket.count * limit / bucket.upper, limit / 2
        if bucket.upper <= 0:
            return bucket.count, limit
        return 0.0, _finite(bucket.upper)
    if limit <= bucket.lower:
        return bucket.count, 0.0
    if 0 <= limit < bucket.upper and is_bounded:
        return bucket.count * (1 - limit / bucket.upper), (limit + bucket.upper) / 2
    return 0.0, _finite(bucket.upper)


def _finite(value: float) -> float:
    return 0.0 if math.isinf(value) else value


def _zero_trim(zero: Bucket, limit: float, sides: tuple[bool, bool], *, upper: bool) -> tuple[float, float]:
    """computeZeroBucketTrim: a zero bucket beside one side only reaches from zero on."""
    has_negative, has_positive = sides
    low = 0.0 if has_positive and not has_negative else zero.lower
    high = 0.0 if has_negative and not has_positive else zero.upper
    is_below, is_above = limit <= low, limit >= high
    if is_below:
        return (0.0, 0.0) if upper else (zero.count, (low + high) / 2)
    if is_above:
        return (zero.count, (low + high) / 2) if upper else (0.0, 0.0)
    if upper:
        return zero.count * ((limit - low) / (high - low)), (low + limit) / 2
    return zero.count * ((high - limit) / (high - low)), (limit + high) / 2


def _midpoint(low: float, high: float, is_positive: bool, is_linear: bool) -> float:
    """computeMidpoint."""
    if math.isinf(low):
        if math.isinf(high):
            return 0.0
        return high / 2 if high > 0 else high
    if math.isinf(high):
        return low
    if is_linear:
        return (low + high) / 2
    middle = math.sqrt(abs(low * high))
    return middle if is_positive else -middle
