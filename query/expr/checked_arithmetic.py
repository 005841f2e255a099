"""Arithmetic that fails where PostgreSQL fails, over the 128-bit form of numeric too."""

from dataclasses import replace
from functools import cache
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.expr.special_numbers import from_float, is_special, ordinary
from query.expr.special_numbers import to_float as special_to_float
from query.pg.types import FLOATS, INTEGERS, NUMERIC_DIGITS, PgType

declare_row_error("float_underflow", fault.NUMERIC_OUT_OF_RANGE, "value out of range: underflow")
declare_row_error("nan_numeric", fault.FEATURE_NOT_SUPPORTED, "NaN and infinity as numeric is not supported")
declare_row_error("tiny_numeric", fault.FEATURE_NOT_SUPPORTED, "a number this small as numeric is not supported")

POWERS: Final = [10**exponent for exponent in range(39)]
LARGEST: Final = 1.0e38
"""Beyond 38 digits a 128-bit product could wrap around, so it is refused before."""


@cache
def power_of_ten(exponent: int) -> pl.Expr:
    return pl.lit(10**exponent, dtype=pl.Int128)


def checked_int(context: CallContext, wide: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A 128- or 64-bit result as an integer type, or `integer out of range`."""
    return context.nullify_unneeded(wide).cast(pg_type.polars, strict=True)


def rounded_division(value: pl.Expr, unit: int) -> pl.Expr:
    """value / unit rounded half away from zero, exactly."""
    half = pl.lit(unit // 2, dtype=pl.Int128)
    return ((value.abs() + half) // pl.lit(unit, dtype=pl.Int128)) * value.sign()


def rescale(context: CallContext, value: pl.Expr, before: int, after: int) -> pl.Expr:
    """A numeric's digits at another scale."""
    if after == before:
        return value
    factor = after - before
    if abs(factor) > NUMERIC_DIGITS:
        raise fault.unsupported(f"a number of more than {NUMERIC_DIGITS} digits", context.position)
    if factor < 0:
        return rounded_division(value, 10**-factor)
    scaled = value * power_of_ten(factor)
    return context.fail_where(scaled, value.abs().cast(pl.Float64) >= LARGEST / 10.0**factor, "numeric_range")


def to_numeric(context: CallContext, value: pl.Expr, source: PgType, target: PgType) -> pl.Expr:
    """A number as numeric with the target's scale."""
    if source.special:
        held = rescale(context, ordinary(value), source.scale, target.scale)
        return pl.when(is_special(value)).then(value).otherwise(held)
    if source.name == "numeric":
        return rescale(context, value, source.scale, target.scale)
    if source.name in INTEGERS:
        wide = value.cast(pl.Int128)
        return rescale(context, wide, 0, target.scale) if target.scale else wide
    return _from_float(context, value.cast(pl.Float64), target, source.name == "float4")


def _from_float(context: CallContext, value: pl.Expr, target: PgType, single: bool) -> pl.Expr:
    """PostgreSQL goes through the number's 15 (float4: 6) significant digits."""
    digits, is_finite = 6 if single else 15, value.is_finite()
    exponent = value.abs().log10().floor().fill_nan(0.0).clip(-280, 300).cast(pl.Int64)
    exponent = pl.when(value == 0).then(0).otherwise(exponent)
    whole = (value * pl.lit(10.0).pow(digits - 1 - exponent)).round(0, mode="half_away_from_zero")
    mantissa = pl.when(is_finite).then(whole).cast(pl.Int128)
    shift = target.scale - (digits - 1) + exponent
    up = mantissa * _power(shift)
    unit = _power(-shift)
    down = ((mantissa.abs() + unit // 2) // unit) * mantissa.sign()
    result = pl.when(shift >= 0).then(up).otherwise(down)
    if not target.special:
        result = context.fail_where(result, ~is_finite, "nan_numeric")
    result = context.fail_where(result, is_finite & (value.abs() >= 10.0 ** (37 - target.scale)), "numeric_range")
    if not target.exact:
        lost = ((shift < 0) & (mantissa % unit != 0)) | ((mantissa == 0) & (value != 0))
        result = context.fail_where(result, lost, "tiny_numeric")
    return from_float(value, result) if target.special else result


def _power(exponent: pl.Expr) -> pl.Expr:
    """Ten to a column of exponents, which are cut to what 128 bits hold."""
    return table(exponent.clip(0, 38), POWERS)


def table(index: pl.Expr, values: list[int]) -> pl.Expr:
    """The value at each index of a short list of numbers."""
    return index.cast(pl.Int64).replace_strict(
        list(range(len(values))), pl.Series(values, dtype=pl.Int128), return_dtype=pl.Int128
    )


def to_float(value: pl.Expr, source: PgType) -> pl.Expr:
    """A number as float8."""
    if source.special:
        return special_to_float(value, to_float(ordinary(value), replace(source, special=False)))
    if source.name == "numeric":
        plain = value.cast(pl.Float64)
        return float_quotient(plain, pl.lit(10.0**source.scale, dtype=pl.Float64)) if source.scale else plain
    return value.cast(pl.Float64)


def float_quotient(value: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """value / divisor of one float type, correctly rounded.

    Polars 2.1 multiplies by the inverse of a divisor that is the same for all rows, which is one digit off for every
    third value (59999999 / 1e6 as 59.999998999999995); so the divisor is made to vary. A literal has to have its type,
    or it becomes a float4.
    """
    return value / (value.is_null().cast(pl.Float32) + divisor)


def product(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """A 128-bit product, or an error where it could wrap."""
    size = left.cast(pl.Float64).abs() * right.cast(pl.Float64).abs()
    return context.fail_where(left * right, size >= LARGEST, "numeric_range")


def checked_float(context: CallContext, result: pl.Expr, *operands: pl.Expr) -> pl.Expr:
    """PostgreSQL refuses an infinite result of finite operands."""
    finite = pl.all_horizontal(operand.is_finite() for operand in operands)
    return context.fail_where(result, result.is_infinite() & finite, "float_overflow")


def without_underflow(context: CallContext, result: pl.Expr, cannot_be_zero: pl.Expr) -> pl.Expr:
    """PostgreSQL refuses a result that is zero for being too small."""
    return context.fail_where(result, (result == 0) & cannot_be_zero, "float_underflow")


def check_digits(context: CallContext, total: pl.Expr) -> pl.Expr:
    """The sum of two numerics, each of at most 38 digits: one that wrapped around has 39, too."""
    limit = pl.lit(10**NUMERIC_DIGITS, dtype=pl.Int128)
    return context.fail_where(total, (total >= limit) | (total <= -limit), "numeric_range")


def truncated_quotient(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Integer division towards zero; Polars' own rounds down."""
    quotient = left.abs() // right.abs()
    return quotient * left.sign() * right.sign()


def is_float(pg_type: PgType) -> bool:
    return pg_type.name in FLOATS
