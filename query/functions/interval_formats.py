"""to_char of intervals: their fields by template, each with a sign of its own. Source: formatting.c, DCH_to_char."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.interval_fields import interval_parts
from query.functions.formats import with_modifiers
from query.functions.registry import define
from query.pg.intervals import HOUR, MINUTE, SECOND
from query.pg.patterns.templates import tokens

_INVALID: Final = (
    *("MONTH", "MON", "DAY", "DY", "D", "ID", "TZ", "TZH", "TZM", "OF", "AD", "BC", "A.D.", "B.C."),
    *("W", "WW", "IW", "IYYY", "IYY", "IY", "I", "CC", "J", "Q", "IDDD"),
)
"""Fields that no interval has."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The fields of an interval, cut towards zero."""

    years: int
    months: int
    days: int
    hours: int
    minutes: int
    seconds: int
    us: int


def _span(months: int, days: int, us: int) -> _Span:
    def cut(value: int, unit: int) -> tuple[int, int]:
        whole = abs(value) // unit * (1 if value >= 0 else -1)
        return whole, value - whole * unit

    years, rest = cut(months, 12)
    hours, within_hour = cut(us, HOUR)
    minutes, within_minute = cut(within_hour, MINUTE)
    seconds, fraction = cut(within_minute, SECOND)
    return _Span(years, rest, days, hours, minutes, seconds, fraction)


def _padded(value: int, width: int) -> str:
    """With zeros up to the width; a minus is beside it."""
    return f"{value:0{width + (value < 0)}d}"


def _twelve(span: _Span) -> str:
    hour = abs(span.hours) % 12 * (1 if span.hours >= 0 else -1)
    return f"{12 if hour == 0 else hour:0{2 + (span.hours < 0)}d}"


def _half(upper: bool, dots: bool) -> Callable[[_Span], str]:
    def shown(span: _Span) -> str:
        text = "PM" if abs(span.hours) % 24 >= 12 and span.hours >= 0 else "AM"
        text = f"{text[0]}.M." if dots else text
        return text if upper else text.lower()

    return shown


def _fraction(digits: int) -> Callable[[_Span], str]:
    return lambda span: f"{int(span.us / 10 ** (6 - digits)):0{digits}d}"


_PRINTERS: Final[dict[str, Callable[[_Span], str]]] = {
    "HH24": lambda span: _padded(span.hours, 2),
    "HH12": _twelve,
    "HH": _twelve,
    "MI": lambda span: _padded(span.minutes, 2),
    "SS": lambda span: _padded(span.seconds, 2),
    "MS": lambda span: f"{int(span.us / 1000):03d}",
    "US": lambda span: f"{span.us:06d}",
    **{f"FF{digits}": _fraction(digits) for digits in range(1, 7)},
    **{name: (lambda span: str((span.hours * 60 + span.minutes) * 60 + span.seconds)) for name in ("SSSS", "SSSSS")},
    **{name: _half(True, False) for name in ("AM", "PM")},
    **{name: _half(False, False) for name in ("am", "pm")},
    **{name: _half(True, True) for name in ("A.M.", "P.M.")},
    **{name: _half(False, True) for name in ("a.m.", "p.m.")},
    "YYYY": lambda span: _padded(span.years, 4),
    "MM": lambda span: _padded(span.months, 2),
    "DD": lambda span: f"{span.days:02d}",
    "DDD": lambda span: f"{(span.years * 12 + span.months) * 30 + span.days:03d}",
}


@define("to_char(interval, text!) -> text", "An interval by template.", family="Formatting")
def to_char_interval(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    parsed = [token for token in tokens(str(template)) if token.field != "FX"]
    for token in parsed:
        if token.field.upper() in _INVALID:
            message = "invalid format specification for an interval value"
            raise fault.invalid(fault.INVALID_DATETIME, message, context.position)
        if token.field and token.field not in _PRINTERS:
            raise fault.unsupported(f"template pattern {token.field} of an interval", context.position)
    if not parsed:
        return pl.when(value.is_null() & value.is_not_null()).then(pl.lit(""))

    def shown(months: int, days: int, us: int) -> str:
        span = _span(months, days, us)
        texts = (with_modifiers(_PRINTERS[token.field](span), token) if token.field else token.text for token in parsed)
        return "".join(texts)

    return context.rowwise(shown, *interval_parts(value))
