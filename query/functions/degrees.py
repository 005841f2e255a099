"""Trigonometry in degrees, whose exact values are exact: sind(30) is 0.5. Source: float.c of PostgreSQL."""

import math
from collections.abc import Callable
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.functions.registry import define

_FAMILY = "Mathematics"
_RADIANS: Final = math.pi / 180
_SIN_30: Final = math.sin(30 * _RADIANS)
_ONE_MINUS_COS_60: Final = 1 - math.cos(60 * _RADIANS)
_ASIN_HALF: Final = math.asin(0.5)
_ACOS_HALF: Final = math.acos(0.5)
_ATAN_ONE: Final = math.atan(1.0)


def _small_sine(angle: float) -> float:
    """Of 0 to 30 degrees."""
    return math.sin(angle * _RADIANS) / _SIN_30 / 2


def _small_cosine(angle: float) -> float:
    """Of 0 to 60 degrees."""
    return 1 - (1 - math.cos(angle * _RADIANS)) / _ONE_MINUS_COS_60 / 2


def _sine(angle: float) -> float:
    """Of 0 to 90 degrees."""
    return _small_sine(angle) if angle <= 30 else _small_cosine(90 - angle)


def _cosine(angle: float) -> float:
    return _small_cosine(angle) if angle <= 60 else _small_sine(90 - angle)


def _arc_sine(value: float) -> float:
    """In degrees, of 0 to 1."""
    return math.asin(value) / _ASIN_HALF * 30 if value <= 0.5 else 90 - math.acos(value) / _ACOS_HALF * 60


def _arc_cosine(value: float) -> float:
    return 90 - math.asin(value) / _ASIN_HALF * 30 if value <= 0.5 else math.acos(value) / _ACOS_HALF * 60


def _first_quadrant(angle: float) -> tuple[float, int, int]:
    """The angle as one of 0 to 90 degrees, and the signs of its sine and cosine."""
    rest = math.fmod(angle, 360)
    sine = 1
    if rest < 0:  # Not of a negative zero, whose sine is one, too.
        rest, sine = -rest, -1
    if rest > 180:
        rest, sine = 360 - rest, -sine
    return (180 - rest, sine, -1) if rest > 90 else (rest, sine, 1)


def _sind(angle: float) -> float:
    rest, sign, _ = _first_quadrant(angle)
    return sign * _sine(rest)


def _cosd(angle: float) -> float:
    rest, _, sign = _first_quadrant(angle)
    return sign * _cosine(rest)


def _ratio(above: float, below: float, sign: int) -> float:
    """A quotient of sides, exactly 1 for 45 degrees; never a negative zero, whose sign an infinity keeps."""
    if below == 0:
        return sign * math.copysign(math.inf, below)
    result = sign * (above / below)
    return 0.0 if result == 0 else result


def _tand(angle: float) -> float:
    rest, sine, cosine = _first_quadrant(angle)
    return _ratio(_sine(rest) / (_sine(45) / _cosine(45)), _cosine(rest), sine * cosine)


def _cotd(angle: float) -> float:
    rest, sine, cosine = _first_quadrant(angle)
    return _ratio(_cosine(rest) / (_cosine(45) / _sine(45)), _sine(rest), sine * cosine)


def _asind(value: float) -> float:
    return _arc_sine(value) if value >= 0 else -_arc_sine(-value)


def _acosd(value: float) -> float:
    return _arc_cosine(value) if value >= 0 else 90 + _arc_sine(-value)


def _register(name: str, summary: str, function: Callable[[float], float], of_angle: bool) -> None:
    @define(f"{name}(float8) -> float8", summary, family=_FAMILY)
    def build(context: CallContext, value: pl.Expr) -> pl.Expr:
        outside = value.is_infinite() if of_angle else (value.abs() > 1) & value.is_not_nan()
        value = context.fail_where(value, outside, "input_range")
        return context.rowwise(lambda number: number if math.isnan(number) else function(number), value)


_register("sind", "Sine of degrees.", _sind, True)
_register("cosd", "Cosine of degrees.", _cosd, True)
_register("tand", "Tangent of degrees.", _tand, True)
_register("cotd", "Cotangent of degrees.", _cotd, True)
_register("asind", "Arc sine in degrees.", _asind, False)
_register("acosd", "Arc cosine in degrees.", _acosd, False)


@define("atand(float8) -> float8", "Arc tangent in degrees.", family=_FAMILY)
def atand(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda number: math.atan(number) / _ATAN_ONE * 45, value)


@define("atan2d(float8, float8) -> float8", "Arc tangent of y / x in degrees.", family=_FAMILY)
def atan2d(context: CallContext, y: pl.Expr, x: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda above, right: math.atan2(above, right) / _ATAN_ONE * 45, y, x)
