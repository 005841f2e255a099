"""Dates, times and intervals. The session's time zone is UTC."""

from collections.abc import Callable
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.interval_fields import interval, interval_parts
from query.expr.intervals import checked_interval, scaled_interval, sum_of_intervals
from query.expr.row_errors import declare_row_error, declared_error
from query.expr.time_limits import FIRST_US, LAST_US, checked_moment, shown_moment
from query.functions.registry import argument_names, define
from query.functions.time_fields import field_named, microseconds, no_unit, quotient, rest
from query.pg.intervals import DAY, HOUR, MINUTE, Interval, IntervalOutOfRange, days_justified, hours_justified, justify
from query.pg.types import PgType

declare_row_error("date_range", fault.DATETIME_OVERFLOW, "date out of range")
declare_row_error("whole_day", fault.FEATURE_NOT_SUPPORTED, "the time 24:00:00 is not supported")
declare_row_error("infinite_time", fault.FEATURE_NOT_SUPPORTED, "an infinite time is not supported")
declare_row_error("field_range", fault.DATETIME_OVERFLOW, "date/time field value out of range")

_FAMILY = "Date and time"
_MOMENTS = ("timestamp", "timestamptz")
_FIRST_DAY: Final = -2_440_588
_LAST_DAY: Final = 2_145_042_906
"""PostgreSQL's dates in days since 1970: from 4713 BC to the year 5874897."""

_TRUNCATIONS: Final = {
    "microseconds": "1us",
    "milliseconds": "1ms",
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
}


def _second_kind(types: tuple[PgType, ...]) -> PgType:
    return types[1]


@define(
    "date_trunc(text!, timestamp) -> timestamp; date_trunc(text!, timestamptz) -> timestamptz",
    "Cut to a field: second, minute, hour, day, week, month, quarter, year ...",
    family=_FAMILY,
    result=_second_kind,
)
def date_trunc(context: CallContext, field: object, value: pl.Expr) -> pl.Expr:
    return truncate(context, field_named(context, field), value)


def truncate(context: CallContext, name: str, value: pl.Expr) -> pl.Expr:
    """A time cut to a field."""
    every = _TRUNCATIONS.get(name)
    if every is not None:
        return value.dt.truncate(every)
    years = {"decade": 10, "century": 100, "millennium": 1000}.get(name)
    if years is None:
        raise no_unit(context, name)
    start = value.dt.year().cast(pl.Int64)
    first = (start // 10) * 10 if years == 10 else ((start - 1) // years) * years + 1
    first = context.fail_where(first, first < 1, "far_date")
    return value.dt.truncate("1y").dt.offset_by(pl.concat_str([(first - start).cast(pl.String), pl.lit("y")]))


@define("date_trunc(text!, interval) -> interval", "Cut to a field.", family=_FAMILY)
def date_trunc_interval(context: CallContext, field: object, value: pl.Expr) -> pl.Expr:
    name = field_named(context, field)
    months, days, us = (value.struct.field(part).cast(pl.Int64) for part in ("months", "days", "us"))
    units = {"second": 1_000_000, "minute": MINUTE, "hour": HOUR, "milliseconds": 1000, "microseconds": 1}
    zero = pl.lit(0, dtype=pl.Int64)
    if name in units:
        return interval(months, days, _cut(us, units[name]))
    steps = {"day": None, "month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}
    if name not in steps:
        raise fault.unsupported(f"date_trunc of an interval to {name}", context.position)
    step = steps[name]
    return interval(months, days, zero) if step is None else interval(_cut(months, step), zero, zero)


def _cut(value: pl.Expr, unit: int) -> pl.Expr:
    return (value.abs() // unit) * unit * value.sign()


@define(
    "date_bin(interval!, timestamp, timestamp) -> timestamp; "
    "date_bin(interval!, timestamptz, timestamptz) -> timestamptz",
    "Start of the bin of a given width that the time falls in.",
    family=_FAMILY,
    result=_second_kind,
)
def date_bin(context: CallContext, stride: object, value: pl.Expr, origin: pl.Expr) -> pl.Expr:
    months, days, us = stride if isinstance(stride, tuple) else (0, 0, 0)
    if months:
        message = "timestamps cannot be binned into intervals containing months or years"
        raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, context.position)
    width = days * DAY + us
    if abs(days * DAY) >= 2**63 or abs(width) >= 2**63:
        raise fault.invalid(fault.DATETIME_OVERFLOW, "interval out of range", context.position)
    if width <= 0:
        message = "stride must be greater than zero"
        raise fault.invalid(fault.DATETIME_OVERFLOW, message, context.position)
    pg_type = context.types[1]
    scale = 1000 if pg_type.unit == "ns" else 1
    start = origin.to_physical().cast(pl.Int64) * (scale if context.types[2].unit != "ns" else 1)
    distance = value.to_physical().cast(pl.Int64) - start
    step: int = width * scale
    return shown_moment(context, (start + (distance // step) * step).cast(pg_type.polars), pg_type)


# --- arithmetic ----------------------------------------------------------------------------------------------------


def _left_kind(types: tuple[PgType, ...]) -> PgType:
    return types[0]


_FAR_MONTHS: Final = 12 * 10_000
_NEVER_MONTHS: Final = 12 * 300_000
"""Months that lead from every year that answers show to none, and to none that PostgreSQL has."""


def _near(context: CallContext, months: pl.Expr) -> pl.Expr:
    """Months that Polars can add to a time."""
    size = months.abs()
    in_range = pl.when(size <= _FAR_MONTHS).then(months).otherwise(0)
    in_range = context.fail_where(in_range, size > _NEVER_MONTHS, "timestamp_range")
    return context.fail_where(in_range, (size > _FAR_MONTHS) & (size <= _NEVER_MONTHS), "far_date")


def _shift(context: CallContext, value: pl.Expr, amount: pl.Expr, sign: int, pg_type: PgType) -> pl.Expr:
    """Months first (the day cut to the month's length), then days, then microseconds."""
    months, days, us = (amount.struct.field(part).cast(pl.Int64) * sign for part in ("months", "days", "us"))
    months = _near(context, months)
    text = pl.concat_str([months.cast(pl.String), pl.lit("mo")])
    shifted = pl.when(months == 0).then(value).otherwise(value.dt.offset_by(text))
    scale = 1000 if pg_type.unit == "ns" else 1
    wide = shifted.to_physical().cast(pl.Int128) + (days.cast(pl.Int128) * DAY + us) * scale
    return checked_moment(context, wide, pg_type)


@define(
    "+(timestamp, interval) -> timestamp; +(timestamptz, interval) -> timestamptz",
    "Later by an interval.",
    family=_FAMILY,
    result=_left_kind,
    mirrored="+",
)
def add_interval(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return _shift(context, value, amount, 1, context.types[0])


@define(
    "-(timestamp, interval) -> timestamp; -(timestamptz, interval) -> timestamptz",
    "Earlier by an interval.",
    family=_FAMILY,
    result=_left_kind,
)
def subtract_interval(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return _shift(context, value, amount, -1, context.types[0])


@define("date_add(timestamptz, interval) -> timestamptz", "Later by an interval, in UTC.", family=_FAMILY)
def later_moment(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return add_interval(context, value, amount)


@define("date_subtract(timestamptz, interval) -> timestamptz", "Earlier by an interval, in UTC.", family=_FAMILY)
def earlier_moment(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return subtract_interval(context, value, amount)


@define("+(date, interval) -> timestamp", "Later by an interval.", family=_FAMILY, mirrored="+")
def date_add_interval(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return _shift(context, value.cast(pl.Datetime("us")), amount, 1, context.result)


@define("-(date, interval) -> timestamp", "Earlier by an interval.", family=_FAMILY)
def date_subtract_interval(context: CallContext, value: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return _shift(context, value.cast(pl.Datetime("us")), amount, -1, context.result)


def _day(context: CallContext, days: pl.Expr) -> pl.Expr:
    beyond = (days < FIRST_US // DAY) | (days >= LAST_US // DAY)
    day = pl.when(~beyond).then(days).cast(pl.Int32).cast(pl.Date)
    day = context.fail_where(day, (days < _FIRST_DAY) | (days >= _LAST_DAY), "date_range")
    return context.fail_where(day, beyond, "far_date")


@define("+(date, int4) -> date", "Later by days.", family=_FAMILY, mirrored="+")
def date_add(context: CallContext, value: pl.Expr, days: pl.Expr) -> pl.Expr:
    return _day(context, value.to_physical().cast(pl.Int64) + days)


@define("-(date, int4) -> date", "Earlier by days.", family=_FAMILY)
def date_subtract(context: CallContext, value: pl.Expr, days: pl.Expr) -> pl.Expr:
    return _day(context, value.to_physical().cast(pl.Int64) - days)


@define("-(date, date) -> int4", "Days between.", family=_FAMILY)
def date_difference(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return (left.to_physical().cast(pl.Int64) - right.to_physical().cast(pl.Int64)).cast(pl.Int32)


@define(
    "-(timestamp, timestamp) -> interval; -(timestamptz, timestamptz) -> interval",
    "Time between, in days and hours.",
    family=_FAMILY,
)
def moment_difference(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    us = microseconds(left, context.types[0]) - microseconds(right, context.types[1])
    return interval(pl.lit(0, dtype=pl.Int32), quotient(us, DAY), rest(us, DAY))


@define("+(date, time) -> timestamp", "A date at a time.", family=_FAMILY)
def date_at_time(context: CallContext, value: pl.Expr, clock: pl.Expr) -> pl.Expr:
    return (value.to_physical().cast(pl.Int64) * DAY + clock.to_physical() // 1000).cast(pl.Datetime("us"))


@define("-(time, time) -> interval", "Time between.", family=_FAMILY)
def time_difference(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    us = (left.to_physical() - right.to_physical()) // 1000
    zero = pl.lit(0, dtype=pl.Int32)
    return interval(zero, zero, us)


@define("+(time, interval) -> time", "Later by an interval, around midnight.", family=_FAMILY, mirrored="+")
def time_add(context: CallContext, clock: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return ((clock.to_physical() // 1000 + interval_parts(amount)[2]) % DAY * 1000).cast(pl.Time)


@define("-(time, interval) -> time", "Earlier by an interval, around midnight.", family=_FAMILY)
def time_subtract(context: CallContext, clock: pl.Expr, amount: pl.Expr) -> pl.Expr:
    return ((clock.to_physical() // 1000 - interval_parts(amount)[2]) % DAY * 1000).cast(pl.Time)


@define("+(interval, interval) -> interval", "Sum.", family=_FAMILY)
def add_intervals(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return sum_of_intervals(context, left, right)


@define("-(interval, interval) -> interval", "Difference.", family=_FAMILY)
def subtract_intervals(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return sum_of_intervals(context, left, right, -1)


@define("-(interval) -> interval", "Negation.", family=_FAMILY)
def negate_interval(context: CallContext, value: pl.Expr) -> pl.Expr:
    zero = pl.lit(0, dtype=pl.Int128)
    return checked_interval(context, *(zero - part for part in interval_parts(value)))


@define("*(interval, float8) -> interval", "So many times.", family=_FAMILY, mirrored="*")
def multiply_interval(context: CallContext, value: pl.Expr, factor: pl.Expr) -> pl.Expr:
    return scaled_interval(context, value, factor)


@define("/(interval, float8) -> interval", "A part.", family=_FAMILY)
def divide_interval(context: CallContext, value: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    divisor = context.fail_where(divisor, (divisor == 0) & value.is_not_null(), "division_by_zero")
    return scaled_interval(context, value, divisor, divides=True)


# --- functions -----------------------------------------------------------------------------------------------------


@define(
    "age(timestamp, timestamp) -> interval; age(timestamptz, timestamptz) -> interval",
    "Time between in years, months, days and hours.",
    family=_FAMILY,
)
def age(context: CallContext, later: pl.Expr, earlier: pl.Expr) -> pl.Expr:
    """Fields are borrowed from the next greater one; a borrowed month has the length of the earlier date's."""
    forward = later >= earlier
    high = pl.when(forward).then(later).otherwise(earlier)
    low = pl.when(forward).then(earlier).otherwise(later)
    pg_type = context.types[0]
    us = microseconds(high, pg_type) % DAY - microseconds(low, pg_type) % DAY
    borrow_day = (us < 0).cast(pl.Int64)
    days = high.dt.day().cast(pl.Int64) - low.dt.day().cast(pl.Int64) - borrow_day
    borrow_month = (days < 0).cast(pl.Int64)
    month_days = low.dt.days_in_month().cast(pl.Int64)
    days = days + borrow_month * month_days
    months = (high.dt.year() - low.dt.year()).cast(pl.Int64) * 12
    months = months + high.dt.month().cast(pl.Int64) - low.dt.month().cast(pl.Int64) - borrow_month
    sign = pl.when(forward).then(1).otherwise(-1)
    return interval(months * sign, days * sign, (us + borrow_day * DAY) * sign)


def _justify(context: CallContext, value: pl.Expr, rule: Callable[[int, int, int], Interval]) -> pl.Expr:
    def parts(months: int, days: int, us: int) -> dict[str, int]:
        try:
            return dict(zip(("months", "days", "us"), rule(months, days, us), strict=True))
        except IntervalOutOfRange as error:
            raise declared_error("interval_range", context.position) from error

    return context.rowwise(parts, *interval_parts(value))


@define("justify_hours(interval) -> interval", "24 hours become a day.", family=_FAMILY)
def justify_hours(context: CallContext, value: pl.Expr) -> pl.Expr:
    return _justify(context, value, hours_justified)


@define("justify_interval(interval) -> interval", "justify_days and justify_hours.", family=_FAMILY)
def justify_interval(context: CallContext, value: pl.Expr) -> pl.Expr:
    return _justify(context, value, justify)


@define("justify_days(interval) -> interval", "30 days become a month.", family=_FAMILY)
def justify_days(context: CallContext, value: pl.Expr) -> pl.Expr:
    return _justify(context, value, days_justified)


@define("to_timestamp(float8) -> timestamptz", "The instant so many seconds after 1970.", family=_FAMILY)
def to_timestamp(context: CallContext, seconds: pl.Expr) -> pl.Expr:
    seconds = context.fail_where(seconds, seconds.is_infinite(), "infinite_time")
    seconds = context.fail_where(seconds, seconds.is_nan() | (seconds.abs() > 1e13), "timestamp_range")
    since = ((seconds - _YEAR_2000) * 1_000_000).round(0, mode="half_to_even").cast(pl.Int128)
    return checked_moment(context, since + pl.lit(_YEAR_2000 * 1_000_000, dtype=pl.Int128), context.result)


_YEAR_2000: Final = 946_684_800
"""Seconds from 1970 to PostgreSQL's epoch; it rounds what is between the two, so fractions do as well."""


@define("make_date(int4, int4, int4) -> date", "A date of year, month, day.", family=_FAMILY, skips_null_rows=True)
def make_date(context: CallContext, year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    bad = (year == 0) | (month < 1) | (month > 12) | (day < 1) | (day > 31)
    last = pl.when(month == 2).then(28 + ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))).cast(pl.Int32))
    bad = bad | (day > last.when(month.is_in([4, 6, 9, 11])).then(30).otherwise(31))
    far = (year < 0) | (year > 9999)
    is_valid = ~bad & ~far
    day_value = pl.date(*(pl.when(is_valid).then(part) for part in (year, month, day)))
    day_value = context.fail_where(day_value, (year < -4713) | (year > 5_874_897), "date_range")
    return context.fail_where(context.fail_where(day_value, bad, "field_range"), far & ~bad, "far_date")


def _clock(context: CallContext, hour: pl.Expr, minute: pl.Expr, second: pl.Expr) -> pl.Expr:
    """Microseconds since midnight: 60 seconds are taken, and 24:00:00."""
    bad = (hour < 0) | (hour > 24) | (minute < 0) | (minute > 59) | ~second.is_between(0, 60)
    us = (pl.when(~bad).then(second) * 1_000_000.0).round(0, mode="half_to_even").cast(pl.Int64)
    clock = hour.cast(pl.Int64) * HOUR + minute.cast(pl.Int64) * MINUTE + us
    return context.fail_where(clock, bad | (clock > DAY), "field_range")


@define(
    "make_timestamp(int4, int4, int4, int4, int4, float8) -> timestamp",
    "A timestamp of its fields.",
    family=_FAMILY,
    skips_null_rows=True,
)
def make_timestamp(
    context: CallContext, year: pl.Expr, month: pl.Expr, day: pl.Expr, hour: pl.Expr, minute: pl.Expr, second: pl.Expr
) -> pl.Expr:
    date = make_date(context, year, month, day).to_physical().cast(pl.Int64)
    return (date * DAY + _clock(context, hour, minute, second)).cast(pl.Datetime("us"))


@define("make_time(int4, int4, float8) -> time", "A time of its fields.", family=_FAMILY, skips_null_rows=True)
def make_time(context: CallContext, hour: pl.Expr, minute: pl.Expr, second: pl.Expr) -> pl.Expr:
    us = _clock(context, hour, minute, second)
    return (context.fail_where(us, us == DAY, "whole_day") * 1000).cast(pl.Time)


@define(
    "isfinite(date) -> bool; isfinite(timestamp) -> bool; isfinite(timestamptz) -> bool; isfinite(interval) -> bool",
    "Always true: there are no infinite times.",
    family=_FAMILY,
)
def isfinite(context: CallContext, value: pl.Expr) -> pl.Expr:
    return pl.when(value.is_not_null()).then(True)


@define(
    "make_interval(int4, int4, int4, int4, int4, int4, float8) -> interval",
    "An interval of years, months, weeks, days, hours, mins, secs; arguments may be named, and left out.",
    family=_FAMILY,
    skips_null_rows=True,
)
def make_interval(context: CallContext, *parts: pl.Expr) -> pl.Expr:
    years, months, weeks, days, hours, minutes = (part.cast(pl.Int128) for part in parts[:6])
    seconds = (parts[6] * 1_000_000.0).round(0, mode="half_to_even")
    seconds = context.fail_where(seconds, seconds.is_infinite() & parts[6].is_finite(), "float_overflow")
    seconds = context.fail_where(seconds, ~seconds.is_between(-(2.0**63), 2.0**63 - 1024), "interval_range")
    us = hours * HOUR + minutes * MINUTE + seconds.cast(pl.Int128)
    return checked_interval(context, years * 12 + months, weeks * 7 + days, us)


argument_names("make_date", "year, month, day")
argument_names("make_time", "hour, min, sec")
argument_names("make_timestamp", "year, month, mday, hour, min, sec")
argument_names("make_interval", "years, months, weeks, days, hours, mins, secs", defaults=(0,) * 7)
