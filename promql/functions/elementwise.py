"""Functions of each number by itself; histograms have no result (promql/functions.go, simpleFloatFunc)."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from promql.arrays import Floats
from promql.labels import without_metadata
from promql.series import Matrix

Elementwise = Callable[[Floats, Sequence[Floats]], Floats]


def apply(function: Elementwise, matrix: Matrix, parameters: Sequence[Floats]) -> Matrix:
    """The function of every number of the series; labels without the metric's name."""
    with np.errstate(all="ignore"):
        values = function(matrix.values, parameters)
    return Matrix([without_metadata(each) for each in matrix.labels], values, matrix.floats)


def _plain(function: Callable[[Floats], Floats]) -> Elementwise:
    return lambda values, _: function(values)


def _sign(values: Floats) -> Floats:
    return np.where(values < 0, -1.0, np.where(values > 0, 1.0, values))


def _round(values: Floats, parameters: Sequence[Floats]) -> Floats:
    """Halves go up; the inverse is what Prometheus multiplies with."""
    inverse = 1.0 / (parameters[0] if parameters else np.float64(1.0))
    return np.asarray(np.floor(values * inverse + 0.5) / inverse)


def clamped(values: Floats, least: Floats | float, most: Floats | float) -> Floats:
    """math.Max(least, math.Min(most, value)): NaN wins."""
    return np.asarray(np.maximum(least, np.minimum(most, values)))


ELEMENTWISE: Final[dict[str, Elementwise]] = {
    "abs": _plain(np.abs),
    "ceil": _plain(np.ceil),
    "floor": _plain(np.floor),
    "exp": _plain(np.exp),
    "sqrt": _plain(np.sqrt),
    "ln": _plain(np.log),
    "log2": _plain(np.log2),
    "log10": _plain(np.log10),
    "sin": _plain(np.sin),
    "cos": _plain(np.cos),
    "tan": _plain(np.tan),
    "asin": _plain(np.arcsin),
    "acos": _plain(np.arccos),
    "atan": _plain(np.arctan),
    "sinh": _plain(np.sinh),
    "cosh": _plain(np.cosh),
    "tanh": _plain(np.tanh),
    "asinh": _plain(np.arcsinh),
    "acosh": _plain(np.arccosh),
    "atanh": _plain(np.arctanh),
    "rad": _plain(lambda values: values * np.pi / 180),
    "deg": _plain(lambda values: values * 180 / np.pi),
    "sgn": _plain(_sign),
    "round": _round,
    "clamp_min": lambda values, parameters: clamped(values, parameters[0], np.inf),
    "clamp_max": lambda values, parameters: clamped(values, -np.inf, parameters[0]),
}
