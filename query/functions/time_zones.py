"""Wall clocks of time zones: AT TIME ZONE, and cutting times to the days of a zone."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.time_limits import LAST_US, shown_moment
from query.functions.dates import make_timestamp, truncate
from query.functions.registry import argument_names, define
from query.functions.time_fields import field_named
from query.pg.bad_values import UnsupportedLiteral
from query.pg.intervals import SECOND
from query.pg.time_zones import UnknownZone, UnsupportedZone, Zone, local_to_utc, zone_named
from query.pg.timestamps import EPOCH
from query.pg.types import INT8, PgType

_FAMILY = "Date and time"
_LAST_SECOND: Final = LAST_US // SECOND - 86_400
"""The last day of the year 9999, which some zone's clock has left."""

_LAST_YEAR: Final = 2099
"""Polars' zone rules end here; Python's go on."""


def zone_of(context: CallContext, name: object) -> Zone:
    """The zone of a name. Raises 22023 for none."""
    try:
        return zone_named(str(name))
    except UnknownZone as error:
        message = f'time zone "{str(name)[:60]}" not recognized'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position) from error
    except UnsupportedZone as error:
        raise fault.unsupported(str(error), context.position) from error


_NUMERIC_ZONE: Final = re.compile(r"([-+])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_MOST_SECONDS: Final = 15 * 3600 + 59 * 60 + 59


def _eastern(context: CallContext, name: object) -> Zone:
    """The zone of a name, a numeric one as ISO 8601 has it: `+2` is two hours east of UTC. Unlike AT TIME ZONE, whose
    numbers count west as POSIX has it (timestamp.c, parse_sane_timezone)."""
    text = str(name)
    if text[:1].isdigit():
        message = f'invalid input syntax for type numeric time zone: "{text[:60]}"'
        hint = 'Numeric time zones must have "-" or "+" as first character.'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position, hint)
    match = _NUMERIC_ZONE.fullmatch(text)
    if match is None:
        return zone_of(context, name)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST_SECONDS:
        message = f'numeric time zone "{text}" out of range'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    return Zone(seconds=-total if match[1] == "-" else total)


def _offset(context: CallContext, amount: object) -> Zone:
    """The zone of an interval, which counts east of UTC."""
    months, days, us = amount if isinstance(amount, tuple) else (0, 0, 0)
    if months or days:
        message = "interval time zone must not include months or days"
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    return Zone(seconds=us // SECOND)


def to_local(context: CallContext, value: pl.Expr, zone: Zone) -> pl.Expr:
    """The local time of an instant in the zone."""
    if not zone.name:
        return _shift(context, value, zone.seconds)
    near = value.dt.convert_time_zone(zone.name).dt.replace_time_zone(None)

    def shift(seconds: int) -> int:
        if seconds >= _LAST_SECOND:
            raise UnsupportedLiteral("a date outside of the years 1 to 9999")
        moment = (EPOCH + timedelta(seconds=seconds)).astimezone(zone.rules)
        return seconds + int((moment.utcoffset() or timedelta()).total_seconds())

    return _with_far(context, value, near, shift)


def to_utc(context: CallContext, local: pl.Expr, zone: Zone) -> pl.Expr:
    """The instant at which the zone's clock shows a time. A reading that occurs twice means standard time; one that is
    skipped is moved forward by the gap."""
    if not zone.name:
        return _shift(context, local, -zone.seconds)
    direct = local.dt.replace_time_zone(zone.name, ambiguous="latest", non_existent="null")
    near = direct.dt.convert_time_zone("UTC")

    def shift(seconds: int) -> int:
        if seconds >= _LAST_SECOND:
            raise UnsupportedLiteral("a date outside of the years 1 to 9999")
        moment = local_to_utc((EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None), zone)
        return int((moment - EPOCH).total_seconds())

    return _with_far(context, local, near, shift)


def _shift(context: CallContext, value: pl.Expr, seconds: int) -> pl.Expr:
    unit = 10**9 if context.result.unit == "ns" else 10**6
    return (value.to_physical() + seconds * unit).cast(context.result.polars)


def _with_far(context: CallContext, value: pl.Expr, near: pl.Expr, shift: Callable[[int], int]) -> pl.Expr:
    """`near`, but shifted in Python where the clock skips a reading and beyond the last year of Polars' rules."""
    far = (value.dt.year() > _LAST_YEAR) | (near.is_null() & value.is_not_null())
    unit = 10**9 if context.result.unit == "ns" else 10**6
    physical = pl.when(far).then(value.to_physical())
    seconds = CallContext((INT8,), INT8, context.position).rowwise(shift, physical // unit)
    moved = (seconds * unit + physical % unit).cast(context.result.polars)
    return pl.when(far).then(moved).otherwise(near.cast(context.result.polars))


def _other_moment(types: tuple[PgType, ...]) -> PgType:
    target = "timestamptz" if types[1].name == "timestamp" else "timestamp"
    return PgType(target, unit=types[1].unit)


def _convert(context: CallContext, value: pl.Expr, zone: Zone) -> pl.Expr:
    convert = to_local if context.types[1].name == "timestamptz" else to_utc
    return shown_moment(context, convert(context, value, zone), context.types[1])


@define(
    "timezone(text!, timestamp) -> timestamptz; timezone(text!, timestamptz) -> timestamp",
    "AT TIME ZONE: a wall clock as an instant, or an instant on a wall clock.",
    family=_FAMILY,
    result=_other_moment,
)
def timezone(context: CallContext, zone: object, value: pl.Expr) -> pl.Expr:
    return _convert(context, value, zone_of(context, zone))


@define(
    "timezone(interval!, timestamp) -> timestamptz; timezone(interval!, timestamptz) -> timestamp",
    "AT TIME ZONE with an offset from UTC.",
    family=_FAMILY,
    result=_other_moment,
)
def timezone_offset(context: CallContext, offset: object, value: pl.Expr) -> pl.Expr:
    return _convert(context, value, _offset(context, offset))


@define(
    "date_trunc(text!, timestamptz, text!) -> timestamptz",
    "Cut to a field in a time zone.",
    family=_FAMILY,
    result=lambda types: types[1],
)
def date_trunc_zone(context: CallContext, field: object, value: pl.Expr, zone: object) -> pl.Expr:
    """A reading of the clock that occurs twice is cut to the hour that it was in; a day and more is read anew."""
    name, zone_offset = field_named(context, field), zone_of(context, zone)
    naive = PgType("timestamp", unit=context.types[1].unit)
    local = to_local(CallContext(context.types, naive, context.position), value, zone_offset)
    cut = truncate(context, name, local)
    if name not in _OF_A_DAY:
        return shown_moment(context, to_utc(context, cut, zone_offset), context.result)
    instant = value.to_physical() - (local.to_physical() - cut.to_physical())
    return shown_moment(context, instant.cast(context.result.polars), context.result)


_OF_A_DAY: Final = ("hour", "minute", "second", "milliseconds", "microseconds")


_FIELDS: Final = "int4, int4, int4, int4, int4, float8"


@define(
    f"make_timestamptz({_FIELDS}) -> timestamptz",
    "An instant of its fields in UTC.",
    family=_FAMILY,
    skips_null_rows=True,
)
def make_instant(context: CallContext, *fields: pl.Expr) -> pl.Expr:
    return make_timestamp(context, *fields).dt.replace_time_zone("UTC")


@define(
    f"make_timestamptz({_FIELDS}, text!) -> timestamptz",
    "An instant of its fields on a time zone's clock.",
    family=_FAMILY,
    skips_null_rows=True,
)
def make_instant_in_zone(context: CallContext, *fields: pl.Expr) -> pl.Expr:
    *parts, zone = fields
    local = make_timestamp(context, *parts)
    return shown_moment(context, to_utc(context, local, _eastern(context, zone)), context.result)


argument_names("make_timestamptz", "year, month, mday, hour, min, sec, timezone")
