"""Mathematical functions."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import partial
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import (
    checked_float,
    checked_int,
    float_quotient,
    power_of_ten,
    rescale,
    rounded_division,
    without_underflow,
)
from query.expr.row_errors import declare_row_error, declared_error, row_fault
from query.functions.registry import define
from query.pg.significant_digits import exponential_digits, logarithm_digits, root_digits
from query.pg.special_numbers import float_of
from query.pg.types import FLOATS, INTEGER_LIMITS, NUMERIC_DIGITS, PgType, numeric

declare_row_error("negative_sqrt", fault.INVALID_POWER_ARGUMENT, "cannot take square root of a negative number")
declare_row_error("log_zero", fault.INVALID_LOG_ARGUMENT, "cannot take logarithm of zero")
declare_row_error("log_negative", fault.INVALID_LOG_ARGUMENT, "cannot take logarithm of a negative number")
declare_row_error("power_zero", fault.INVALID_POWER_ARGUMENT, "zero raised to a negative power is undefined")
declare_row_error(
    "power_complex",
    fault.INVALID_POWER_ARGUMENT,
    "a negative number raised to a non-integer power yields a complex result",
)
declare_row_error("input_range", fault.NUMERIC_OUT_OF_RANGE, "input is out of range")
declare_row_error("bucket_count", fault.INVALID_WIDTH_BUCKET, "count must be greater than zero")
declare_row_error("bucket_nan", fault.INVALID_WIDTH_BUCKET, "operand, lower bound, and upper bound cannot be NaN")
declare_row_error("bucket_infinite", fault.INVALID_WIDTH_BUCKET, "lower and upper bounds must be finite")
declare_row_error("bucket_bounds", fault.INVALID_WIDTH_BUCKET, "lower bound cannot equal upper bound")

_FAMILY = "Mathematics"
_ROOT_SCALE = 20
"""Digits after the point of roots, logarithms and powers of numeric values."""

_ALL = ("int2", "int4", "int8", "numeric", "float4", "float8")


def _each(name: str, *kinds: str) -> str:
    return "; ".join(f"{name}({pg_type}) -> {pg_type}" for pg_type in kinds)


def _argument(types: tuple[PgType, ...]) -> PgType:
    return types[0]


def _whole(types: tuple[PgType, ...]) -> PgType:
    return numeric(0) if types[0].name == "numeric" else types[0]


@define(f"{_each('abs', *_ALL)}; {_each('@', *_ALL)}", "Absolute value.", family=_FAMILY, result=_argument)
def absolute(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name in ("numeric", *FLOATS):
        return value.abs()
    return checked_int(context, value.cast(pl.Int128).abs(), context.result)


@define("sign(numeric) -> numeric; sign(float8) -> float8", "Sign: -1, 0 or 1.", family=_FAMILY, result=_whole)
def sign(context: CallContext, value: pl.Expr) -> pl.Expr:
    return (
        pl.when(value == 0).then(0.0).otherwise(value.sign()).fill_nan(0.0)
        if context.result.name == "float8"
        else value.sign()
    )


@define(
    "ceil(numeric) -> numeric; ceil(float8) -> float8; ceiling(numeric) -> numeric; ceiling(float8) -> float8",
    "Nearest whole number at or above.",
    family=_FAMILY,
    result=_whole,
)
def ceil(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name == "float8":
        return value.ceil()
    zero = pl.lit(0, dtype=pl.Int128)
    return zero - ((zero - value) // power_of_ten(context.types[0].scale))


@define(
    "floor(numeric) -> numeric; floor(float8) -> float8",
    "Nearest whole number at or below.",
    family=_FAMILY,
    result=_whole,
)
def floor(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.floor() if context.result.name == "float8" else value // power_of_ten(context.types[0].scale)


@define(
    "round(numeric) -> numeric; round(float8) -> float8",
    "Nearest whole number; ties of numeric away from zero, of float8 to even.",
    family=_FAMILY,
    result=_whole,
)
def round_whole(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name == "float8":
        return value.round(0, mode="half_to_even")
    return rescale(context, value, context.types[0].scale, 0)


@define(
    "trunc(numeric) -> numeric; trunc(float8) -> float8",
    "Whole part.",
    family=_FAMILY,
    result=_whole,
)
def trunc_whole(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name == "float8":
        return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())
    return (value.abs() // power_of_ten(context.types[0].scale)) * value.sign()


def _digits(places: object, context: CallContext) -> int:
    if not isinstance(places, int) or abs(places) > NUMERIC_DIGITS - 8:
        raise fault.unsupported("rounding to that many digits", context.position)
    return places


def _to_places(context: CallContext, value: pl.Expr, places: int, cut: bool) -> pl.Expr:
    """A numeric rounded or cut to `places`; the call's own scale is that of the argument (see `_kept`)."""
    scale = context.types[0].scale
    if places >= scale:
        return value
    unit = 10 ** (scale - places)
    rounded = (value.abs() // unit) * value.sign() if cut else rounded_division(value, unit)
    return rounded * pl.lit(unit, dtype=pl.Int128)


@define("round(numeric, int4!) -> numeric", "Rounds to digits after the point.", family=_FAMILY, result=_argument)
def round_places(context: CallContext, value: pl.Expr, places: object) -> pl.Expr:
    return _to_places(context, value, _digits(places, context), cut=False)


@define("trunc(numeric, int4!) -> numeric", "Cuts to digits after the point.", family=_FAMILY, result=_argument)
def trunc_places(context: CallContext, value: pl.Expr, places: object) -> pl.Expr:
    return _to_places(context, value, _digits(places, context), cut=True)


def _root(types: tuple[PgType, ...]) -> PgType:
    return numeric(_ROOT_SCALE, exact=False) if types[0].name == "numeric" else types[0]


_TOO_LONG: Final = "a number of more than 38 digits"
_TOO_SMALL: Final = "a root, logarithm or power so near to zero as numeric"
_LEAST: Final = Decimal("0.0001")
"""PostgreSQL shows 16 significant digits of a result below one, so of a smaller one more than we keep."""


def _decimal(
    context: CallContext, function: Callable[..., Decimal], *values: pl.Expr, digits: Callable[..., int] | None = None
) -> pl.Expr:
    """A function of Decimals over numeric columns, whose results have `digits` after the point where that is known."""
    scales = [pg_type.scale for pg_type in context.types]

    def over(*unscaled: int) -> int:
        with localcontext() as arithmetic:
            arithmetic.prec = 2 * NUMERIC_DIGITS
            numbers = [Decimal(number).scaleb(-scale) for number, scale in zip(unscaled, scales, strict=True)]
            exact = function(*numbers)
            shown = _ROOT_SCALE if digits is None else max(digits(*numbers), *_own_digits(context, numbers), 0)
            return _held(context, exact, shown, is_known=digits is not None)

    return context.rowwise(over, *values)


def _own_digits(context: CallContext, numbers: Sequence[Decimal]) -> list[int]:
    """Digits after the point that the arguments have; of a type that is not exact, those that each needs."""
    return [
        pg_type.scale if pg_type.exact else -int(number.normalize().as_tuple().exponent)
        for pg_type, number in zip(context.types, numbers, strict=True)
    ]


def _held(context: CallContext, exact: Decimal, shown: int, *, is_known: bool) -> int:
    """The number as it is held, rounded to the digits that are shown of it. Raises for one that cannot be held."""
    target = context.result.scale
    if abs(exact.scaleb(target)) >= Decimal(10) ** NUMERIC_DIGITS:
        raise row_fault(fault.FEATURE_NOT_SUPPORTED, f"{_TOO_LONG} is not supported", context.position)
    rounded = exact.quantize(Decimal(1).scaleb(-min(shown, target)), "ROUND_HALF_UP")
    is_cut = shown > target if is_known else abs(exact) < _LEAST
    if rounded != exact and is_cut:
        raise row_fault(fault.FEATURE_NOT_SUPPORTED, f"{_TOO_SMALL} is not supported", context.position)
    return int(rounded.scaleb(target))


@define(
    "sqrt(numeric) -> numeric; sqrt(float8) -> float8; |/(float8) -> float8",
    "Square root.",
    family=_FAMILY,
    result=_root,
)
def sqrt(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = context.fail_where(value, value < 0, "negative_sqrt")
    return (
        value.sqrt() if context.result.name == "float8" else _decimal(context, Decimal.sqrt, value, digits=root_digits)
    )


@define("cbrt(float8) -> float8; ||/(float8) -> float8", "Cube root.", family=_FAMILY)
def cbrt(context: CallContext, value: pl.Expr) -> pl.Expr:
    # Polars raises to a third: 3.9999999999999996 for 64.
    return context.rowwise(math.cbrt, value)


@define("exp(numeric) -> numeric; exp(float8) -> float8", "e to the power.", family=_FAMILY, result=_root)
def exp(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name == "float8":
        return without_underflow(context, checked_float(context, value.exp(), value), value.is_finite())
    return _decimal(context, _decimal_exp, value, digits=exponential_digits)


def _decimal_exp(value: Decimal) -> Decimal:
    return value.exp() if value < 5 * NUMERIC_DIGITS else _TOO_MUCH


def _positive(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = context.fail_where(value, value == 0, "log_zero")
    return context.fail_where(value, value < 0, "log_negative")


@define("ln(numeric) -> numeric; ln(float8) -> float8", "Natural logarithm.", family=_FAMILY, result=_root)
def ln(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = _positive(context, value)
    return (
        value.log()
        if context.result.name == "float8"
        else _decimal(context, Decimal.ln, value, digits=logarithm_digits)
    )


@define(
    "log(numeric) -> numeric; log(float8) -> float8; log10(numeric) -> numeric; log10(float8) -> float8",
    "Logarithm to base 10.",
    family=_FAMILY,
    result=_root,
)
def log(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = _positive(context, value)
    if context.result.name == "numeric":
        return _decimal(context, Decimal.log10, value, digits=partial(logarithm_digits, base=Decimal(10)))
    # Polars divides logarithms: 2.9999999999999996 for 1000. What is one digit off a whole number is that number.
    logarithm = value.log10()
    near = logarithm.round(0)
    return pl.when((logarithm - near).abs() <= near.abs() * _LAST_DIGIT).then(near).otherwise(logarithm)


_LAST_DIGIT: Final = 2.3e-16


@define(
    "log(numeric, numeric) -> numeric", "Logarithm of the second to the first as base.", family=_FAMILY, result=_root
)
def log_base(context: CallContext, base: pl.Expr, value: pl.Expr) -> pl.Expr:
    both = base.is_not_null() & value.is_not_null()
    base, value = (_positive(context, pl.when(both).then(part)) for part in (base, value))
    base = context.fail_where(base, base == 10 ** context.types[0].scale, "division_by_zero")
    return _decimal(context, lambda b, v: v.ln() / b.ln(), base, value, digits=lambda b, v: logarithm_digits(v, b))


@define(
    "^(numeric, numeric) -> numeric; ^(float8, float8) -> float8; "
    "power(numeric, numeric) -> numeric; power(float8, float8) -> float8; "
    "pow(numeric, numeric) -> numeric; pow(float8, float8) -> float8",
    "Power.",
    family=_FAMILY,
    result=_root,
)
def power(context: CallContext, base: pl.Expr, exponent: pl.Expr) -> pl.Expr:
    base = context.fail_where(base, (base == 0) & (exponent < 0), "power_zero")
    if context.result.name == "numeric":
        unit = 10 ** context.types[1].scale
        base = context.fail_where(base, (base < 0) & (exponent % unit != 0), "power_complex")
        return _decimal(context, _decimal_power, base, exponent)
    base = context.fail_where(base, (base < 0) & (exponent != exponent.floor()), "power_complex")
    result = checked_float(context, base.pow(exponent), base, exponent)
    return without_underflow(context, result, (base != 0) & base.is_finite() & exponent.is_finite())


_TOO_MUCH: Final = Decimal(10) ** (2 * NUMERIC_DIGITS)


def _decimal_power(base: Decimal, exponent: Decimal) -> Decimal:
    if exponent == 0:
        return Decimal(1)
    if base != 0 and exponent * base.copy_abs().log10() > 2 * NUMERIC_DIGITS:
        return _TOO_MUCH
    return base**exponent


@define("pi() -> float8", "3.141592653589793.", family=_FAMILY)
def pi(context: CallContext) -> pl.Expr:
    return pl.lit(math.pi)


def _float(name: str, summary: str, build: Callable[[pl.Expr], pl.Expr]) -> None:
    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def function(context: CallContext, value: pl.Expr) -> pl.Expr:
        return build(value)


_DEGREE: Final = 0.0174532925199432957692
"""Radians of a degree."""


@define("degrees(float8) -> float8", "Radians as degrees.", family=_FAMILY)
def degrees(context: CallContext, value: pl.Expr) -> pl.Expr:
    return checked_float(context, float_quotient(value, pl.lit(_DEGREE, dtype=pl.Float64)), value)


@define("radians(float8) -> float8", "Degrees as radians.", family=_FAMILY)
def radians(context: CallContext, value: pl.Expr) -> pl.Expr:
    return without_underflow(context, value * _DEGREE, value != 0)


def _angle(name: str, summary: str, build: Callable[[pl.Expr], pl.Expr]) -> None:
    """A function of an angle, which cannot be infinite."""

    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def function(context: CallContext, value: pl.Expr) -> pl.Expr:
        return context.fail_where(build(value), value.is_infinite(), "input_range")


_angle("sin", "Sine.", lambda value: value.sin())
_angle("cos", "Cosine.", lambda value: value.cos())
_angle("tan", "Tangent.", lambda value: value.tan())
_angle("cot", "Cotangent.", lambda value: value.cot())
_float("atan", "Arc tangent.", lambda value: value.arctan())
_float("sinh", "Hyperbolic sine.", lambda value: value.sinh())
_float("cosh", "Hyperbolic cosine.", lambda value: value.cosh())
_float("tanh", "Hyperbolic tangent.", lambda value: value.tanh())


@define("asin(float8) -> float8", "Arc sine.", family=_FAMILY)
def asin(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.fail_where(value.arcsin(), (value.abs() > 1) & value.is_not_nan(), "input_range")


@define("acos(float8) -> float8", "Arc cosine.", family=_FAMILY)
def acos(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.fail_where(value.arccos(), (value.abs() > 1) & value.is_not_nan(), "input_range")


@define("atan2(float8, float8) -> float8", "Arc tangent of y / x.", family=_FAMILY)
def atan2(context: CallContext, y: pl.Expr, x: pl.Expr) -> pl.Expr:
    return pl.arctan2(y, x)


def _whole_number(context: CallContext, function: Callable[[int, int], int], left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """An integer of two, or `integer out of range`."""
    pg_type = context.result

    def over(a: int, b: int) -> int:
        result = function(a, b)
        if result >= INTEGER_LIMITS[pg_type.name]:
            raise row_fault(fault.NUMERIC_OUT_OF_RANGE, f"{pg_type.sql_name} out of range", context.position)
        return result

    return context.rowwise(over, left, right)


@define("gcd(int4, int4) -> int4; gcd(int8, int8) -> int8", "Greatest common divisor.", family=_FAMILY)
def gcd(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return _whole_number(context, math.gcd, left, right)


@define("lcm(int4, int4) -> int4; lcm(int8, int8) -> int8", "Least common multiple.", family=_FAMILY)
def lcm(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return _whole_number(context, math.lcm, left, right)


@define(
    "width_bucket(float8, float8, float8, int4) -> int4",
    "Number of the bucket among equally wide ones; 0 below, count + 1 beyond.",
    family=_FAMILY,
    skips_null_rows=True,
)
def width_bucket(context: CallContext, value: pl.Expr, low: pl.Expr, high: pl.Expr, count: pl.Expr) -> pl.Expr:
    rising = low < high
    width = high - low
    halves = (value / 2 - low / 2) / (high / 2 - low / 2)
    share = pl.when(width.is_finite()).then((value - low) / width).otherwise(halves)
    # A share may be rounded to 1.
    inside = (share * count.cast(pl.Float64)).floor().cast(pl.Int64, strict=False).clip(None, count.cast(pl.Int64) - 1)
    below = pl.when(rising).then(value < low).otherwise(value > low)
    beyond = pl.when(rising).then(value >= high).otherwise(value <= high)
    zero, after = pl.lit(0, dtype=pl.Int64), count.cast(pl.Int64) + 1
    chosen = pl.when(below).then(zero).when(beyond).then(after).otherwise(inside + 1)
    bucket = checked_int(context, chosen, context.result)
    numbers = pl.all_horizontal(part.is_not_nan() for part in (value, low, high))
    bucket = context.fail_where(bucket, low == high, "bucket_bounds")
    bucket = context.fail_where(bucket, numbers & ~(low.is_finite() & high.is_finite()), "bucket_infinite")
    bucket = context.fail_where(bucket, ~numbers, "bucket_nan")
    return context.fail_where(bucket, count <= 0, "bucket_count")


@define(
    "width_bucket(numeric, numeric, numeric, int4) -> int4",
    "Number of the bucket among equally wide ones; 0 below, count + 1 beyond.",
    family=_FAMILY,
)
def numeric_width_bucket(context: CallContext, value: pl.Expr, low: pl.Expr, high: pl.Expr, count: pl.Expr) -> pl.Expr:
    scales = [each.scale for each in context.types[:3]]
    units = [10 ** (max(scales) - scale) for scale in scales]

    def number(*row: int) -> int:
        specials = [float_of(each) for each in row]
        ordinary = [each * unit for each, unit in zip(row, units, strict=False)]
        numbers = [own if special is None else special for own, special in zip(ordinary, specials, strict=False)]
        bucket = _bucket(numbers[0], numbers[1], numbers[2], row[3], context.position)
        if bucket >= INTEGER_LIMITS["int4"]:
            raise declared_error("int4_range", context.position)
        return bucket

    return context.rowwise(number, value, low, high, count)


def _bucket(value: float, low: float, high: float, count: int, position: int | None) -> int:
    """The bucket by exact arithmetic; bounds may fall, too (width_bucket_numeric)."""
    if count <= 0:
        raise declared_error("bucket_count", position)
    if any(map(math.isnan, (value, low, high))):
        raise declared_error("bucket_nan", position)
    if math.inf in (abs(low), abs(high)):
        raise declared_error("bucket_infinite", position)
    if low == high:
        raise declared_error("bucket_bounds", position)
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    return count + 1 if value >= high else int((value - low) * count // (high - low)) + 1
