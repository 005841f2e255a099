"""What stands for NaN and the infinities among the whole numbers that hold numerics: numbers of more than 38 digits, in
the order of numeric_cmp, where NaN is greater than infinity. They are in columns whose type is `special` alone."""

import math
from typing import Final

NAN: Final = 2**127 - 1
INFINITY: Final = NAN - 1
NAMES: Final = {NAN: "NaN", INFINITY: "Infinity", -INFINITY: "-Infinity"}


def stand_in(value: float) -> int:
    """The number that stands for NaN or an infinity."""
    return NAN if math.isnan(value) else INFINITY if value > 0 else -INFINITY


def float_of(held: int) -> float | None:
    """What the number stands for; None for one that is itself."""
    return float(NAMES[held]) if held in NAMES else None
