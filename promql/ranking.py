"""topk, bottomk, limitk and limit_ratio: aggregations that keep series as they are (promql/engine.go, aggregationK)."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from promql.aggregate import Groups
from promql.annotations import Annotations
from promql.arrays import Bools, Floats, Ints
from promql.fault import failed
from promql.labels import Labels
from promql.numbers import format_g
from promql.sampling import offset_of
from promql.series import Matrix, nothing

_MOST: Final = 2.0**63


def ranked(
    operation: str, matrix: Matrix, groups: Groups, parameter: Floats, notes: Annotations, at: tuple[int, int]
) -> Matrix:
    """The series that are kept, and when. `at`: where the aggregation and its parameter stand in the text.

    An instant vector comes in the order of the ranks.
    """
    if operation == "limit_ratio":
        return _by_ratio(matrix, parameter, notes, at[1])
    if parameter.max(initial=0.0) < 1 and not np.isnan(parameter).any():
        return nothing(matrix.steps)
    _check(parameter)
    if operation == "limitk":
        return _limited(matrix, groups, parameter)
    if matrix.native is not None and matrix.native.any():
        notes.ignored_in_aggregation(operation, at[0])
    return _by_value(matrix, groups, parameter, is_top=operation == "topk")


def _check(parameter: Floats) -> None:
    if np.isnan(parameter).any():
        raise failed("Parameter value is NaN")
    if parameter.min() <= -_MOST:
        raise failed(f"Scalar value {format_g(float(parameter.min()))} underflows int64")
    if parameter.max() >= _MOST:
        raise failed(f"Scalar value {format_g(float(parameter.max()))} overflows int64")


def _limited(matrix: Matrix, groups: Groups, parameter: Floats) -> Matrix:
    """The first k series of each group."""
    kept = np.zeros(matrix.present.shape, dtype=np.bool_)
    for rows in _rows(groups):
        rank = np.cumsum(matrix.present[rows], axis=0)
        kept[rows] = matrix.present[rows] & (rank <= np.trunc(parameter))
    return Matrix(matrix.labels, matrix.values, kept, matrix.histograms).without_empty()


def _rows(groups: Groups) -> list[Ints]:
    return [groups.order[groups.starts[each] : groups.starts[each + 1]] for each in range(groups.count)]


def _by_value(matrix: Matrix, groups: Groups, parameter: Floats, *, is_top: bool) -> Matrix:
    kept = np.zeros(matrix.present.shape, dtype=np.bool_)
    order: list[int] = []
    steps: Iterable[int]
    sign = 1.0 if is_top else -1.0
    for rows in _rows(groups):
        steps = range(matrix.steps)
        if matrix.steps > 1:
            kept[rows], is_settled = _clearly_best(matrix.floats[rows], sign * matrix.values[rows], parameter)
            steps = np.flatnonzero(~is_settled).tolist()
        for step in steps:
            k = min(int(parameter[step]), len(matrix.labels))
            there = rows[matrix.floats[rows, step]]
            best = _best(there, sign * matrix.values[there, step], k) if k >= 1 else []
            kept[best, step] = True
            order += best if matrix.steps == 1 else ()
    numbers = Matrix(matrix.labels, matrix.values, kept)
    return numbers.rows(order) if matrix.steps == 1 else numbers.without_empty()


def _clearly_best(there: Bools, values: Floats, parameter: Floats) -> tuple[Bools, Bools]:
    """Of series x steps those with the k greatest values, and at which steps no tie and no NaN leaves them open."""
    k = np.clip(np.trunc(parameter), 0, len(values)).astype(np.int64)
    keys = np.where(there & ~np.isnan(values), values, -np.inf)
    border = np.take_along_axis(np.sort(keys, axis=0)[::-1], np.maximum(k - 1, 0)[None, :], axis=0)
    is_best = there & (keys >= border) & (k > 0)
    takes_all = there.sum(axis=0) <= k
    is_settled = takes_all | (k == 0) | (~np.isneginf(border[0]) & (np.count_nonzero(is_best, axis=0) == k))
    return np.where(takes_all, there, is_best & is_settled), is_settled


def _best(rows: Ints, values: Floats, k: int) -> list[int]:
    """The rows of the k greatest values, greatest first; NaN is less than all others.

    Which of equal values stay follows from Prometheus' heap, so where it matters the heap is what decides.
    """
    keys = np.where(np.isnan(values), -np.inf, values)
    if len(rows) > k and _is_clear(keys, k):
        chosen = np.argpartition(-keys, k - 1)[:k]
        rows, keys, values = rows[chosen], keys[chosen], values[chosen]
    if len(rows) > k or len(np.unique(keys)) < len(keys):
        chosen = np.array(_heaped(values.tolist(), k), dtype=np.int64)
        rows, keys, values = rows[chosen], keys[chosen], values[chosen]
    rank = np.lexsort((np.isnan(values), -keys))
    return [int(row) for row in rows[rank]]


def _is_clear(keys: Floats, k: int) -> bool:
    """Whether the k greatest values are no question of ties, nor their order."""
    greatest = np.partition(keys, len(keys) - k)[len(keys) - k :]
    border = greatest.min()
    return bool(np.count_nonzero(keys >= border) == k and not np.isneginf(border) and len(np.unique(greatest)) == k)


class _Heap:
    """Go's container/heap over values, the least on top, NaN below all (vectorByValueHeap)."""

    def __init__(self) -> None:
        self.items: list[tuple[float, int]] = []

    def _less(self, i: int, j: int) -> bool:
        left, right = self.items[i][0], self.items[j][0]
        return math.isnan(left) or left < right

    def push(self, item: tuple[float, int]) -> None:
        self.items.append(item)
        at = len(self.items) - 1
        while at > 0:
            parent = (at - 1) // 2
            if parent == at or not self._less(at, parent):
                break
            self.items[at], self.items[parent] = self.items[parent], self.items[at]
            at = parent

    def replace(self, item: tuple[float, int]) -> None:
        self.items[0] = item
        at, size = 0, len(self.items)
        while (child := 2 * at + 1) < size:
            if child + 1 < size and self._less(child + 1, child):
                child += 1
            if not self._less(child, at):
                break
            self.items[at], self.items[child] = self.items[child], self.items[at]
            at = child


def _heaped(values: Sequence[float], k: int) -> list[int]:
    heap = _Heap()
    for index, value in enumerate(values):
        if len(heap.items) < k:
            heap.push((value, index))
        elif heap.items[0][0] < value or (math.isnan(heap.items[0][0]) and not math.isnan(value)):
            heap.replace((value, index))
    return [index for _, index in heap.items]


def _by_ratio(matrix: Matrix, parameter: Floats, notes: Annotations, at: int) -> Matrix:
    """About this share of the series, the same ones each time; a negative share is the rest of the others."""
    if not parameter.any() and not np.isnan(parameter).any():
        return nothing(matrix.steps)
    if np.isnan(parameter).any():
        raise failed("Ratio value is NaN")
    for beyond, cap in ((parameter.max(), 1.0), (parameter.min(), -1.0)):
        if abs(beyond) > 1.0 and (beyond > 0) == (cap > 0):
            text = f"ratio value should be between -1 and 1, got {format_g(float(beyond))}, capping to {format_g(cap)}"
            notes.warn(text, at)
    ratio = np.clip(parameter, -1.0, 1.0)
    kept = matrix.present & _sampled(matrix.labels, ratio)
    return Matrix(matrix.labels, matrix.values, kept, matrix.histograms).without_empty()


def _sampled(labels: Sequence[Labels], ratio: Floats) -> Bools:
    offsets = np.array([offset_of(each) for each in labels]).reshape(-1, 1)
    return np.asarray(np.where(ratio >= 0, offsets < ratio, offsets >= 1.0 + ratio) & (ratio != 0), dtype=np.bool_)
