"""Names for the arrays that PromQL is evaluated with."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
# Histograms, or None where there is none.
Objects = npt.NDArray[Any]


def filled(objects: Objects) -> Bools:
    """Where there is an object."""
    return np.asarray(objects != np.array(None, dtype=object), dtype=np.bool_)
