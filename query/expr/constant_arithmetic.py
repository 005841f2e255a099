"""Arithmetic with a constant operand: what can overflow is known before a row is seen, so less has to be checked.

A 128-bit detour costs three to four times the plain operation, a comparison with a bound a third of it
(docs/decisions/sql-engine.md).
"""

import math
import sys
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.pg.types import INTEGER_LIMITS, PgType
from query.plan.tree import Value

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
Bounds = tuple[int, int]

_HALF_LAST_PLACE: Final = {"float8": 2.0**970, "float4": 2.0**103}
"""The least number that, added to the largest finite one, rounds to infinity."""


def shift_bounds(shift: int) -> Bounds:
    """The int8 values that stay int8 when `shift` is added."""
    return _LEAST - shift, _MOST - shift


def factor_bounds(factor: int) -> Bounds:
    """The int8 values that stay int8 when they are multiplied by `factor`.

    >>> factor_bounds(-1)
    (-9223372036854775807, 9223372036854775808)
    """
    if factor == 0:
        return _LEAST, _MOST
    ends = (_LEAST, _MOST) if factor > 0 else (_MOST, _LEAST)
    return -(-ends[0] // factor), ends[1] // factor


def within(context: CallContext, result: pl.Expr, value: pl.Expr, bounds: Bounds) -> pl.Expr:
    """`result`, or `bigint out of range` where `value` is outside the bounds."""
    least, most = bounds
    outside = []
    if least > _LEAST:
        outside.append(value < pl.lit(least, dtype=pl.Int64))
    if most < _MOST:
        outside.append(value > pl.lit(most, dtype=pl.Int64))
    return context.fail_where(result, pl.any_horizontal(outside), "int8_range") if outside else result


def constant_divisor(context: CallContext, pg_type: PgType) -> int | None:
    """An integer divisor that makes division safe: neither 0 nor -1, and with an absolute value of its own type."""
    divisor = context.constant(1)
    if pg_type.name not in INTEGER_LIMITS or not isinstance(divisor, int):
        return None
    return divisor if divisor not in (0, -1) and -divisor < INTEGER_LIMITS[pg_type.name] else None


def quotient_by(value: pl.Expr, divisor: int, pg_type: PgType) -> pl.Expr:
    """value / divisor cut towards zero; Polars' own rounds down, which for negative values is one less."""
    size = abs(divisor)
    above = pl.when(value < 0).then(pl.lit(size - 1, dtype=pg_type.polars)).otherwise(pl.lit(0, dtype=pg_type.polars))
    quotient = (value + above) // pl.lit(size, dtype=pg_type.polars)
    return quotient if divisor > 0 else -quotient


def remainder_by(value: pl.Expr, divisor: int, pg_type: PgType) -> pl.Expr:
    """The remainder with the sign of `value`; Polars' own has the divisor's."""
    size = pl.lit(abs(divisor), dtype=pg_type.polars)
    rest = value % size
    return pl.when((value < 0) & (rest != 0)).then(rest - size).otherwise(rest)


def stays_nonzero(operator: str, constants: tuple[Value, Value]) -> bool:
    """True when the operation with a constant operand makes no float but zero zero."""
    if operator in ("+", "-"):
        return True
    left, right = constants
    constant = left if operator == "*" and right is None else right
    if not isinstance(constant, int | float):
        return False
    size = abs(float(constant))
    return (size >= 1 or size == 0) if operator == "*" else size <= 1 or not math.isfinite(size)


def stays_finite(operator: str, constants: tuple[Value, Value], pg_type: PgType) -> bool:
    """True when the operation with a constant operand makes no finite float infinite."""
    left, right = constants
    if operator == "/" and right is None:
        return False
    constant = left if right is None else right
    if not isinstance(constant, int | float):
        return False
    size = abs(float(constant))
    if not math.isfinite(size):
        return True
    return {"*": size <= 1, "/": size >= 1}.get(operator, size < _HALF_LAST_PLACE[pg_type.name])


def finite_limit(operator: str, constants: tuple[Value, Value], pg_type: PgType) -> float | None:
    """The largest float8 that multiplied by a constant, or divided by one, is finite; None for other operations.

    >>> from query.pg.types import FLOAT8
    >>> finite_limit("*", (None, 2.0), FLOAT8) == sys.float_info.max / 2
    True
    """
    left, right = constants
    constant = left if right is None else right
    has_limit = operator == "*" or (operator == "/" and right is not None)
    if not has_limit or pg_type.name != "float8" or not isinstance(constant, int | float) or not constant:
        return None
    size = abs(float(constant))
    apply = size.__mul__ if operator == "*" else size.__rtruediv__
    limit = sys.float_info.max / size if operator == "*" else sys.float_info.max * size
    while math.isinf(apply(limit)):
        limit = math.nextafter(limit, 0)
    while math.isfinite(apply(math.nextafter(limit, math.inf))):
        limit = math.nextafter(limit, math.inf)
    return limit
