"""Mathematical functions."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Final

import polars as pl

from query import fault
from query.expr.checked_arithmetic import (
    checked_float,
    checked_int,
    float_quotient,
    power_of_ten,
    rescale,
    rounded_division,
    without_underflow,
)
from query.expr.row_errors import row_fault
from query.functions.registry import Site, define
from query.pg.types import FLOATS, INTEGER_LIMITS, NUMERIC_DIGITS, PgType, numeric

_FAMILY = "Mathematics"
_ROOT_SCALE = 20
"""Digits after the point of roots, logarithms and powers of numeric values."""

_ALL = ("int2", "int4", "int8", "numeric", "float4", "float8")


def _each(name: str, *kinds: str) -> str:
    return "; ".join(f"{name}({kind}) -> {kind}" for kind in kinds)


def _argument(types: tuple[PgType, ...]) -> PgType:
    return types[0]


def _whole(types: tuple[PgType, ...]) -> PgType:
    return numeric(0) if types[0].name == "numeric" else types[0]


@define(f"{_each('abs', *_ALL)}; {_each('@', *_ALL)}", "Absolute value.", family=_FAMILY, result=_argument)
def absolute(site: Site, value: pl.Expr) -> pl.Expr:
    if site.result.name in ("numeric", *FLOATS):
        return value.abs()
    return checked_int(site, value.cast(pl.Int128).abs(), site.result)


@define("sign(numeric) -> numeric; sign(float8) -> float8", "Sign: -1, 0 or 1.", family=_FAMILY, result=_whole)
def sign(site: Site, value: pl.Expr) -> pl.Expr:
    return (
        pl.when(value == 0).then(0.0).otherwise(value.sign()).fill_nan(0.0)
        if site.result.name == "float8"
        else value.sign()
    )


@define(
    "ceil(numeric) -> numeric; ceil(float8) -> float8; ceiling(numeric) -> numeric; ceiling(float8) -> float8",
    "Nearest whole number at or above.",
    family=_FAMILY,
    result=_whole,
)
def ceil(site: Site, value: pl.Expr) -> pl.Expr:
    if site.result.name == "float8":
        return value.ceil()
    zero = pl.lit(0, dtype=pl.Int128)
    return zero - ((zero - value) // power_of_ten(site.types[0].scale))


@define(
    "floor(numeric) -> numeric; floor(float8) -> float8",
    "Nearest whole number at or below.",
    family=_FAMILY,
    result=_whole,
)
def floor(site: Site, value: pl.Expr) -> pl.Expr:
    return value.floor() if site.result.name == "float8" else value // power_of_ten(site.types[0].scale)


@define(
    "round(numeric) -> numeric; round(float8) -> float8",
    "Nearest whole number; ties of numeric away from zero, of float8 to even.",
    family=_FAMILY,
    result=_whole,
)
def round_whole(site: Site, value: pl.Expr) -> pl.Expr:
    if site.result.name == "float8":
        return value.round(0, mode="half_to_even")
    return rescale(site, value, site.types[0].scale, 0)


@define(
    "trunc(numeric) -> numeric; trunc(float8) -> float8",
    "Whole part.",
    family=_FAMILY,
    result=_whole,
)
def trunc_whole(site: Site, value: pl.Expr) -> pl.Expr:
    if site.result.name == "float8":
        return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())
    return (value.abs() // power_of_ten(site.types[0].scale)) * value.sign()


def _digits(places: object, site: Site) -> int:
    if not isinstance(places, int) or abs(places) > NUMERIC_DIGITS - 8:
        raise fault.unsupported("rounding to that many digits", site.position)
    return places


def _to_places(site: Site, value: pl.Expr, places: int, cut: bool) -> pl.Expr:
    """A numeric rounded or cut to `places`; the call's own scale is that of the argument (see `_kept`)."""
    scale = site.types[0].scale
    if places >= scale:
        return value
    unit = 10 ** (scale - places)
    rounded = (value.abs() // unit) * value.sign() if cut else rounded_division(value, unit)
    return rounded * pl.lit(unit, dtype=pl.Int128)


@define("round(numeric, int4!) -> numeric", "Rounds to digits after the point.", family=_FAMILY, result=_argument)
def round_places(site: Site, value: pl.Expr, places: object) -> pl.Expr:
    return _to_places(site, value, _digits(places, site), cut=False)


@define("trunc(numeric, int4!) -> numeric", "Cuts to digits after the point.", family=_FAMILY, result=_argument)
def trunc_places(site: Site, value: pl.Expr, places: object) -> pl.Expr:
    return _to_places(site, value, _digits(places, site), cut=True)


def _root(types: tuple[PgType, ...]) -> PgType:
    return numeric(_ROOT_SCALE, exact=False) if types[0].name == "numeric" else types[0]


_TOO_LONG: Final = "a number of more than 38 digits"
_TOO_SMALL: Final = "a root, logarithm or power so near to zero as numeric"
_LEAST: Final = Decimal("0.0001")
"""PostgreSQL shows 16 significant digits of a result below one, so of a smaller one more than we keep."""


def _decimal(site: Site, function: Callable[..., Decimal], *values: pl.Expr) -> pl.Expr:
    """A function of Decimals over numeric columns."""
    scales = [kind.scale for kind in site.types]
    target = site.result.scale

    def over(*unscaled: int) -> int:
        with localcontext() as context:
            context.prec = 2 * NUMERIC_DIGITS
            numbers = [Decimal(number).scaleb(-scale) for number, scale in zip(unscaled, scales, strict=True)]
            exact = function(*numbers)
            result = exact.scaleb(target)
            if abs(result) >= Decimal(10) ** NUMERIC_DIGITS:
                raise row_fault(fault.FEATURE_NOT_SUPPORTED, f"{_TOO_LONG} is not supported", site.position)
            rounded = result.to_integral_value("ROUND_HALF_UP")
            if rounded != result and abs(exact) < _LEAST:
                raise row_fault(fault.FEATURE_NOT_SUPPORTED, f"{_TOO_SMALL} is not supported", site.position)
            return int(rounded)

    return site.rowwise(over, *values)


@define(
    "sqrt(numeric) -> numeric; sqrt(float8) -> float8; |/(float8) -> float8",
    "Square root.",
    family=_FAMILY,
    result=_root,
)
def sqrt(site: Site, value: pl.Expr) -> pl.Expr:
    value = site.trap(value, value < 0, "negative_sqrt")
    return value.sqrt() if site.result.name == "float8" else _decimal(site, Decimal.sqrt, value)


@define("cbrt(float8) -> float8; ||/(float8) -> float8", "Cube root.", family=_FAMILY)
def cbrt(site: Site, value: pl.Expr) -> pl.Expr:
    # Polars raises to a third: 3.9999999999999996 for 64.
    return site.rowwise(math.cbrt, value)


@define("exp(numeric) -> numeric; exp(float8) -> float8", "e to the power.", family=_FAMILY, result=_root)
def exp(site: Site, value: pl.Expr) -> pl.Expr:
    if site.result.name == "float8":
        return without_underflow(site, checked_float(site, value.exp(), value), value.is_finite())
    return _decimal(site, _decimal_exp, value)


def _decimal_exp(value: Decimal) -> Decimal:
    return value.exp() if value < 5 * NUMERIC_DIGITS else _TOO_MUCH


def _positive(site: Site, value: pl.Expr) -> pl.Expr:
    value = site.trap(value, value == 0, "log_zero")
    return site.trap(value, value < 0, "log_negative")


@define("ln(numeric) -> numeric; ln(float8) -> float8", "Natural logarithm.", family=_FAMILY, result=_root)
def ln(site: Site, value: pl.Expr) -> pl.Expr:
    value = _positive(site, value)
    return value.log() if site.result.name == "float8" else _decimal(site, Decimal.ln, value)


@define(
    "log(numeric) -> numeric; log(float8) -> float8; log10(numeric) -> numeric; log10(float8) -> float8",
    "Logarithm to base 10.",
    family=_FAMILY,
    result=_root,
)
def log(site: Site, value: pl.Expr) -> pl.Expr:
    value = _positive(site, value)
    if site.result.name == "numeric":
        return _decimal(site, Decimal.log10, value)
    # Polars divides logarithms: 2.9999999999999996 for 1000. What is one digit off a whole number is that number.
    found = value.log10()
    near = found.round(0)
    return pl.when((found - near).abs() <= near.abs() * _LAST_DIGIT).then(near).otherwise(found)


_LAST_DIGIT: Final = 2.3e-16


@define(
    "log(numeric, numeric) -> numeric", "Logarithm of the second to the first as base.", family=_FAMILY, result=_root
)
def log_base(site: Site, base: pl.Expr, value: pl.Expr) -> pl.Expr:
    both = base.is_not_null() & value.is_not_null()
    base, value = (_positive(site, pl.when(both).then(part)) for part in (base, value))
    base = site.trap(base, base == 10 ** site.types[0].scale, "division_by_zero")
    return _decimal(site, lambda b, v: v.ln() / b.ln(), base, value)


@define(
    "^(numeric, numeric) -> numeric; ^(float8, float8) -> float8; "
    "power(numeric, numeric) -> numeric; power(float8, float8) -> float8; "
    "pow(numeric, numeric) -> numeric; pow(float8, float8) -> float8",
    "Power.",
    family=_FAMILY,
    result=_root,
)
def power(site: Site, base: pl.Expr, exponent: pl.Expr) -> pl.Expr:
    base = site.trap(base, (base == 0) & (exponent < 0), "power_zero")
    if site.result.name == "numeric":
        unit = 10 ** site.types[1].scale
        base = site.trap(base, (base < 0) & (exponent % unit != 0), "power_complex")
        return _decimal(site, _decimal_power, base, exponent)
    base = site.trap(base, (base < 0) & (exponent != exponent.floor()), "power_complex")
    result = checked_float(site, base.pow(exponent), base, exponent)
    return without_underflow(site, result, (base != 0) & base.is_finite() & exponent.is_finite())


_TOO_MUCH: Final = Decimal(10) ** (2 * NUMERIC_DIGITS)


def _decimal_power(base: Decimal, exponent: Decimal) -> Decimal:
    if exponent == 0:
        return Decimal(1)
    if base != 0 and exponent * base.copy_abs().log10() > 2 * NUMERIC_DIGITS:
        return _TOO_MUCH
    return base**exponent


@define("pi() -> float8", "3.141592653589793.", family=_FAMILY)
def pi(site: Site) -> pl.Expr:
    return pl.lit(math.pi)


def _float(name: str, summary: str, build: Callable[[pl.Expr], pl.Expr]) -> None:
    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def function(site: Site, value: pl.Expr) -> pl.Expr:
        return build(value)


_DEGREE: Final = 0.0174532925199432957692
"""Radians of a degree."""


@define("degrees(float8) -> float8", "Radians as degrees.", family=_FAMILY)
def degrees(site: Site, value: pl.Expr) -> pl.Expr:
    return checked_float(site, float_quotient(value, pl.lit(_DEGREE, dtype=pl.Float64)), value)


@define("radians(float8) -> float8", "Degrees as radians.", family=_FAMILY)
def radians(site: Site, value: pl.Expr) -> pl.Expr:
    return without_underflow(site, value * _DEGREE, value != 0)


def _angle(name: str, summary: str, build: Callable[[pl.Expr], pl.Expr]) -> None:
    """A function of an angle, which cannot be infinite."""

    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def function(site: Site, value: pl.Expr) -> pl.Expr:
        return site.trap(build(value), value.is_infinite(), "input_range")


_angle("sin", "Sine.", lambda value: value.sin())
_angle("cos", "Cosine.", lambda value: value.cos())
_angle("tan", "Tangent.", lambda value: value.tan())
_angle("cot", "Cotangent.", lambda value: value.cot())
_float("atan", "Arc tangent.", lambda value: value.arctan())
_float("sinh", "Hyperbolic sine.", lambda value: value.sinh())
_float("cosh", "Hyperbolic cosine.", lambda value: value.cosh())
_float("tanh", "Hyperbolic tangent.", lambda value: value.tanh())


@define("asin(float8) -> float8", "Arc sine.", family=_FAMILY)
def asin(site: Site, value: pl.Expr) -> pl.Expr:
    return site.trap(value.arcsin(), (value.abs() > 1) & value.is_not_nan(), "input_range")


@define("acos(float8) -> float8", "Arc cosine.", family=_FAMILY)
def acos(site: Site, value: pl.Expr) -> pl.Expr:
    return site.trap(value.arccos(), (value.abs() > 1) & value.is_not_nan(), "input_range")


@define("atan2(float8, float8) -> float8", "Arc tangent of y / x.", family=_FAMILY)
def atan2(site: Site, y: pl.Expr, x: pl.Expr) -> pl.Expr:
    return pl.arctan2(y, x)


def _whole_number(site: Site, function: Callable[[int, int], int], left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """An integer of two, or `integer out of range`."""
    kind = site.result

    def over(a: int, b: int) -> int:
        result = function(a, b)
        if result >= INTEGER_LIMITS[kind.name]:
            raise row_fault(fault.NUMERIC_OUT_OF_RANGE, f"{kind.sql_name} out of range", site.position)
        return result

    return site.rowwise(over, left, right)


@define("gcd(int4, int4) -> int4; gcd(int8, int8) -> int8", "Greatest common divisor.", family=_FAMILY)
def gcd(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return _whole_number(site, math.gcd, left, right)


@define("lcm(int4, int4) -> int4; lcm(int8, int8) -> int8", "Least common multiple.", family=_FAMILY)
def lcm(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return _whole_number(site, math.lcm, left, right)


@define(
    "width_bucket(float8, float8, float8, int4) -> int4",
    "Number of the bucket among equally wide ones; 0 below, count + 1 beyond.",
    family=_FAMILY,
    guarded=True,
)
def width_bucket(site: Site, value: pl.Expr, low: pl.Expr, high: pl.Expr, count: pl.Expr) -> pl.Expr:
    rising = low < high
    share = pl.when(rising).then((value - low) / (high - low)).otherwise((low - value) / (low - high))
    inside = (share * count.cast(pl.Float64)).floor().cast(pl.Int64, strict=False) + 1
    below = pl.when(rising).then(value < low).otherwise(value > low)
    beyond = pl.when(rising).then(value >= high).otherwise(value <= high)
    zero, after = pl.lit(0, dtype=pl.Int64), count.cast(pl.Int64) + 1
    bucket = checked_int(site, pl.when(below).then(zero).when(beyond).then(after).otherwise(inside), site.result)
    numbers = pl.all_horizontal(part.is_not_nan() for part in (value, low, high))
    bucket = site.trap(bucket, low == high, "bucket_bounds")
    bucket = site.trap(bucket, numbers & ~(low.is_finite() & high.is_finite()), "bucket_infinite")
    bucket = site.trap(bucket, ~numbers, "bucket_nan")
    return site.trap(bucket, count <= 0, "bucket_count")
