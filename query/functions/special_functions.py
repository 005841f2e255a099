"""Inverse hyperbolic functions, the error function, factorials, and the digits of numerics."""

import bisect
import math
from collections.abc import Callable
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.pg.types import NUMERIC_DIGITS, PgType, numeric

declare_row_error("negative_factorial", fault.NUMERIC_OUT_OF_RANGE, "factorial of a negative number is undefined")
declare_row_error("bucket_null", "22004", "thresholds array must not contain NULLs")

_FAMILY = "Mathematics"
_MOST_FACTORIAL: Final = 33
"""33! has 37 digits; more than 38 do not fit."""


def _over_floats(name: str, summary: str, function: Callable[[float], float]) -> None:
    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def build(context: CallContext, value: pl.Expr) -> pl.Expr:
        return context.rowwise(function, value)


_over_floats("erf", "Error function.", math.erf)
_over_floats("erfc", "Complementary error function.", math.erfc)
_over_floats("asinh", "Inverse hyperbolic sine.", math.asinh)


@define("acosh(float8) -> float8", "Inverse hyperbolic cosine.", family=_FAMILY)
def acosh(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = context.fail_where(value, value < 1, "input_range")
    return context.rowwise(math.acosh, value)


@define("atanh(float8) -> float8", "Inverse hyperbolic tangent.", family=_FAMILY)
def atanh(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = context.fail_where(value, (value.abs() > 1) & value.is_not_nan(), "input_range")
    return context.rowwise(lambda one: math.copysign(math.inf, one) if abs(one) == 1 else math.atanh(one), value)


@define("factorial(int8) -> numeric", "Factorial.", family=_FAMILY)
def factorial(context: CallContext, value: pl.Expr) -> pl.Expr:
    value = context.fail_where(value, value < 0, "negative_factorial")
    value = context.fail_where(value, value > _MOST_FACTORIAL, "numeric_range")
    return context.rowwise(math.factorial, value)


def _trimmed(types: tuple[PgType, ...]) -> PgType:
    return numeric(types[0].scale, exact=types[0].scale == 0)


def _digits_needed(digits: int, scale: int) -> int:
    """Digits after the point without zeros at their end.

    >>> _digits_needed(1500, 3), _digits_needed(0, 3)
    (1, 0)
    """
    while scale and digits % 10 == 0:
        digits, scale = digits // 10, scale - 1
    return scale


@define("min_scale(numeric) -> int4", "Digits after the point that the number needs.", family=_FAMILY)
def min_scale(context: CallContext, value: pl.Expr) -> pl.Expr:
    scale = context.types[0].scale
    return context.rowwise(lambda digits: _digits_needed(digits, scale), value)


@define("scale(numeric) -> int4", "Digits after the point.", family=_FAMILY)
def scale(context: CallContext, value: pl.Expr) -> pl.Expr:
    pg_type = context.types[0]
    if not pg_type.exact:
        raise fault.unsupported("the scale of a numeric whose number of digits depends on the data", context.position)
    return pl.when(value.is_not_null()).then(pl.lit(min(pg_type.scale, NUMERIC_DIGITS), dtype=pl.Int32))


@define("trim_scale(numeric) -> numeric", "Without zeros at the end.", family=_FAMILY, result=_trimmed)
def trim_scale(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value


def _in_base(name: str, summary: str, form: str) -> None:
    @define(f"{name}(int4) -> text; {name}(int8) -> text", summary, family="Text")
    def build(context: CallContext, value: pl.Expr) -> pl.Expr:
        mask = 2**32 - 1 if context.types[0].name == "int4" else 2**64 - 1
        return context.rowwise(lambda number: format(number & mask, form), value)


_in_base("to_bin", "Binary digits.", "b")
_in_base("to_oct", "Octal digits.", "o")


def _greatest_nan(value: object) -> tuple[bool, object]:
    """A key by which NaN is greater than every number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


_BUCKETED: Final = ("int2", "int4", "int8", "numeric", "float4", "float8", "text", "date", "timestamp", "timestamptz")


@define(
    "width_bucket(anyelement, anyarray) -> int4",
    "Number of the bucket between the thresholds of a sorted array; 0 below the first.",
    family=_FAMILY,
)
def width_bucket_of(context: CallContext, value: pl.Expr, thresholds: pl.Expr) -> pl.Expr:
    if context.types[0].name not in _BUCKETED:
        raise fault.unsupported(f"width_bucket of {context.types[0].sql_name}", context.position)
    contains_null = thresholds.list.eval(pl.element().is_null()).list.any()
    thresholds = context.fail_where(thresholds, contains_null & value.is_not_null(), "bucket_null")

    def bucket(one: object, items: list[object]) -> int:
        keys: list[tuple[bool, object]] = [_greatest_nan(item) for item in items]
        return bisect.bisect_right(keys, _greatest_nan(one))

    return context.rowwise(bucket, value, thresholds)
