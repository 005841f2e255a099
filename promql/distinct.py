"""Series of the same labels become one, unless two of them have a value at one step (promql/engine.go)."""

import numpy as np

from promql.fault import failed
from promql.labels import Labels
from promql.series import Matrix

_SAME = "vector cannot contain metrics with the same labelset"


def distinct(matrix: Matrix) -> Matrix:
    """Merged by label sets (rangeEval, mergeSeriesWithSameLabelset). Raises PromQLFailed."""
    if len(set(matrix.labels)) == len(matrix.labels):
        return matrix
    groups: dict[Labels, list[int]] = {}
    for row, labels in enumerate(matrix.labels):
        groups.setdefault(labels, []).append(row)
    merged = matrix.rows([rows[0] for rows in groups.values()])
    for place, rows in enumerate(groups.values()):
        for row in rows[1:]:
            _merge(merged, place, matrix, row)
    return Matrix(merged.labels, merged.values, merged.present, merged.histograms)


def _merge(merged: Matrix, place: int, matrix: Matrix, row: int) -> None:
    there = matrix.present[row]
    if (merged.present[place] & there).any():
        raise failed(_SAME)
    merged.values[place] = np.where(there, matrix.values[row], merged.values[place])
    merged.present[place] |= there
    if merged.histograms is not None and matrix.histograms is not None:
        merged.histograms[place] = np.where(there, matrix.histograms[row], merged.histograms[place])


def refuse_same_labels(matrix: Matrix) -> Matrix:
    """For functions of ranges, whose series must differ whatever their steps (Matrix.ContainsSameLabelset)."""
    if len(set(matrix.labels)) < len(matrix.labels):
        raise failed(_SAME)
    return matrix
