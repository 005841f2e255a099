"""The text of a numeric quotient: PostgreSQL chooses its digits after the point by the sizes of both operands."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.quotient_digits import BASE_DIGITS, SIGNIFICANT, leading
from query.functions.registry import define
from query.pg.bad_values import UnsupportedLiteral


@define("quotient text(numeric, numeric) -> text", "The text of `a / b` and of a mean.", family="Arithmetic")
def quotient_text(context: CallContext, dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    zero = (divisor == 0) & dividend.is_not_null()
    safe = context.fail_where(divisor, zero, "division_by_zero")
    left, right = (pg_type.scale for pg_type in context.types)
    return context.rowwise(lambda a, b: shown_quotient((a, left), (b, right)), dividend, safe)


@define("quotient digits(numeric, numeric) -> int4", "Digits after the point of `a / b`.", family="Arithmetic")
def quotient_digits(context: CallContext, dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    left, right = (pg_type.scale for pg_type in context.types)
    return context.rowwise(lambda a, b: shown_scale((a, left), (b, right)), dividend, divisor)


@define("numeric text(numeric, int4) -> text", "The text of a number with so many digits.", family="Arithmetic")
def numeric_text(context: CallContext, value: pl.Expr, digits: pl.Expr) -> pl.Expr:
    scale = context.types[0].scale

    def shown(number: int, count: int) -> str:
        if count > scale:
            raise UnsupportedLiteral(f"the text of a numeric with more than {scale} digits after the point")
        text = str(abs(number) // 10 ** (scale - count)).zfill(count + 1)
        sign = "-" if number < 0 else ""
        return f"{sign}{text[: len(text) - count]}.{text[len(text) - count :]}" if count else sign + text

    return context.rowwise(shown, value, digits)


def shown_quotient(dividend: tuple[int, int], divisor: tuple[int, int]) -> str:
    """a / b as PostgreSQL shows it, each given by its digits and how many of them are after the point.

    >>> shown_quotient((10, 0), (3, 0)), shown_quotient((1, 0), (1, 0)), shown_quotient((10**17, 0), (7, 0))
    ('3.3333333333333333', '1.00000000000000000000', '14285714285714286')
    """
    scale = shown_scale(dividend, divisor)
    shift = scale - dividend[1] + divisor[1]
    above, below = abs(dividend[0]) * 10 ** max(shift, 0), abs(divisor[0]) * 10 ** max(-shift, 0)
    digits = str((2 * above + below) // (2 * below)).zfill(scale + 1)
    negative = (dividend[0] < 0) != (divisor[0] < 0) and digits.strip("0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if negative else ''}{whole}{'.' if fraction else ''}{fraction}"


def shown_scale(dividend: tuple[int, int], divisor: tuple[int, int]) -> int:
    """Digits after the point: numeric.c, select_div_scale."""
    (weight, first), (other_weight, other_first) = leading(*dividend), leading(*divisor)
    weight -= other_weight + (first <= other_first)
    return max(SIGNIFICANT - weight * BASE_DIGITS, dividend[1], divisor[1], 0)
