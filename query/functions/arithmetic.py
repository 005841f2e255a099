"""Arithmetic and bit operators over numbers. Those over dates and intervals are in dates."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import (
    check_digits,
    checked_float,
    checked_int,
    float_quotient,
    product,
    rescale,
    table,
    truncated_quotient,
    without_underflow,
)
from query.expr.constant_arithmetic import (
    constant_divisor,
    factor_bounds,
    finite_limit,
    quotient_by,
    remainder_by,
    shift_bounds,
    stays_finite,
    stays_nonzero,
    within,
)
from query.expr.quotient_digits import quotient_as_shown
from query.functions.registry import define
from query.pg.types import FLOATS, QUOTIENT_SCALE, PgType, numeric

_FAMILY = "Arithmetic"
_MOST_SCALE = 30
"""Scale of a product beyond which digits are rounded off; PostgreSQL keeps up to 16383."""


def _each(symbol: str, *kinds: str) -> str:
    return "; ".join(f"{symbol}({pg_type}, {pg_type}) -> {pg_type}" for pg_type in kinds)


_ALL = ("int2", "int4", "int8", "numeric", "float4", "float8")


def _with_mixed(symbol: str) -> str:
    """The operator over every type of number, and over a float4 and a float8, which gives a float8."""
    mixed = f"{symbol}(float4, float8) -> float8; {symbol}(float8, float4) -> float8"
    return f"{_each(symbol, *_ALL)}; {mixed}"


def _float_or_first(types: tuple[PgType, ...]) -> PgType:
    return types[1] if types[0].name == "float4" else types[0]


def _sum_type(types: tuple[PgType, ...]) -> PgType:
    if types[0].name != "numeric":
        return _float_or_first(types)
    exact = types[0].exact and types[1].exact
    return numeric(max(types[0].scale, types[1].scale), exact)


def _align(context: CallContext, left: pl.Expr, right: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    scale = max(context.types[0].scale, context.types[1].scale)
    return rescale(context, left, context.types[0].scale, scale), rescale(context, right, context.types[1].scale, scale)


@define(_with_mixed("+"), "Sum.", family=_FAMILY, result=_sum_type)
def add(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    pg_type = context.result
    if pg_type.name in FLOATS:
        return _float(context, left + right, "+", left, right)
    if pg_type.name == "numeric":
        a, b = _align(context, left, right)
        return check_digits(context, a + b)
    varying, shift = _with_constant(context, left, right)
    if pg_type.name == "int8" and shift is not None:
        return within(context, left + right, varying, shift_bounds(shift))
    return checked_int(context, _wide(left, pg_type) + _wide(right, pg_type), pg_type)


def _float(context: CallContext, result: pl.Expr, operator: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The result, checked for overflow and underflow unless a constant operand rules them out."""
    constants = context.constant(0), context.constant(1)
    if not stays_nonzero(operator, constants):
        tiny = (left != 0) & right.is_finite() if operator == "/" else (left != 0) & (right != 0)
        result = without_underflow(context, result, tiny)
    if stays_finite(operator, constants, context.result):
        return result
    varying = [value for value, constant in zip((left, right), constants, strict=True) if constant is None]
    limit = finite_limit(operator, constants, context.result)
    if limit is not None and len(varying) == 1:
        return context.fail_where(result, (varying[0].abs() > limit) & varying[0].is_finite(), "float_overflow")
    # An infinite dividend is the only operand that makes a quotient infinite without an overflow.
    operands = [left] if operator == "/" and constants[0] is None else varying or [left, right]
    return checked_float(context, result, *operands)


def _with_constant(context: CallContext, left: pl.Expr, right: pl.Expr) -> tuple[pl.Expr, int | None]:
    """The operand that varies, and the other if it is a constant integer."""
    first, second = context.constant(0), context.constant(1)
    if isinstance(second, int):
        return left, second
    return right, first if isinstance(first, int) else None


def _wide(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A type in which no sum of two values overflows."""
    return value.cast(pl.Int128 if pg_type.name == "int8" else pl.Int64)


@define(_with_mixed("-"), "Difference.", family=_FAMILY, result=_sum_type)
def subtract(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    pg_type = context.result
    if pg_type.name in FLOATS:
        return _float(context, left - right, "-", left, right)
    if pg_type.name == "numeric":
        a, b = _align(context, left, right)
        return check_digits(context, a - b)
    shift = context.constant(1)
    if pg_type.name == "int8" and isinstance(shift, int):
        return within(context, left - right, left, shift_bounds(-shift))
    return checked_int(context, _wide(left, pg_type) - _wide(right, pg_type), pg_type)


def _product_type(types: tuple[PgType, ...]) -> PgType:
    if types[0].name != "numeric":
        return _float_or_first(types)
    scale = types[0].scale + types[1].scale
    exact = types[0].exact and types[1].exact and scale <= _MOST_SCALE
    return numeric(min(scale, _MOST_SCALE), exact)


@define(_with_mixed("*"), "Product.", family=_FAMILY, result=_product_type)
def multiply(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    pg_type = context.result
    if pg_type.name in FLOATS:
        return _float(context, left * right, "*", left, right)
    if pg_type.name == "numeric":
        return _numeric_product(context, left, right)
    varying, factor = _with_constant(context, left, right)
    if pg_type.name == "int8" and factor is not None:
        return within(context, left * right, varying, factor_bounds(factor))
    return checked_int(context, _wide(left, pg_type) * _wide(right, pg_type), pg_type)


def _numeric_product(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Digits beyond the most that are kept are taken from the longer operand first."""
    scales = [context.types[0].scale, context.types[1].scale]
    surplus = sum(scales) - context.result.scale
    if surplus:
        longer = 0 if scales[0] >= scales[1] else 1
        shortened = scales[longer] - surplus
        if longer == 0:
            left = rescale(context, left, scales[0], shortened)
        else:
            right = rescale(context, right, scales[1], shortened)
    return product(context, left, right)


def _quotient_type(types: tuple[PgType, ...]) -> PgType:
    if types[0].name != "numeric":
        return _float_or_first(types)
    return numeric(max(QUOTIENT_SCALE, types[0].scale, types[1].scale), exact=False)


@define(_with_mixed("/"), "Quotient; of integers cut towards zero.", family=_FAMILY, result=_quotient_type)
def divide(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    pg_type = context.result
    whole = constant_divisor(context, pg_type)
    if whole is not None:
        return quotient_by(left, whole, pg_type)
    divisor = _divisor(context, left, right)
    if pg_type.name in FLOATS:
        quotient = float_quotient(left, right) if context.constant(1) else left / divisor
        return _float(context, quotient, "/", left, right)
    if pg_type.name == "numeric":
        return _numeric_quotient(context, left, divisor)
    if pg_type.name == "int8":
        wide = truncated_quotient(left.cast(pl.Int128), divisor.cast(pl.Int128))
    else:
        wide = truncated_quotient(left.cast(pl.Int64), divisor.cast(pl.Int64))
    return checked_int(context, wide, pg_type)


def _divisor(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The divisor, with an error where it is zero and the dividend is there, and a number."""
    if context.constant(1):
        return right
    zero = right == 0
    divided = left.is_not_nan() if context.result.name in FLOATS else left.is_not_null()
    return context.fail_where(pl.when(zero).then(1).otherwise(right), zero & divided, "division_by_zero")


def _numeric_quotient(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """left / right at the result's scale, an error where it has more than 38 digits."""
    digits = context.result.scale - context.types[0].scale + context.types[1].scale
    too_long = (left.cast(pl.Float64) / right.cast(pl.Float64)).abs() >= 1.0e38 / 10.0**digits
    quotient = quotient_as_shown(left, right, (context.types[0], context.types[1]), context.result.scale)
    return context.fail_where(quotient, too_long, "numeric_range")


@define(
    _each("%", "int2", "int4", "int8", "numeric") + "; " + _each("mod", "int2", "int4", "int8", "numeric"),
    "Remainder, with the dividend's sign.",
    family=_FAMILY,
    result=_sum_type,
)
def modulo(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if context.result.name == "numeric":
        left, right = _align(context, left, right)
    whole = constant_divisor(context, context.result)
    if whole is not None:
        return remainder_by(left, whole, context.result)
    divisor = _divisor(context, left, right)
    wide = pl.Int128 if context.result.name in ("numeric", "int8") else pl.Int64
    rest = (left.cast(wide).abs() % divisor.cast(wide).abs()) * left.cast(wide).sign()
    return rest.cast(context.result.polars)


@define("div(numeric, numeric) -> numeric", "Quotient cut towards zero.", family=_FAMILY)
def integer_quotient(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    a, b = _align(context, left, right)
    return truncated_quotient(a, _divisor(context, a, b))


@define(
    "-(int2) -> int2; -(int4) -> int4; -(int8) -> int8; -(float4) -> float4; -(float8) -> float8",
    "Negation.",
    family=_FAMILY,
)
def negate(context: CallContext, value: pl.Expr) -> pl.Expr:
    if context.result.name in FLOATS:
        return -value
    return checked_int(context, pl.lit(0, dtype=pl.Int64) - _wide(value, context.result), context.result)


@define(
    "+(int2) -> int2; +(int4) -> int4; +(int8) -> int8; +(float4) -> float4; +(float8) -> float8",
    "The number itself.",
    family=_FAMILY,
)
def plus(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value


@define("+(numeric) -> numeric", "The number itself.", family=_FAMILY, result=lambda types: types[0])
def plus_numeric(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value


@define("-(numeric) -> numeric", "Negation.", family=_FAMILY, result=lambda types: types[0])
def negate_numeric(context: CallContext, value: pl.Expr) -> pl.Expr:
    return pl.lit(0, dtype=pl.Int128) - value


@define(_each("&", "int2", "int4", "int8"), "Bitwise AND.", family=_FAMILY)
def bit_and(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left & right


@define(_each("|", "int2", "int4", "int8"), "Bitwise OR.", family=_FAMILY)
def bit_or(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left | right


@define(_each("#", "int2", "int4", "int8"), "Bitwise exclusive OR.", family=_FAMILY)
def bit_xor(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left ^ right


@define("~(int2) -> int2; ~(int4) -> int4; ~(int8) -> int8", "Bitwise NOT.", family=_FAMILY)
def bit_not(context: CallContext, value: pl.Expr) -> pl.Expr:
    return (-1 - value.cast(pl.Int64)).cast(context.result.polars)


def _shift(context: CallContext, value: pl.Expr, count: pl.Expr, left: bool) -> pl.Expr:
    """Shifts as the machine does: the count modulo the width, bits lost at the end."""
    width = {"int2": 32, "int4": 32, "int8": 64}[context.result.name]
    distance = (count % width).cast(pl.Int64)
    factor = table(distance, [2**n for n in range(64)])
    wide = value.cast(pl.Int128)
    if not left:
        return (wide // factor).cast(context.result.polars)
    size = 2 ** {"int2": 16, "int4": 32, "int8": 64}[context.result.name]
    half = size // 2
    rest = (wide * factor) % pl.lit(size, dtype=pl.Int128)
    return pl.when(rest >= half).then(rest - size).otherwise(rest).cast(context.result.polars)


@define("<<(int2, int4) -> int2; <<(int4, int4) -> int4; <<(int8, int4) -> int8", "Shift left.", family=_FAMILY)
def shift_left(context: CallContext, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    return _shift(context, value, count, left=True)


@define(">>(int2, int4) -> int2; >>(int4, int4) -> int4; >>(int8, int4) -> int8", "Shift right.", family=_FAMILY)
def shift_right(context: CallContext, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    return _shift(context, value, count, left=False)
