"""Operations between two vectors: which series belong together, and what becomes of them (promql/engine.go)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from promql.arrays import Bools, Ints
from promql.distinct import distinct
from promql.fault import failed
from promql.labels import METADATA, METRIC_NAME, Labels, labels_of, only, text_of, value_of, without
from promql.series import Matrix, stacked
from promql.tree import Matching

# Operations after which the value is no longer the metric (changesMetricSchema).
CHANGING = frozenset({"+", "-", "*", "/", "%", "^", "atan2"})


@dataclass(frozen=True)
class Pairs:
    """Rows that belong together: `many` of the side that labels are taken from, `one` of the other. `codes` number the
    match groups."""

    many: Ints
    one: Ints
    codes: Ints


def signature(labels: Labels, matching: Matching) -> Labels:
    """The labels by which series match."""
    if matching.on:
        return only(labels, matching.labels)
    return without(labels, (METRIC_NAME, *matching.labels))


def _codes(left: Matrix, right: Matrix, matching: Matching) -> tuple[Ints, Ints, int]:
    known: dict[Labels, int] = {}
    codes = [
        np.array([known.setdefault(signature(each, matching), len(known)) for each in side.labels], dtype=np.int64)
        for side in (left, right)
    ]
    return codes[0], codes[1], len(known)


def _presence(matrix: Matrix, codes: Ints, groups: int) -> Bools:
    """For each match group and step whether any series of it has a value."""
    found = np.zeros((groups, matrix.steps), dtype=np.bool_)
    np.logical_or.at(found, codes, matrix.present)
    return found


def set_operation(operation: str, left: Matrix, right: Matrix, matching: Matching) -> Matrix:
    """and, or, unless: VectorAnd, VectorOr, VectorUnless."""
    left_codes, right_codes, groups = _codes(left, right, matching)
    if operation == "or":
        shadowed = _presence(left, left_codes, groups)[right_codes]
        rest = Matrix(right.labels, right.values, right.present & ~shadowed, right.histograms)
        return distinct(stacked(left, rest.without_empty()))
    beside = _presence(right, right_codes, groups)[left_codes]
    present = left.present & (beside if operation == "and" else ~beside)
    return Matrix(left.labels, left.values, present, left.histograms).without_empty()


def pair(left: Matrix, right: Matrix, matching: Matching) -> Pairs:
    """The rows of both sides that match. Raises PromQLFailed where one side has several for a group at one step."""
    is_swapped = matching.card == "one-to-many"
    many, one = (right, left) if is_swapped else (left, right)
    many_codes, one_codes, _ = _codes(many, one, matching)
    _refuse_duplicates(one, one_codes, np.asarray(many.present.any(axis=0)), matching)
    by_code: dict[int, list[int]] = {}
    for row, code in enumerate(one_codes.tolist()):
        by_code.setdefault(code, []).append(row)
    found = [(row, other, code) for row, code in enumerate(many_codes.tolist()) for other in by_code.get(code, ())]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Pairs(columns[0], columns[1], columns[2])


def _refuse_duplicates(one: Matrix, codes: Ints, asked: Bools, matching: Matching) -> None:
    """Steps without any series on the other side match nothing, so nothing is ambiguous there."""
    repeated = np.flatnonzero(np.bincount(codes) > 1)
    for code in repeated:
        rows = np.flatnonzero(codes == code)
        clashes = np.flatnonzero((one.present[rows].sum(axis=0) > 1) & asked)
        if len(clashes):
            there = [one.labels[row] for row in rows if one.present[row, clashes[0]]]
            raise _duplicates(there[1], there[0], matching)


def _duplicates(later: Labels, earlier: Labels, matching: Matching) -> Exception:
    side = "left" if matching.card == "one-to-many" else "right"
    group = only(later, matching.labels) if matching.on else without(later, (METRIC_NAME, *matching.labels))
    first, second = sorted((text_of(later), text_of(earlier)))
    return failed(
        f"found duplicate series for the match group {text_of(group)} on the {side} hand-side of the operation: "
        f"[{first}, {second}];many-to-many matching not allowed: matching labels must be unique on one side"
    )


def result_labels(many: Labels, one: Labels, operation: str, matching: Matching, *, return_bool: bool) -> Labels:
    """resultMetric."""
    labels = dict(many)
    if return_bool or operation in CHANGING:
        labels = {name: value for name, value in labels.items() if name not in METADATA}
    if matching.card == "one-to-one":
        kept = set(matching.labels)
        labels = {name: value for name, value in labels.items() if (name in kept) == matching.on}
    for name in matching.include:
        labels[name] = value_of(one, name)
    return labels_of(labels)


def combined(pairs: Pairs, matched: Bools, result: Matrix, matching: Matching) -> Matrix:
    """The result of all pairs. `matched`: where both sides have a value, whatever comes of it. Raises PromQLFailed."""
    if matching.card == "one-to-one":
        _refuse_overlap(pairs.codes.tolist(), matched, "many-to-one matching must be explicit (group_left/group_right)")
    else:
        keys = zip(pairs.codes.tolist(), result.labels, strict=True)
        _refuse_overlap(keys, matched, "grouping labels must ensure unique matches")
    return distinct(result)


def _refuse_overlap(keys: Iterable[object], matched: Bools, message: str) -> None:
    rows: dict[object, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    for several in rows.values():
        if len(several) > 1 and (matched[several].sum(axis=0) > 1).any():
            raise failed(f"multiple matches for labels: {message}")
