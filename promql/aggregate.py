"""Aggregations over series: sum, avg, min, ... (promql/engine.go, aggregation)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from promql.annotations import Annotations
from promql.arrays import Bools, Floats, Ints
from promql.compensated import add, add_arrays, paired_sums
from promql.functions.over_time import quantiles
from promql.histogram import Histogram, IncompatibleSchemas
from promql.labels import EMPTY, METRIC_NAME, Labels, labels_of, metric_name, only, without
from promql.native_sums import NativeMean, NativeSum, NativeTotal
from promql.numbers import format_plain
from promql.series import Matrix, no_objects

_NATIVE: Final[dict[str, type[NativeTotal]]] = {"sum": NativeSum, "avg": NativeMean}
# These leave histograms out and say so.
_OF_NUMBERS: Final = frozenset({"min", "max", "stddev", "stdvar", "quantile"})


# Sums of more terms than these are made in pairs, if all are numbers that cannot overflow: a step of its own for each
# series took most of the time of `sum` over 2,000 series.
_MANY: Final = 16
_LARGE: Final = 1e290


@dataclass(frozen=True)
class Groups:
    """Rows by group: those of group i are `order[starts[i]:starts[i + 1]]`, in the order of the vector."""

    labels: list[Labels]
    codes: Ints
    order: Ints
    starts: Ints

    @property
    def count(self) -> int:
        return len(self.labels)

    def members(self) -> Iterator[tuple[Ints, Ints]]:
        """First the first row of every group, then the second of those that have one: groups and rows."""
        sizes = np.diff(self.starts)
        for position in range(int(sizes.max(initial=0))):
            groups = np.flatnonzero(sizes > position)
            yield groups, self.order[self.starts[groups] + position]


def group(labels: Sequence[Labels], grouping: Sequence[str], *, is_without: bool) -> Groups:
    """The rows by the labels that the aggregation keeps."""
    known: dict[Labels, int] = {}
    if not grouping and not is_without:
        codes = np.zeros(len(labels), dtype=np.int64)
        if labels:
            known[EMPTY] = 0
    else:
        keys = (_kept(each, grouping, is_without=is_without) for each in labels)
        codes = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(known) + 1))
    return Groups(list(known), codes, order, starts)


def _kept(labels: Labels, grouping: Sequence[str], *, is_without: bool) -> Labels:
    return without(labels, (METRIC_NAME, *grouping)) if is_without else only(labels, grouping)


def aggregated(
    operation: str, matrix: Matrix, groups: Groups, parameter: Floats | None, notes: Annotations, at: int
) -> Matrix:
    """One series for each group. `at`: where the aggregated expression stands in the text."""
    if not groups.count:
        return Matrix([], np.empty((0, matrix.steps)), np.empty((0, matrix.steps), dtype=np.bool_))
    if operation in _OF_NUMBERS and matrix.native is not None and matrix.native.any():
        notes.ignored_in_aggregation(operation, at)
    present = _any(matrix.present if operation in ("count", "group", "sum", "avg") else matrix.floats, groups)
    with np.errstate(all="ignore"):
        values = _COMPUTE[operation](matrix, groups, parameter)
    result = Matrix(groups.labels, values, present)
    if operation in _NATIVE and matrix.native is not None and matrix.native.any():
        result = _with_native(_NATIVE[operation], matrix, groups, result, notes, at)
    return result.without_empty()


def _any(present: Bools, groups: Groups) -> Bools:
    return np.asarray(np.logical_or.reduceat(present[groups.order], groups.starts[:-1], axis=0), dtype=np.bool_)


def _counts(present: Bools, groups: Groups) -> Floats:
    counted = np.add.reduceat(present[groups.order].astype(np.int64), groups.starts[:-1], axis=0)
    return np.asarray(counted, dtype=np.float64)


def _sums(matrix: Matrix, groups: Groups) -> tuple[Floats, Floats]:
    """Compensated sums, and what they have lost."""
    sizes = np.diff(groups.starts)
    if sizes.max(initial=0) > _MANY:
        terms = np.where(matrix.floats, matrix.values, 0.0)[groups.order]
        if np.abs(terms).max(initial=0.0) < _LARGE:
            return paired_sums(terms, sizes)
    return _sums_in_order(matrix, groups)


def _sums_in_order(matrix: Matrix, groups: Groups) -> tuple[Floats, Floats]:
    """Compensated sums in the order of the vector, which decides about infinities and overflow."""
    shape = groups.count, matrix.steps
    total, lost = np.zeros(shape), np.zeros(shape)
    started = np.zeros(shape, dtype=np.bool_)
    terms = matrix.values if matrix.floats.all() else np.where(matrix.floats, matrix.values, 0.0)
    for chosen, rows in groups.members():
        there = matrix.floats[rows]
        added, compensation = add_arrays(terms[rows], total[chosen], lost[chosen])
        # The first value is taken as it is, so that -0 stays.
        is_first = there & ~started[chosen]
        total[chosen] = np.where(is_first, terms[rows], np.where(there, added, total[chosen]))
        lost[chosen] = np.where(there & ~is_first, compensation, lost[chosen])
        started[chosen] |= there
    return total, lost


def _sum(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    total, lost = _sums(matrix, groups)
    return np.asarray(total + lost)


def _mean(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    total, lost = _sums(matrix, groups)
    count = _counts(matrix.floats, groups)
    result = total / count + lost / count
    for place in zip(*np.nonzero(~np.isfinite(total) & (count > 0)), strict=True):
        rows = groups.order[groups.starts[place[0]] : groups.starts[place[0] + 1]]
        there = matrix.floats[rows, place[1]]
        result[place] = _incremental(matrix.values[rows, place[1]][there])
    return np.asarray(result)


def _incremental(values: Floats) -> float:
    """The mean of what overflows as a sum: plain until it would, from then on term by term."""
    total, lost, mean, is_incremental = float(values[0]), 0.0, 0.0, False
    for count, value in enumerate(values[1:].tolist(), 2):
        if not is_incremental:
            added, compensation = add(value, total, lost)
            if not math.isinf(added):
                total, lost = added, compensation
                continue
            is_incremental, mean, lost = True, total / (count - 1), lost / (count - 1)
        share = (count - 1) / count
        mean, lost = add(value / count, share * mean, share * lost)
    return float(mean + lost if is_incremental else total / len(values) + lost / len(values))


def _count(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    return _counts(matrix.present, groups)


def _group(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    return np.ones((groups.count, matrix.steps))


def _extreme(pick: np.ufunc) -> "Compute":
    """NaN only where there is nothing else."""

    def compute(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
        values = np.where(matrix.floats, matrix.values, np.nan)[groups.order]
        return np.asarray(pick.reduceat(values, groups.starts[:-1], axis=0))

    return compute


def _variance(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    """Welford's, without compensation."""
    shape = groups.count, matrix.steps
    count, mean, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for chosen, rows in groups.members():
        there, value = matrix.floats[rows], matrix.values[rows]
        is_first = there & (count[chosen] == 0)
        count[chosen] += there
        delta = value - mean[chosen]
        new_mean = np.where(is_first, value, mean[chosen] + delta / count[chosen])
        new_square = np.where(
            is_first, np.where(np.isfinite(value), 0.0, np.nan), square[chosen] + delta * (value - new_mean)
        )
        mean[chosen] = np.where(there, new_mean, mean[chosen])
        square[chosen] = np.where(there, new_square, square[chosen])
    return np.asarray(square / count)


def _deviation(matrix: Matrix, groups: Groups, _: Floats | None) -> Floats:
    return np.sqrt(_variance(matrix, groups, None))


def _quantile(matrix: Matrix, groups: Groups, parameter: Floats | None) -> Floats:
    wanted = np.full(matrix.steps, np.nan) if parameter is None else parameter
    result = np.full((groups.count, matrix.steps), np.nan)
    for each in range(groups.count):
        rows = groups.order[groups.starts[each] : groups.starts[each + 1]]
        there = matrix.floats[rows].T
        # Those that are there in front, so that the others can be told by how many there are.
        front = np.argsort(~there, axis=1, kind="stable")
        values = np.take_along_axis(matrix.values[rows].T, front, axis=1)
        counts = there.sum(axis=1)
        chosen = counts > 0
        values = np.where(np.arange(len(rows)) < counts[:, None], values, np.nan)
        result[each, chosen] = quantiles(values[chosen], counts[chosen], wanted[chosen])
    return result


Compute = Callable[[Matrix, Groups, Floats | None], Floats]
_COMPUTE: Final[dict[str, Compute]] = {
    "sum": _sum,
    "avg": _mean,
    "count": _count,
    "group": _group,
    "min": _extreme(np.fmin),
    "max": _extreme(np.fmax),
    "stddev": _deviation,
    "stdvar": _variance,
    "quantile": _quantile,
}


def _with_native(
    kind: type[NativeTotal], matrix: Matrix, groups: Groups, result: Matrix, notes: Annotations, at: int
) -> Matrix:
    """sum and avg where a group has histograms: of both kinds there is no result."""
    has_native = _any(matrix.native if matrix.native is not None else matrix.present, groups)
    mixed = has_native & _any(matrix.floats, groups)
    if mixed.any():
        notes.mixed_in_aggregation(at)
    result.present &= ~mixed
    histograms = no_objects((groups.count, matrix.steps))
    for place in zip(*np.nonzero(has_native & ~mixed), strict=True):
        rows = groups.order[groups.starts[place[0]] : groups.starts[place[0] + 1]]
        total = _total(kind, matrix, rows, int(place[1]), notes, at)
        histograms[place] = total
        result.present[place] = total is not None
    return Matrix(result.labels, result.values, result.present, histograms)


def _total(
    kind: type[NativeTotal], matrix: Matrix, rows: Ints, step: int, notes: Annotations, at: int
) -> Histogram | None:
    found = [(int(row), matrix.histogram(int(row), step)) for row in rows if matrix.present[row, step]]
    histograms = [(row, each) for row, each in found if isinstance(each, Histogram)]
    total, metric = kind(histograms[0][1]), ""
    try:
        for row, each in histograms[1:]:
            metric = metric_name(matrix.labels[row])
            total.add(each)
    except IncompatibleSchemas:
        notes.mixed_schemas(metric, at)
        return None
    total.note(notes, at)
    return total.result()


def counted_values(matrix: Matrix, label: str, grouping: Sequence[str], *, is_without: bool) -> Matrix:
    """count_values: how many series have each value, which becomes a label."""
    names = tuple(grouping) if is_without else (*grouping, label)
    counts: dict[Labels, Floats] = {}
    for row, step in zip(*np.nonzero(matrix.present), strict=True):
        native = matrix.histogram(int(row), int(step))
        text = format_plain(float(matrix.values[row, step])) if native is None else str(native)
        key = _kept(labels_of({**dict(matrix.labels[row]), label: text}), names, is_without=is_without)
        counts.setdefault(key, np.zeros(matrix.steps))[step] += 1
    if not counts:
        return Matrix([], np.empty((0, matrix.steps)), np.empty((0, matrix.steps), dtype=np.bool_))
    values = np.array(list(counts.values()))
    return Matrix(list(counts), values, values > 0)
