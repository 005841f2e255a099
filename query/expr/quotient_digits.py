"""How many digits after the point a numeric quotient has: PostgreSQL chooses them by the sizes of both operands.

A quotient of exact numbers is rounded to them, so that it equals what PostgreSQL would have, row by row.
Source: numeric.c, select_div_scale.
"""

from typing import Final

import polars as pl

from query.expr.checked_arithmetic import power_of_ten, table
from query.pg.types import PgType

SIGNIFICANT: Final = 16
BASE: Final = 10_000
BASE_DIGITS: Final = 4
"""PostgreSQL holds numerics in digits of base 10000, and means at least 16 decimal ones to be significant."""

Operands = tuple[PgType, PgType]
_MOST_DIGITS: Final = 38


def leading(digits: int, scale: int) -> tuple[int, int]:
    """The place and the value of the first digit in base 10000 that is not zero.

    >>> leading(123456, 1), leading(1, 3)
    ((1, 1), (-1, 10))
    """
    rest = -scale % BASE_DIGITS
    aligned, weight = abs(digits) * 10**rest, -((scale + rest) // BASE_DIGITS)
    while aligned >= BASE:
        aligned, weight = aligned // BASE, weight + 1
    return (weight, aligned) if aligned else (0, 0)


def _leading_of(value: pl.Expr, scale: int) -> tuple[pl.Expr, pl.Expr]:
    """The same of a column."""
    size, rest = value.abs(), -scale % BASE_DIGITS
    lowest = -((scale + rest) // BASE_DIGITS)
    places = range(lowest + (1 if rest else 0), (_MOST_DIGITS - scale) // BASE_DIGITS + 1)
    weight, first = pl.lit(lowest, dtype=pl.Int64), size * power_of_ten(rest)
    for place in places:
        unit = power_of_ten(BASE_DIGITS * place + scale)
        reaches = size >= unit
        weight, first = (
            pl.when(reaches).then(place).otherwise(weight),
            pl.when(reaches).then(size // unit).otherwise(first),
        )
    return pl.when(size == 0).then(0).otherwise(weight), first


def _known(constant: object, value: pl.Expr, scale: int) -> tuple[pl.Expr, pl.Expr]:
    if not isinstance(constant, int):
        return _leading_of(value, scale)
    weight, first = leading(constant, scale)
    return pl.lit(weight, dtype=pl.Int64), pl.lit(first, dtype=pl.Int128)


def shown_digits(
    dividend: pl.Expr, divisor: pl.Expr, pg_types: Operands, constants: tuple[object, object] = (None, None)
) -> pl.Expr:
    """Digits after the point of dividend / divisor: at least as many as either has. A value of a type that is not exact
    has those that it needs."""
    weight, first = _known(constants[0], dividend, pg_types[0].scale)
    other_weight, other_first = _known(constants[1], divisor, pg_types[1].scale)
    places = weight - other_weight - (first <= other_first).cast(pl.Int64)
    fixed = max((pg_type.scale for pg_type in pg_types if pg_type.exact), default=0)
    shown = (SIGNIFICANT - places * BASE_DIGITS).clip(fixed, None)
    for value, pg_type in zip((dividend, divisor), pg_types, strict=True):
        if not pg_type.exact:
            rest = _power(pg_type.scale - shown, pg_type.scale)
            shown = pl.when(value % rest == 0).then(shown).otherwise(pl.max_horizontal(shown, pl.lit(pg_type.scale)))
    return shown


def _power(exponent: pl.Expr, most: int) -> pl.Expr:
    return table(exponent.clip(0, most), [10**each for each in range(most + 1)])


def quotient_as_shown(
    dividend: pl.Expr,
    divisor: pl.Expr,
    pg_types: Operands,
    scale: int,
    constants: tuple[object, object] = (None, None),
) -> pl.Expr:
    """dividend / divisor held with `scale` digits after the point, rounded to those that PostgreSQL shows of it.

    Cut first: a quotient that was rounded to 22 digits would be rounded a second time. Null for a divisor of null.
    """
    a, b, unit = dividend.abs(), divisor.abs(), power_of_ten(scale - pg_types[0].scale + pg_types[1].scale)
    whole, rest = a // b, (a % b) * unit
    cut = whole * unit + rest // b
    shown = shown_digits(dividend, divisor, pg_types, constants)
    step = _power(scale - shown, scale)
    rounded = (cut + step // 2) // step * step
    nearest = cut + ((rest % b) * 2 >= b).cast(pl.Int128)
    return pl.when(shown < scale).then(rounded).otherwise(nearest) * dividend.sign() * divisor.sign()
