"""Fields of dates, times and intervals: extract and date_part."""

from dataclasses import replace
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import float_quotient
from query.functions.registry import define
from query.pg.intervals import DAY, HOUR, MINUTE
from query.pg.types import TIMESTAMP, PgType, numeric

_FAMILY = "Date and time"
_NAMES: Final = {
    **dict.fromkeys(("year", "years", "y", "yr", "yrs"), "year"),
    **dict.fromkeys(("month", "months", "mon", "mons"), "month"),
    **dict.fromkeys(("day", "days", "d"), "day"),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "minutes", "m", "min", "mins"), "minute"),
    **dict.fromkeys(("second", "seconds", "s", "sec", "secs"), "second"),
    **dict.fromkeys(("millisecond", "milliseconds", "ms", "msec", "msecs"), "milliseconds"),
    **dict.fromkeys(("microsecond", "microseconds", "us", "usec", "usecs"), "microseconds"),
    **dict.fromkeys(("week", "weeks", "w"), "week"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("decade", "decades", "dec", "decs"), "decade"),
    **dict.fromkeys(("century", "centuries", "c", "cent"), "century"),
    **dict.fromkeys(("millennium", "millennia", "mil", "mils"), "millennium"),
    **dict.fromkeys(("timezone_hour", "timezone_h"), "timezone_hour"),
    **dict.fromkeys(("timezone_minute", "timezone_m"), "timezone_minute"),
    **{name: name for name in ("dow", "isodow", "doy", "isoyear", "epoch", "julian", "timezone")},
}


def field_named(context: CallContext, field: object) -> str:
    """The field that a word means. Raises 22023 for a word that means none."""
    name = _NAMES.get(str(field).lower())
    if name is None:
        message = f'unit "{str(field)[:40]}" not recognized for type {context.types[-1].sql_name}'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    return name


_EXTRACTED: Final = ("dow", "isodow", "doy", "isoyear", "epoch", "julian")


def no_unit(context: CallContext, name: str) -> Exception:
    """The error for a field that a type cannot be cut to: some words mean a field to extract and nothing else."""
    type_name = context.types[1].sql_name
    if name in _EXTRACTED:
        return fault.invalid(
            fault.INVALID_PARAMETER, f'unit "{name}" not recognized for type {type_name}', context.position
        )
    return fault.invalid(
        fault.FEATURE_NOT_SUPPORTED, f'unit "{name}" not supported for type {type_name}', context.position
    )


def microseconds(value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """Microseconds since 1970; nanoseconds are cut."""
    physical = value.to_physical().cast(pl.Int64)
    return physical // 1000 if pg_type.unit == "ns" else physical


def quotient(value: pl.Expr, unit: int) -> pl.Expr:
    """Whole units, towards zero."""
    return (value.abs() // unit) * value.sign()


def rest(value: pl.Expr, unit: int) -> pl.Expr:
    """The remainder of whole units, with the sign of the value."""
    return (value.abs() % unit) * value.sign()


def _extract_type(types: tuple[PgType, ...]) -> PgType:
    return numeric(6, exact=False)


_EXTRACTABLE: Final = ("timestamp", "timestamptz", "date", "time", "interval")


@define(
    "; ".join(f"extract(text!, {type_name}) -> numeric" for type_name in _EXTRACTABLE),
    "A field of a time as numeric.",
    family=_FAMILY,
    result=_extract_type,
)
def extract(context: CallContext, field: object, value: pl.Expr) -> pl.Expr:
    name = field_named(context, field)
    return _fields(context, name, value).cast(pl.Int128)


@define(
    "; ".join(f"date_part(text!, {type_name}) -> float8" for type_name in _EXTRACTABLE),
    "A field of a time as float8.",
    family=_FAMILY,
)
def date_part(context: CallContext, field: object, value: pl.Expr) -> pl.Expr:
    """A date is taken for its midnight, so it has an hour here, unlike for extract."""
    name = field_named(context, field)
    if context.types[1].name == "date" and name != "julian":
        value = value.cast(pl.Datetime("us"))
        context = replace(context, types=(context.types[0], TIMESTAMP))
    return float_quotient(_fields(context, name, value).cast(pl.Float64), pl.lit(1_000_000.0, dtype=pl.Float64))


def _fields(context: CallContext, name: str, value: pl.Expr) -> pl.Expr:
    """A field in millionths."""
    pg_type = context.types[1]
    million = 1_000_000
    if pg_type.name == "interval":
        return _interval_field(context, name, value)
    if pg_type.name == "time":
        return _clock_field(context, name, value.to_physical() // 1000)
    if name in ("hour", "minute", "second", "milliseconds", "microseconds"):
        if pg_type.name == "date":
            raise _no_field(context, name)
        return _clock_field(context, name, microseconds(value, pg_type) % DAY)
    if name == "epoch":
        if pg_type.name == "date":
            return value.to_physical().cast(pl.Int64) * DAY
        return microseconds(value, pg_type)
    if name.startswith("timezone") and pg_type.name == "timestamptz":
        return pl.when(value.is_not_null()).then(pl.lit(0, dtype=pl.Int64))
    if name == "julian":
        return _julian(context, value, pg_type)
    calendar = _calendar(name, value)
    if calendar is None:
        raise _no_field(context, name)
    return calendar.cast(pl.Int64) * million


def _julian(context: CallContext, value: pl.Expr, pg_type: PgType) -> pl.Expr:
    """Days since 4713 BC."""
    if pg_type.name != "date":
        raise fault.unsupported(f"extract(julian) of {pg_type.sql_name}", context.position, "cast to date")
    return (value.to_physical().cast(pl.Int64) + _JULIAN_1970) * 1_000_000


_JULIAN_1970: Final = 2_440_588


def _calendar(name: str, value: pl.Expr) -> pl.Expr | None:
    date, year = value.dt, value.dt.year().cast(pl.Int64)
    simple = {
        "year": date.year,
        "month": date.month,
        "day": date.day,
        "doy": date.ordinal_day,
        "week": date.week,
        "isoyear": date.iso_year,
        "quarter": date.quarter,
        "isodow": date.weekday,
    }
    if name in simple:
        return simple[name]()
    if name == "dow":
        return date.weekday().cast(pl.Int64) % 7
    if name == "decade":
        return year // 10
    if name == "century":
        return (year - 1) // 100 + 1
    return (year - 1) // 1000 + 1 if name == "millennium" else None


def _clock_field(context: CallContext, name: str, us: pl.Expr) -> pl.Expr:
    million = 1_000_000
    within_minute = us % MINUTE
    parts = {
        "hour": (us // HOUR) * million,
        "minute": (us // MINUTE % 60) * million,
        "second": within_minute,
        "milliseconds": within_minute * 1000,
        "microseconds": within_minute * million,
        "epoch": us,
    }
    if name not in parts:
        raise _no_field(context, name)
    return parts[name]


def _interval_field(context: CallContext, name: str, value: pl.Expr) -> pl.Expr:
    months, days, us = (value.struct.field(part).cast(pl.Int64) for part in ("months", "days", "us"))
    million = 1_000_000
    if name == "epoch":
        seconds = quotient(months, 12) * 31_557_600 + rest(months, 12) * 30 * 86_400 + days * 86_400
        # Microseconds of more than 292,000 years are beyond 64 bits.
        return seconds.cast(pl.Int128) * million + us
    clock = {
        "hour": quotient(us, HOUR) * million,
        "minute": rest(quotient(us, MINUTE), 60) * million,
        "second": rest(us, MINUTE),
        "milliseconds": rest(us, MINUTE) * 1000,
        "microseconds": rest(us, MINUTE) * million,
        "day": days * million,
        "week": quotient(days, 7) * million,
        "month": rest(months, 12) * million,
        "quarter": _quarter(rest(months, 12)) * million,
        "year": quotient(months, 12) * million,
        "decade": quotient(months, 120) * million,
        "century": quotient(months, 1200) * million,
        "millennium": quotient(months, 12000) * million,
    }
    if name not in clock:
        raise _no_field(context, name)
    return clock[name]


def _quarter(months: pl.Expr) -> pl.Expr:
    """The quarter that months of a year are in; before a negative year's end it counts back."""
    third = quotient(months, 3)
    return pl.when(months < 0).then(third - 1).otherwise(third + 1)


def _no_field(context: CallContext, name: str) -> Exception:
    message = f'unit "{name}" not supported for type {context.types[1].sql_name}'
    return fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, context.position)
