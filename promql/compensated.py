"""Sums with Neumaier's compensation, term after term as Prometheus adds (util/kahansum): the last bits depend on it."""

import math
import sys
from collections.abc import Iterable

import numpy as np

from promql.arrays import Floats, Ints

LARGEST = sys.float_info.max


def add(term: float, total: float, compensation: float) -> tuple[float, float]:
    """The new sum and its compensation.

    >>> add(1.0, 1e100, 0.0)
    (1e+100, 1.0)
    """
    result = total + term
    if math.isinf(result):
        return result, 0.0
    if abs(total) >= abs(term):
        return result, compensation + ((total - result) + term)
    return result, compensation + ((term - result) + total)


def total(terms: Iterable[float]) -> float:
    """The compensated sum; infinite sums are left as they are.

    >>> total([1e100, 1.0, -1e100])
    1.0
    """
    result = compensation = 0.0
    for term in terms:
        result, compensation = add(term, result, compensation)
    return result if math.isinf(result) else result + compensation


def add_arrays(terms: Floats, totals: Floats, compensations: Floats) -> tuple[Floats, Floats]:
    """`add` for each place of the arrays. Inf and NaN are values, so numpy's warnings about them are off."""
    with np.errstate(all="ignore"):
        results = totals + terms
        is_larger = np.abs(totals) >= np.abs(terms)
        larger = np.where(is_larger, totals, terms)
        smaller = np.where(is_larger, terms, totals)
        lost = compensations + ((larger - results) + smaller)
        return results, np.where(np.isinf(results), 0.0, lost)


def paired_sums(terms: Floats, sizes: Ints) -> tuple[Floats, Floats]:
    """Sums of groups of neighbouring rows (the first `sizes[0]` and so on) in pairs, pairs of pairs and so on, and what
    they have lost: what each addition loses is exact (Knuth's two-sum), so the sum is as good as that term by term.

    The terms are finite, and so is every sum; each group has a term.

    >>> paired_sums(np.array([[1e100], [1.0], [-1e100], [5.0]]), np.array([3, 1]))[1].ravel().tolist()
    [1.0, 0.0]
    """
    lost = np.zeros_like(terms)
    while sizes.max(initial=0) > 1:
        position = np.arange(len(terms)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        is_left = position % 2 == 0
        has_right = (is_left & (position + 1 < np.repeat(sizes, sizes)))[is_left]
        left = np.flatnonzero(is_left)
        right = left[has_right] + 1
        totals, errors = terms[left], lost[left]
        first, second = totals[has_right], terms[right]
        added = first + second
        part = added - first
        errors[has_right] += lost[right] + ((first - (added - part)) + (second - part))
        totals[has_right] = added
        terms, lost, sizes = totals, errors, (sizes + 1) // 2
    return terms, lost
