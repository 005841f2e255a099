"""How many digits a quotient has: on columns as on single numbers."""

from random import Random

import polars as pl
import pytest

from query.expr.quotient_digits import leading, quotient_as_shown
from query.pg.types import numeric

SCALE = 22


@pytest.mark.parametrize("scale", range(15))
def test_a_columns_quotients_have_the_digits_of_single_ones(scale: int) -> None:
    """numeric.c, select_div_scale, on pairs whose quotient fits into 38 digits with the 22 after the point."""
    random = Random(scale)
    divisors = [random.randint(1, 10 ** random.randint(0, 15)) for _ in range(3000)]
    dividends = [divisor * 10 ** random.randint(0, 14) + random.randint(-divisor, divisor) for divisor in divisors]
    frame = pl.DataFrame({"a": dividends, "b": divisors}, schema={"a": pl.Int128, "b": pl.Int128})
    types = (numeric(scale), numeric(scale))

    found = frame.select(quotient_as_shown(pl.col("a"), pl.col("b"), types, SCALE)).to_series().to_list()

    assert found == [expected(a, b, scale) for a, b in zip(dividends, divisors, strict=True)]


def expected(dividend: int, divisor: int, scale: int) -> int:
    (weight, first), (other_weight, other_first) = leading(dividend, scale), leading(divisor, scale)
    shown = max(scale, 16 - 4 * (weight - other_weight - (first <= other_first)))
    step = 10 ** max(0, SCALE - shown)
    # Halves away from zero, as PostgreSQL rounds.
    size = (abs(dividend) * 10**SCALE * 2 + divisor * step) // (2 * divisor * step) * step
    return size if dividend >= 0 else -size
