"""Arithmetic and comparison of numbers and histograms (promql/engine.go: scalarBinop, vectorElemBinop)."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from promql.annotations import Annotations
from promql.arrays import Bools, Floats, Objects, filled
from promql.histogram import Hint, Histogram, IncompatibleSchemas
from promql.tree import COMPARISONS
from promql.trimming import trimmed

_ARITHMETIC: Final[dict[str, Callable[[Floats, Floats], Floats]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
    "atan2": np.arctan2,
}
_COMPARISON: Final[dict[str, Callable[[Floats, Floats], Bools]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


@dataclass
class Operands:
    """Two values at each place, and where both are."""

    left: Floats
    right: Floats
    left_native: Objects | None
    right_native: Objects | None
    present: Bools


@dataclass
class Outcome:
    """`kept`: where there is a result, or a comparison holds. `failed`: where the kinds cannot be combined."""

    values: Floats
    native: Objects | None
    kept: Bools
    failed: Bools


def compute_floats(operation: str, left: Floats, right: Floats) -> Floats:
    """Numbers; a comparison gives 1 or 0."""
    with np.errstate(all="ignore"):
        if operation in COMPARISONS:
            return np.asarray(_COMPARISON[operation](left, right), dtype=np.float64)
        return np.asarray(_ARITHMETIC[operation](left, right))


def compute(operation: str, operands: Operands, notes: Annotations, at: int) -> Outcome:
    """The result at every place; a comparison leaves the left value where it holds."""
    outcome = _floats(operation, operands)
    if operands.left_native is not None or operands.right_native is not None:
        _native(operation, operands, outcome, notes, at)
    elif operation in ("</", ">/") and operands.present.any():
        _refuse_kinds(operation, ("float", "float"), notes, at)
    return outcome


def _floats(operation: str, operands: Operands) -> Outcome:
    shape = operands.present.shape
    none = np.zeros(shape, dtype=np.bool_)
    left, right = np.broadcast_to(operands.left, shape), np.broadcast_to(operands.right, shape)
    if operation in ("</", ">/"):
        return Outcome(left.copy(), None, none, operands.present.copy())
    with np.errstate(all="ignore"):
        if operation in COMPARISONS:
            return Outcome(left.copy(), None, _COMPARISON[operation](left, right) & operands.present, none)
        return Outcome(_ARITHMETIC[operation](left, right), None, operands.present.copy(), none)


def _native(operation: str, operands: Operands, outcome: Outcome, notes: Annotations, at: int) -> None:
    shape = operands.present.shape
    sides = [np.full(shape, None, dtype=object) if each is None else each for each in _sides(operands)]
    left, right = (np.broadcast_to(each, shape) for each in sides)
    outcome.native = np.full(shape, None, dtype=object)
    are_native = filled(left) | filled(right)
    if operation in ("</", ">/") and (operands.present & ~are_native).any():
        _refuse_kinds(operation, ("float", "float"), notes, at)
    for place in zip(*np.nonzero(operands.present & are_native), strict=True):
        values = _value(left, operands.left, place), _value(right, operands.right, place)
        result, kept = _of_natives(operation, *values, notes, at)
        outcome.failed[place] = result is None
        outcome.kept[place] = kept
        outcome.native[place] = result


def _sides(operands: Operands) -> tuple[Objects | None, Objects | None]:
    return operands.left_native, operands.right_native


def _value(native: Objects, values: Floats, place: tuple[int, ...]) -> float | Histogram:
    found = native[place]
    return found if isinstance(found, Histogram) else float(np.broadcast_to(values, native.shape)[place])


def _of_natives(
    operation: str, left: float | Histogram, right: float | Histogram, notes: Annotations, at: int
) -> tuple[Histogram | None, bool]:
    """The result, None where there is none, and whether it is kept."""
    if isinstance(left, Histogram) and isinstance(right, Histogram):
        return _of_two(operation, left, right, notes, at)
    if isinstance(left, Histogram) and isinstance(right, float):
        if operation in ("*", "/"):
            scaled = left.copy().scale(right) if operation == "*" else left.copy().divide(right)
            return scaled.compact(), True
        if operation in ("</", ">/"):
            return trimmed(left, right, upper=operation == "</"), True
        _refuse_kinds(operation, ("histogram", "float"), notes, at)
        return None, False
    if isinstance(right, Histogram) and isinstance(left, float) and operation == "*":
        return right.copy().scale(left).compact(), True
    _refuse_kinds(operation, ("float", "histogram"), notes, at)
    return None, False


def _of_two(
    operation: str, left: Histogram, right: Histogram, notes: Annotations, at: int
) -> tuple[Histogram | None, bool]:
    if operation in ("==", "!="):
        return left, left.equals(right) == (operation == "==")
    if operation not in ("+", "-"):
        _refuse_kinds(operation, ("histogram", "histogram"), notes, at)
        return None, False
    result = left.copy()
    try:
        outcome = result.add(right) if operation == "+" else result.subtract(right)
    except IncompatibleSchemas:
        notes.warn(f"incompatible bucket layout encountered for binary operator {operation}", at)
        return None, False
    name = "addition" if operation == "+" else "subtraction"
    if operation == "-":
        result.hint = Hint.GAUGE
    if outcome.collision:
        notes.reset_collision(name, at)
    if outcome.reconciled:
        notes.reconciled_bounds(name, at)
    return result.compact(), True


def _refuse_kinds(operation: str, kinds: tuple[str, str], notes: Annotations, at: int) -> None:
    text = f'incompatible sample types encountered for binary operator "{operation}"'
    notes.info(f"{text}: {kinds[0]} {operation} {kinds[1]}", at)
