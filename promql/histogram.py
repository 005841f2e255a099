"""Native histograms as PromQL computes with them: Prometheus' FloatHistogram (model/histogram/float_histogram.go).

Buckets are a mapping from index to count instead of spans: a bucket that is not there is empty, as it is in Prometheus.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from promql.compensated import LARGEST, add
from promql.numbers import format_g

CUSTOM: Final = -53
Buckets = dict[int, float]
Change = Callable[[float], float]


class IncompatibleSchemas(Exception):
    """One histogram has exponential buckets and the other custom ones (ErrHistogramsIncompatibleSchema)."""


class Hint(StrEnum):
    """What the sender says of counter resets (CounterResetHint)."""

    UNKNOWN = "unknown"
    RESET = "reset"
    NOT_RESET = "not_reset"
    GAUGE = "gauge"


class Bucket(NamedTuple):
    lower: float
    upper: float
    lower_inclusive: bool
    upper_inclusive: bool
    count: float  # type: ignore[assignment]


class Outcome(NamedTuple):
    """What adding or subtracting has met: hints that contradict each other, custom bounds that had to be reconciled."""

    collision: bool
    reconciled: bool


@lru_cache(maxsize=65_536)
def bound(index: int, schema: int) -> float:
    """The upper bound of an exponential bucket (generic.go, getBoundExponential).

    >>> bound(2, 0), bound(1, -1)
    (4.0, 4.0)
    """
    if schema < 0:
        exponent = index << -schema
        return LARGEST if exponent == 1024 else math.ldexp(1.0, exponent)
    fraction = index & ((1 << schema) - 1)
    mantissa = 0.5 * 2.0 ** (fraction / (1 << schema))
    exponent = (index >> schema) + 1
    return LARGEST if mantissa == 0.5 and exponent == 1025 else math.ldexp(mantissa, exponent)


@dataclass(eq=False)
class Histogram:
    """Mutable: operations work on a copy that they made themselves. `custom` are the upper bounds of custom buckets."""

    schema: int = 0
    count: float = 0.0
    sum: float = 0.0
    zero_threshold: float = 0.0
    zero_count: float = 0.0
    positive: Buckets = field(default_factory=dict)
    negative: Buckets = field(default_factory=dict)
    custom: tuple[float, ...] = ()
    hint: Hint = Hint.UNKNOWN

    @property
    def is_custom(self) -> bool:
        return self.schema == CUSTOM

    @property
    def size(self) -> int:
        """How many samples it counts for under the limit (promql.HPoint.size): 16 bytes each."""
        buckets = len(self.positive) + len(self.negative) + len(self.custom)
        return (168 + 8 * buckets + 8) // 16

    def copy(self) -> "Histogram":
        return replace(self, positive=dict(self.positive), negative=dict(self.negative))

    def with_hint(self, hint: Hint) -> "Histogram":
        """The same with another hint; the buckets are shared."""
        return self if self.hint is hint else replace(self, hint=hint)

    def scale(self, factor: float) -> "Histogram":
        """Multiply in place (Mul)."""
        return self._scale(lambda value: value * factor, is_negative=factor < 0)

    def divide(self, divisor: float) -> "Histogram":
        """Divide in place (Div)."""
        if divisor == 0:
            self.zero_count, self.count, self.sum = (
                _by_zero(self.zero_count, divisor),
                _by_zero(self.count, divisor),
                _by_zero(self.sum, divisor),
            )
            self.positive, self.negative = {}, {}
            return self
        return self._scale(lambda value: value / divisor, is_negative=divisor < 0)

    def _scale(self, change: Change, *, is_negative: bool) -> "Histogram":
        self.zero_count, self.count, self.sum = change(self.zero_count), change(self.count), change(self.sum)
        self.positive = {index: change(count) for index, count in self.positive.items()}
        self.negative = {index: change(count) for index, count in self.negative.items()}
        if is_negative:
            self.hint = Hint.GAUGE
        return self

    def compact(self) -> "Histogram":
        """Without empty buckets, in place (Compact)."""
        self.positive = {index: count for index, count in self.positive.items() if count != 0}
        self.negative = {index: count for index, count in self.negative.items() if count != 0}
        return self

    def has_overflow(self) -> bool:
        scalars = (self.zero_count, self.count, self.sum)
        return any(map(math.isinf, (*scalars, *self.positive.values(), *self.negative.values())))

    def equals(self, other: "Histogram") -> bool:
        """Whether both hold the same, bit by bit (Equals); hints do not count."""
        scalars = (self.schema, self.custom, self.zero_threshold, *map(_bits, (self.zero_count, self.count, self.sum)))
        theirs = map(_bits, (other.zero_count, other.count, other.sum))
        return (
            scalars == (other.schema, other.custom, other.zero_threshold, *theirs)
            and _filled(self.positive) == _filled(other.positive)
            and _filled(self.negative) == _filled(other.negative)
        )

    def add(self, other: "Histogram", compensation: "Histogram | None" = None) -> Outcome:
        """Add in place (Add); with a compensation that `new_compensation` made, Neumaier's way (KahanAdd).

        Raises IncompatibleSchemas.
        """
        return self._combine(other, 1.0, compensation)

    def subtract(self, other: "Histogram") -> Outcome:
        """Subtract in place (Sub). Raises IncompatibleSchemas."""
        return self._combine(other, -1.0, None)

    def new_compensation(self) -> "Histogram":
        """What a compensated sum that begins with this histogram has lost so far: nothing."""
        return Histogram(self.schema, zero_threshold=self.zero_threshold, custom=self.custom, hint=self.hint)

    def _combine(self, other: "Histogram", sign: float, lost: "Histogram | None") -> Outcome:
        if self.is_custom != other.is_custom:
            raise IncompatibleSchemas
        collision = self._adjust_hint(other.hint)
        if not self.is_custom:
            self._add_scalar("zero_count", sign * self._reconcile_zero(other, lost), lost)
        self._add_scalar("count", sign * other.count, lost)
        self._add_scalar("sum", sign * other.sum, lost)
        if self.is_custom:
            return Outcome(collision, self._combine_custom(other, sign, lost))
        self._combine_exponential(other, sign, lost)
        return Outcome(collision, False)

    def _adjust_hint(self, other: Hint) -> bool:
        """adjustCounterReset: what the sum of both can still say. True where they contradict each other."""
        if other is self.hint or self.hint is Hint.GAUGE:
            return False
        if other is Hint.GAUGE:
            self.hint = Hint.GAUGE
            return False
        collides = Hint.UNKNOWN not in (self.hint, other)
        self.hint = Hint.UNKNOWN
        return collides

    def _add_scalar(self, name: str, term: float, lost: "Histogram | None") -> None:
        if lost is None:
            setattr(self, name, getattr(self, name) + term)
            return
        result, compensation = add(term, getattr(self, name), getattr(lost, name))
        setattr(self, name, result)
        setattr(lost, name, compensation)

    def _combine_exponential(self, other: "Histogram", sign: float, lost: "Histogram | None") -> None:
        schema = min(self.schema, other.schema)
        self.reduce(schema)
        if lost is not None:
            lost.reduce(schema)
            lost.zero_threshold = self.zero_threshold
        for mine, theirs, compensation in (
            (self.positive, other.positive, None if lost is None else lost.positive),
            (self.negative, other.negative, None if lost is None else lost.negative),
        ):
            reduced = _reduced(theirs, other.schema, schema)
            # Buckets below the zero threshold are in the zero bucket already.
            above = {i: c for i, c in reduced.items() if bound(i, schema) > self.zero_threshold}
            _add_buckets(mine, above, sign, compensation)

    def _combine_custom(self, other: "Histogram", sign: float, lost: "Histogram | None") -> bool:
        if self.custom == other.custom:
            _add_buckets(self.positive, other.positive, sign, None if lost is None else lost.positive)
            return False
        common = _common_bounds(self.custom, other.custom)
        theirs = _rebucketed(other.positive, other.custom, common)
        self.positive = _rebucketed(self.positive, self.custom, common)
        self.custom = common
        if lost is not None:
            lost.positive, lost.custom = _rebucketed(lost.positive, lost.custom, common), common
        _add_buckets(self.positive, theirs, sign, None if lost is None else lost.positive)
        self.compact()
        return True

    def reduce(self, schema: int) -> "Histogram":
        """To a coarser schema, in place (ReduceResolution)."""
        if schema != self.schema:
            self.positive = _reduced(self.positive, self.schema, schema)
            self.negative = _reduced(self.negative, self.schema, schema)
            self.schema = schema
        return self

    def _reconcile_zero(self, other: "Histogram", lost: "Histogram | None") -> float:
        """The other's zero count for the wider of both zero buckets, which is this one's afterwards."""
        count, threshold = other.zero_count, other.zero_threshold
        while threshold != self.zero_threshold:
            if self.zero_threshold > threshold:
                count, threshold = other.zero_count_up_to(self.zero_threshold)
            if threshold > self.zero_threshold:
                self.zero_count, self.zero_threshold = self.zero_count_up_to(threshold)
                self._trim_zero(lost)
        return count

    def _trim_zero(self, lost: "Histogram | None") -> None:
        for histogram in (self, lost):
            if histogram is not None:
                histogram.positive = self._outside_zero(histogram.positive)
                histogram.negative = self._outside_zero(histogram.negative)

    def _outside_zero(self, buckets: Buckets) -> Buckets:
        return {i: c for i, c in buckets.items() if bound(i - 1, self.schema) >= self.zero_threshold and c != 0}

    def zero_count_up_to(self, threshold: float) -> tuple[float, float]:
        """The zero bucket's count if it were at least so wide, and how wide it is then (zeroCountForLargerThreshold):
        buckets are taken in whole, so it may have to be wider."""
        if threshold == self.zero_threshold:
            return self.zero_count, threshold
        while True:
            count, compensation, wider = self.zero_count, 0.0, threshold
            for buckets in (self.positive, self.negative):
                for index in sorted(buckets):
                    if bound(index - 1, self.schema) >= wider:
                        break
                    count, compensation = add(buckets[index], count, compensation)
                    if bound(index, self.schema) > wider and buckets[index] != 0:
                        wider = bound(index, self.schema)
            if wider == threshold:
                return count + 0.0, threshold
            threshold = wider

    def resets_after(self, previous: "Histogram") -> bool:
        """Whether the counter began anew between both (DetectReset)."""
        if self.hint is Hint.RESET:
            return True
        if self.hint is Hint.NOT_RESET:
            return False
        if self.count < previous.count:
            return True
        if self.is_custom:
            if not previous.is_custom:
                return True
            return self._custom_resets_after(previous)
        if self.schema > previous.schema or self.zero_threshold < previous.zero_threshold:
            return True
        if previous.is_custom:
            return True
        zero_count, threshold = previous.zero_count_up_to(self.zero_threshold)
        if threshold != self.zero_threshold or self.zero_count < zero_count:
            return True
        return self._has_fewer(self.positive, previous.positive, previous.schema) or self._has_fewer(
            self.negative, previous.negative, previous.schema
        )

    def _has_fewer(self, mine: Buckets, before: Buckets, schema: int) -> bool:
        reduced = _reduced(before, schema, self.schema)
        return any(
            count > mine.get(index, 0.0)
            for index, count in reduced.items()
            if bound(index, self.schema) > self.zero_threshold
        )

    def _custom_resets_after(self, previous: "Histogram") -> bool:
        common = _common_bounds(self.custom, previous.custom) if self.custom != previous.custom else self.custom
        mine = _rebucketed(self.positive, self.custom, common)
        return any(
            count > mine.get(index, 0.0)
            for index, count in _rebucketed(previous.positive, previous.custom, common).items()
        )

    def zero_bucket(self) -> Bucket:
        return Bucket(-self.zero_threshold, self.zero_threshold, True, True, self.zero_count)

    def positive_buckets(self) -> Iterator[Bucket]:
        for index in sorted(self.positive):
            yield self._bucket(index, self.positive[index])

    def negative_buckets(self) -> Iterator[Bucket]:
        """From zero on, away from it."""
        for index in sorted(self.negative):
            lower, upper = -bound(index, self.schema), -bound(index - 1, self.schema)
            yield Bucket(lower, upper, lower < 0, upper > 0, self.negative[index])

    def _bucket(self, index: int, count: float) -> Bucket:
        if self.is_custom:
            lower = self.custom[index - 1] if index > 0 else -math.inf
            upper = self.custom[index] if index < len(self.custom) else math.inf
            return Bucket(lower, upper, index == 0, True, count)
        lower, upper = bound(index - 1, self.schema), bound(index, self.schema)
        return Bucket(lower, upper, lower < 0, upper > 0, count)

    def buckets(self) -> list[Bucket]:
        """All buckets in ascending order, cut at the zero bucket (AllBucketIterator)."""
        found = [self._cut(each) for each in reversed(list(self.negative_buckets()))]
        if self.zero_count > 0:
            found.append(self.zero_bucket())
        return found + [self._cut(each) for each in self.positive_buckets()]

    def _cut(self, bucket: Bucket) -> Bucket:
        if -self.zero_threshold < bucket.upper < 0:
            return bucket._replace(upper=-self.zero_threshold)
        if 0 < bucket.lower < self.zero_threshold:
            return bucket._replace(lower=self.zero_threshold)
        return bucket

    def __str__(self) -> str:
        """As `count_values` writes it (FloatHistogram.String)."""
        parts = [f"count:{format_g(self.count)}", f"sum:{format_g(self.sum)}"]
        parts += [_bucket_text(each) for each in reversed(list(self.negative_buckets())) if each.count != 0]
        if self.zero_count != 0:
            parts.append(_bucket_text(self.zero_bucket()))
        parts += [_bucket_text(each) for each in self.positive_buckets() if each.count != 0]
        return "{" + ", ".join(parts) + "}"


def _by_zero(value: float, zero: float) -> float:
    if value == 0 or math.isnan(value):
        return math.nan
    return math.copysign(math.inf, value) * math.copysign(1.0, zero)


def _bits(value: float) -> str:
    return value.hex()


def _filled(buckets: Mapping[int, float]) -> Buckets:
    return {index: count for index, count in buckets.items() if count != 0}


def _reduced(buckets: Buckets, schema: int, target: int) -> Buckets:
    """The counts by the indices of a coarser schema (targetIdx)."""
    if schema == target:
        return buckets
    reduced: Buckets = {}
    for index in sorted(buckets):
        coarse = ((index - 1) >> (schema - target)) + 1
        reduced[coarse] = reduced.get(coarse, 0.0) + buckets[index]
    return reduced


def _add_buckets(mine: Buckets, theirs: Buckets, sign: float, lost: Buckets | None) -> None:
    for index, count in theirs.items():
        if lost is None:
            mine[index] = mine.get(index, 0.0) + sign * count
        else:
            mine[index], lost[index] = add(sign * count, mine.get(index, 0.0), lost.get(index, 0.0))


def _common_bounds(left: tuple[float, ...], right: tuple[float, ...]) -> tuple[float, ...]:
    known = set(right)
    return tuple(each for each in left if each in known)


def _rebucketed(buckets: Buckets, bounds: tuple[float, ...], common: tuple[float, ...]) -> Buckets:
    """The counts by the next of the common bounds; what lies beyond the last goes to the bucket up to +Inf."""
    if bounds == common:
        return dict(buckets)
    result: Buckets = {}
    for index in sorted(buckets):
        upper = bounds[index] if index < len(bounds) else math.inf
        target = next((i for i, each in enumerate(common) if each >= upper), len(common))
        result[target] = result.get(target, 0.0) + buckets[index]
    return result


def _bucket_text(bucket: Bucket) -> str:
    opening, closing = "[" if bucket.lower_inclusive else "(", "]" if bucket.upper_inclusive else ")"
    bounds = f"{format_g(bucket.lower)},{format_g(bucket.upper)}"
    return f"{opening}{bounds}{closing}:{format_g(bucket.count)}"
