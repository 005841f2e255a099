"""The text of a numeric quotient: PostgreSQL chooses its digits after the point by the sizes of both operands."""

from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.functions.registry import define

_DIGITS: Final = 16
_BASE: Final = 10_000
_BASE_DIGITS: Final = 4
"""PostgreSQL holds numerics in digits of base 10000, and means at least 16 decimal ones to be significant."""


@define("quotient text(numeric, numeric) -> text", "The text of `a / b` and of a mean.", family="Arithmetic")
def quotient_text(context: CallContext, dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    zero = (divisor == 0) & dividend.is_not_null()
    safe = context.fail_where(divisor, zero, "division_by_zero")
    left, right = (pg_type.scale for pg_type in context.types)
    return context.rowwise(lambda a, b: shown_quotient((a, left), (b, right)), dividend, safe)


def shown_quotient(dividend: tuple[int, int], divisor: tuple[int, int]) -> str:
    """a / b as PostgreSQL shows it, each given by its digits and how many of them are after the point.

    >>> shown_quotient((10, 0), (3, 0)), shown_quotient((1, 0), (1, 0))
    ('3.3333333333333333', '1.00000000000000000000')
    """
    scale = _scale(dividend, divisor)
    shift = scale - dividend[1] + divisor[1]
    above, below = abs(dividend[0]) * 10 ** max(shift, 0), abs(divisor[0]) * 10 ** max(-shift, 0)
    digits = str((2 * above + below) // (2 * below)).zfill(scale + 1)
    negative = (dividend[0] < 0) != (divisor[0] < 0) and digits.strip("0")
    return f"{'-' if negative else ''}{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"


def _scale(dividend: tuple[int, int], divisor: tuple[int, int]) -> int:
    """Digits after the point: numeric.c, select_div_scale."""
    (weight, first), (other_weight, other_first) = _leading(*dividend), _leading(*divisor)
    weight -= other_weight + (first <= other_first)
    return max(_DIGITS - weight * _BASE_DIGITS, dividend[1], divisor[1], 0)


def _leading(digits: int, scale: int) -> tuple[int, int]:
    """The place and the value of the first digit in base 10000 that is not zero."""
    rest = -scale % _BASE_DIGITS
    aligned, weight = abs(digits) * 10**rest, -((scale + rest) // _BASE_DIGITS)
    while aligned >= _BASE:
        aligned, weight = aligned // _BASE, weight + 1
    return (weight, aligned) if aligned else (0, 0)
