"""to_timestamp and to_date by template: times made of the fields that were read from texts.

Source: PostgreSQL documentation, "Data Type Formatting Functions"; formatting.c, do_to_timestamp. A field that is 0
counts as one that is not there.
"""

from calendar import isleap
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from math import fmod
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.patterns.templates import tokens
from query.pg.patterns.time_template import TimeFields, read_fields
from query.pg.time_zones import Zone, local_to_utc
from query.pg.timestamps import EPOCH, EPOCH_DAY, UTC_ZONE

_FAMILY: Final = "Formatting"
_JULIAN: Final = 1_721_425
"""The Julian day of a date is its ordinal and so many days."""
_DAY_SECONDS: Final = 86_400
_US: Final = timedelta(microseconds=1)
_MOST_ZONE_HOURS: Final = 15
# Fractions are rounded away from this moment (AdjustTimestampForTypmod).
_TURN: Final = datetime(2000, 1, 1, tzinfo=UTC)
_BEFORE_MONTH: Final = {
    leap: (0, *accumulate((31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31))) for leap in (False, True)
}


@dataclass(slots=True)
class _Day:
    """A day as its fields make it up. `told`: which of the three were told, and not filled in."""

    year: int = 0
    month: int = 1
    day: int = 1
    told: set[str] = field(default_factory=set)

    def put(self, ordinal: int) -> None:
        """Raises UnsupportedLiteral outside of the years 1 to 9999."""
        try:
            found = date.fromordinal(ordinal)
        except (ValueError, OverflowError) as error:
            raise _far() from error
        self.year, self.month, self.day = found.year, found.month, found.day
        self.told = {"year", "month", "day"}

    def checked(self, text: str) -> date:
        """Raises 22008 for a day that is in no calendar, UnsupportedLiteral."""
        whole = len(self.told) == 3
        most = _BEFORE_MONTH[isleap(self.year)] if whole else ()
        if not (1 <= self.month <= 12 and 1 <= self.day <= 31):
            raise _overflow(text)
        if whole and self.day > most[self.month] - most[self.month - 1]:
            raise _overflow(text)
        if not 1 <= self.year <= 9999:
            raise _far()
        return date(self.year, self.month, self.day)


def _day(fields: TimeFields, text: str) -> date:
    """The day of the fields, each kind of which may set what another one has set."""
    day = _Day(_year(fields))
    if fields["year"] or fields["century"]:
        day.told.add("year")
    if fields["julian"]:
        day.put(fields["julian"] - _JULIAN)
    if fields["week"] and fields.is_iso:
        day.put(_of_week(day.year, fields["week"], fields["weekday"]))
    if fields["week of month"] or fields["day"]:
        first = (fields["week of month"] - 1) * 7 + 1
        day.day = first if fields["week of month"] else fields["day"]
        day.told.add("day")
    if fields["month"]:
        day.month = fields["month"]
        day.told.add("month")
    _number_in_year(day, fields)
    return day.checked(text)


def _year(fields: TimeFields) -> int:
    """The year, 0 being 1 BC. Of a century alone it is the first, as 2001 of the 21st."""
    year, century = fields["year"], fields["century"]
    if not century or (year and not fields.is_short):
        year = -year if fields["bc"] else year
        return year + 1 if year < 0 else year
    century = -century if fields["bc"] else century
    if not year:
        return (century - 1) * 100 + 1 if century >= 0 else century * 100 + 1
    rest = int(fmod(year, 100))
    if not rest:
        return century * 100 + (century < 0)
    return rest + (century - 1) * 100 if century >= 0 else (century + 1) * 100 - rest + 1


def _of_week(year: int, week: int, weekday: int) -> int:
    """The ordinal of a day of an ISO week: its Monday unless a weekday is told, Sunday being 1."""
    if not 1 <= year <= 9999:
        raise _far()
    fourth = date(year, 1, 4)
    monday = fourth.toordinal() - fourth.weekday() + (week - 1) * 7
    if not weekday:
        return monday
    return monday + weekday - 2 if weekday > 1 else monday + 6


def _number_in_year(day: _Day, fields: TimeFields) -> None:
    """The month and day of a day's number in its year, as far as neither is told otherwise."""
    number = fields["day of year"]
    if fields["week"] and not fields.is_iso:
        number = (fields["week"] - 1) * 7 + 1
    if not number or (day.month > 1 and day.day > 1):
        return
    if not day.year and not fields["bc"]:
        message = "cannot calculate day of year without year information"
        raise BadLiteral(fault.INVALID_DATETIME, message)
    if fields.is_iso:
        day.put(_of_week(day.year, 1, 0) + number - 1)
        return
    before = _BEFORE_MONTH[isleap(day.year)]
    month = next((month for month in range(1, 13) if number <= before[month]), 13)
    day.month = month if day.month <= 1 else day.month
    day.day = number - before[month - 1] if day.day <= 1 else day.day
    day.told |= {"month", "day"}


def _clock(fields: TimeFields, text: str) -> timedelta:
    """The time of day. Raises 22007 for an hour that no twelve-hour clock has, 22008."""
    minutes, second = divmod(fields["second of day"], 60)
    hour, minute = divmod(minutes, 60)
    hour, minute, second = fields["hour"] or hour, fields["minute"] or minute, fields["second"] or second
    if fields.is_twelve_hours:
        if not 1 <= hour <= 12:
            message = f'hour "{hour}" is invalid for the 12-hour clock'
            raise BadLiteral(fault.INVALID_DATETIME, message)
        hour = hour % 12 + 12 * fields["pm"]
    us = fields["millisecond"] * 1000 + fields["microsecond"]
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= us < 1_000_000):
        raise _overflow(text)
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=us)


def _offset(fields: TimeFields) -> int | None:
    """Seconds east of UTC; None if the text does not say. Raises 22009."""
    if not fields.sign:
        return fields.offset
    hour, minute = fields["zone hour"], fields["zone minute"]
    if not (0 <= hour <= _MOST_ZONE_HOURS and 0 <= minute < 60):
        raise BadLiteral("22009", "time zone displacement out of range")
    return fields.sign * (hour * 3600 + minute * 60)


def _rounded(moment: datetime, digits: int) -> datetime:
    """The moment with so many digits of its fraction, 0: all."""
    if not digits:
        return moment
    us, unit = (moment - _TURN) // _US, int(10 ** (6 - digits))
    size = (abs(us) + unit // 2) // unit * unit
    return _TURN + timedelta(microseconds=size if us >= 0 else -size)


def _overflow(text: str) -> BadLiteral:
    return BadLiteral(fault.DATETIME_OVERFLOW, f'date/time field value out of range: "{text[:100]}"')


def _far() -> UnsupportedLiteral:
    return UnsupportedLiteral("a date outside of the years 1 to 9999, as without a year,")


def reader(template: object, zone: Zone | None = UTC_ZONE) -> Callable[[str], datetime]:
    """What reads a moment by the template, on the clock of `zone` unless the text says another; of None, which dates
    are read with, always in UTC. Raises BadLiteral, UnsupportedLiteral."""
    parsed = tokens(str(template))

    def read(text: str) -> datetime:
        fields = read_fields(text, parsed)
        clock, offset = _clock(fields, text), _offset(fields)
        moment = datetime.combine(_day(fields, text), time()) + clock
        if zone is None:
            return moment.replace(tzinfo=UTC)
        try:
            told = moment.replace(tzinfo=UTC) - timedelta(seconds=offset or 0)
            return _rounded(told if offset is not None else local_to_utc(moment, zone), fields.precision)
        except OverflowError as error:
            raise _far() from error

    return read


@define(
    "to_timestamp(text, text!) -> timestamptz", "An instant by template, in UTC unless it says where.", family=_FAMILY
)
def to_timestamp(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    read = reader(template)
    return context.rowwise(lambda text: (read(text) - EPOCH) // timedelta(microseconds=1), value)


@define("to_date(text, text!) -> date", "A date by template.", family=_FAMILY)
def to_date(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    # The zone of a text moves no date (to_date, formatting.c).
    read = reader(template, None)
    return context.rowwise(lambda text: read(text).date().toordinal() - EPOCH_DAY, value)
