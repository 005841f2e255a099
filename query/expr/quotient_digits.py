"""How many digits after the point a numeric quotient has: PostgreSQL chooses them by the sizes of both operands.

A quotient of exact numbers is rounded to them, so that it equals what PostgreSQL would have, row by row.
Source: numeric.c, select_div_scale.

Each step is a column that the next ones use. One expression would hold each of them many times over, and Polars took
15 ms to plan it, whatever the number of rows.
"""

from typing import Final

import polars as pl

from query.expr.checked_arithmetic import power_of_ten
from query.pg.types import NUMERIC_DIGITS, PgType

SIGNIFICANT: Final = 16
BASE: Final = 10_000
BASE_DIGITS: Final = 4
"""PostgreSQL holds numerics in digits of base 10000, and means at least 16 decimal ones to be significant."""

Operands = tuple[PgType, PgType]
_POWERS: Final = pl.Series([10**digits for digits in range(39)], dtype=pl.Int128)


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


def quotient_as_shown(dividend: pl.Expr, divisor: pl.Expr, pg_types: Operands, scale: int) -> pl.Expr:
    """dividend / divisor held with `scale` digits after the point, rounded to those that PostgreSQL shows of it.

    Null for a divisor of null.
    """
    operands = pl.struct(a=dividend, b=divisor)
    return operands.map_batches(
        lambda rows: _quotients(rows.struct.unnest(), pg_types, scale), return_dtype=pl.Int128, is_elementwise=True
    )


def _quotients(rows: pl.DataFrame, pg_types: Operands, scale: int) -> pl.Series:
    """Of columns `a` and `b`. Cut first: a quotient that was rounded to 22 digits would be rounded a second time."""
    a, b, y, rest, cut, step = map(pl.col, ("a", "b", "y", "rest", "cut", "step"))
    sizes = rows.with_columns(x=a.abs(), y=b.abs())
    divided = _divided(_with_shown(sizes, pg_types), scale - pg_types[0].scale + pg_types[1].scale)
    shown = divided.with_columns(step=_power(scale - pl.col("shown")))
    rounded = (cut + step // 2) // step * step
    nearest = cut + (rest >= y - rest).cast(pl.Int128)
    size = pl.when(pl.col("shown") < scale).then(rounded).otherwise(nearest)
    return shown.select(size * a.sign() * b.sign()).to_series()


def _divided(rows: pl.DataFrame, digits: int) -> pl.DataFrame:
    """With `cut`, x / y to this many digits after the point, and what is left over as `rest`: long division, as many
    digits at a time as 38 hold."""
    y, rest, cut = map(pl.col, ("y", "rest", "cut"))
    rows = rows.with_columns(cut=pl.col("x") // y, rest=pl.col("x") % y)
    most = NUMERIC_DIGITS - len(str(rows["y"].max() or 0))
    while digits > 0:
        unit = power_of_ten(min(most, digits))
        rows = rows.with_columns(cut=cut * unit + rest * unit // y, rest=rest * unit % y)
        digits -= most
    return rows


def _with_shown(sizes: pl.DataFrame, pg_types: Operands) -> pl.DataFrame:
    """With `shown`, the digits after the point of a / b, whose sizes are x and y: at least as many as either has. A
    value of a type that is not exact has those that it needs."""
    fixed = max((pg_type.scale for pg_type in pg_types if pg_type.exact), default=0)
    places = pl.col("v") - pl.col("w") - (pl.col("x0") <= pl.col("y0")).cast(pl.Int64)
    found = _with_leading(
        _with_leading(sizes, "x", ("v", "x0"), pg_types[0].scale), "y", ("w", "y0"), pg_types[1].scale
    )
    found = found.with_columns(shown=(SIGNIFICANT - places * BASE_DIGITS).clip(fixed, None))
    shown = pl.col("shown")
    for name, pg_type in zip("ab", pg_types, strict=True):
        if not pg_type.exact:
            fits = pl.col(name) % _power(pg_type.scale - shown) == 0
            found = found.with_columns(shown=pl.when(fits).then(shown).otherwise(shown.clip(pg_type.scale, None)))
    return found


def _with_leading(rows: pl.DataFrame, size: str, names: tuple[str, str], scale: int) -> pl.DataFrame:
    """`leading` of the column `size`, in columns of these names."""
    place, first = names
    value = pl.col(size)
    digits = value.cast(pl.String).str.len_bytes().cast(pl.Int64)
    weight = pl.when(value == 0).then(0).otherwise((digits - 1 - scale) // BASE_DIGITS)
    exponent = pl.col(place) * BASE_DIGITS + scale
    return rows.with_columns(weight.alias(place)).with_columns(
        (value // _power(exponent) * _power(-exponent)).alias(first)
    )


def _power(exponent: pl.Expr) -> pl.Expr:
    """Ten to an exponent, or to 0 where that is less. For frames that are at hand: a scan would not stream it."""
    return pl.lit(_POWERS).gather(exponent.clip(0, len(_POWERS) - 1).cast(pl.UInt32))
