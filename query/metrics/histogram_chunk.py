"""Prometheus' chunks of float histograms: one layout of buckets, then the counts as what changed in them
(tsdb/chunkenc/float_histogram.go, histogram_meta.go)."""

import math
import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from promql.histogram import Buckets, Hint, Histogram
from query.metrics.bit_writer import BitWriter, ChangingDouble, is_in_bits

_DOUBLE: Final = struct.Struct(">d")
# varbit.go: up to which size a number takes how many bits. What stands before has a one more for each size.
_SIZES: Final = (3, 6, 9, 12, 18, 25, 56)
_HEADERS: Final = {Hint.UNKNOWN: 0, Hint.RESET: 0b1000_0000, Hint.NOT_RESET: 0b0100_0000, Hint.GAUGE: 0b1100_0000}
# histogram_meta.go, putZeroThreshold: powers of two between these exponents take one byte.
_LEAST_EXPONENT, _GREATEST_EXPONENT, _EXPONENT_OFFSET = -242, 11, 243
# putCustomBound: up to here whole thousandths are numbers.
_MOST_THOUSANDTHS: Final = 33_554_430


def is_continued(before: Histogram, histogram: Histogram) -> bool:
    """Whether the histogram may stand in the chunk of the one before it: the same bounds, and no counter reset, since
    readers take what follows the first one of a chunk as not reset (appendable, appendableGauge)."""
    if _bounds(histogram) != _bounds(before) or Hint.RESET is histogram.hint:
        return False
    if Hint.GAUGE in (before.hint, histogram.hint):
        return before.hint is histogram.hint
    is_less = histogram.count < before.count or histogram.zero_count < before.zero_count
    return not is_less and not any(
        count > now.get(index, 0)
        for then, now in ((before.positive, histogram.positive), (before.negative, histogram.negative))
        for index, count in then.items()
    )


def _bounds(histogram: Histogram) -> tuple[int, float, tuple[float, ...]]:
    return histogram.schema, histogram.zero_threshold, histogram.custom


def encode_histograms(times: Sequence[int], histograms: Sequence[Histogram]) -> bytes:
    """Up to 65,535 samples, each of which continues the one before it. Two bytes of how many come first, then one of
    what is known of counter resets."""
    first = histograms[0]
    positive, negative = (
        _indexes(each.positive for each in histograms),
        _indexes(each.negative for each in histograms),
    )
    bits = BitWriter()
    _add_layout(bits, first, positive, negative)
    _add_signed(bits, times[0])
    values = [ChangingDouble(each) for each in _numbers(first, positive, negative)]
    for each in values:
        bits.add(each.bits, 64)
    delta = 0
    for (before, time), histogram in zip(pairwise(times), histograms[1:], strict=True):
        _add_signed(bits, time - before - delta)
        delta = time - before
        for value, now in zip(values, _numbers(histogram, positive, negative), strict=True):
            value.write(bits, now)
    return len(times).to_bytes(2, "big") + bytes([_HEADERS[first.hint]]) + bits.content()


def _indexes(buckets: Iterable[Buckets]) -> list[int]:
    """Every bucket that one of the histograms has."""
    return sorted(set().union(*buckets))


def _numbers(histogram: Histogram, positive: list[int], negative: list[int]) -> list[int]:
    """The bits of what changes from sample to sample."""
    doubles = [histogram.count, histogram.zero_count, histogram.sum]
    doubles += [histogram.positive.get(index, 0.0) for index in positive]
    doubles += [histogram.negative.get(index, 0.0) for index in negative]
    return [_bits_of(each) for each in doubles]


def _bits_of(value: float) -> int:
    return int.from_bytes(_DOUBLE.pack(value), "big")


def _add_layout(bits: BitWriter, first: Histogram, positive: list[int], negative: list[int]) -> None:
    _add_zero_threshold(bits, first.zero_threshold)
    _add_signed(bits, first.schema)
    for indexes in (positive, negative):
        found = spans(indexes)
        _add_unsigned(bits, len(found))
        for offset, length in found:
            _add_unsigned(bits, length)
            _add_signed(bits, offset)
    if first.is_custom:
        _add_unsigned(bits, len(first.custom))
        for bound in first.custom:
            _add_custom_bound(bits, bound)


def spans(indexes: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring buckets: how far from the last one, and how many.

    >>> spans([2, 3, 7])
    [(2, 2), (3, 1)]
    """
    found: list[tuple[int, int]] = []
    after = 0
    for index in sorted(indexes):
        if found and index == after:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((index - after, 1))
        after = index + 1
    return found


def _add_zero_threshold(bits: BitWriter, threshold: float) -> None:
    fraction, exponent = math.frexp(threshold)
    if threshold == 0:
        bits.add(0, 8)
    elif fraction == 0.5 and _LEAST_EXPONENT <= exponent <= _GREATEST_EXPONENT:
        bits.add(exponent + _EXPONENT_OFFSET, 8)
    else:
        bits.add(255, 8)
        bits.add(_bits_of(threshold), 64)


def _add_custom_bound(bits: BitWriter, bound: float) -> None:
    thousandths = bound * 1000
    is_small = 0 <= thousandths <= _MOST_THOUSANDTHS
    if is_small and math.floor(thousandths + 0.5) / 1000 == bound:
        _add_unsigned(bits, math.floor(thousandths + 0.5) + 1)
        return
    bits.add(0, 1)
    bits.add(_bits_of(bound), 64)


def _add_signed(bits: BitWriter, value: int) -> None:
    _add_sized(bits, value, next((size for size in _SIZES if is_in_bits(value, size)), 64))


def _add_unsigned(bits: BitWriter, value: int) -> None:
    _add_sized(bits, value, next((size for size in _SIZES if value < 1 << size), 64))


def _add_sized(bits: BitWriter, value: int, size: int) -> None:
    if value == 0:
        bits.add(0, 1)
        return
    if size == 64:
        bits.add(0b1111_1111, 8)
    else:
        ones = _SIZES.index(size) + 1
        bits.add((1 << ones + 1) - 2, ones + 1)
    bits.add(value, size)
