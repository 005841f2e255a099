"""dates, times and timestamps as text, in PostgreSQL's reading (ISO, session zone UTC). Pure Python.

Values are whole numbers: days since 1970-01-01, microseconds since midnight, micro- or nanoseconds since 1970 in UTC.
"""

import calendar
import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from query.pg.clock import Clock
from query.pg.date_input import Moment, check_date, check_time, offset_of, read_moment, read_time
from query.pg.date_parts import UnsupportedMoment
from query.pg.time_zones import Zone, local_to_utc

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
UTC_ZONE: Final = Zone()
US_PER_DAY: Final = 86_400_000_000
_MOMENT: Final = re.compile(
    r"\s*(?P<year>\d{4,})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:(?:[T ]\s*|\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d*))?)?)?"
    r"\s*(?P<zone>Z|[-+]\d{1,2}(?::?\d{2})?(?::\d{2})?)?\s*$",
    re.IGNORECASE | re.ASCII,
)


def parse_moment(
    text: str, with_zone: bool, unit: str = "us", zone: Zone = UTC_ZONE, clock: Clock | None = None
) -> int:
    """Units since 1970. A suffix counts only `with_zone`, as in PostgreSQL; without one the session's zone does.
    Without a clock `today` is refused.

    >>> parse_moment("1970-01-01T00:00:01+01:00", with_zone=True)
    -3599000000
    """
    if text.strip().lower() == "epoch":
        return 0
    match = _MOMENT.match(text)
    if match is None:
        return _whole_units(read_moment(text, clock), with_zone, unit, zone)
    names = ("year", "month", "day", "hour", "minute", "second")
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in names)
    moment = Moment(set(), year, month, day, hour, minute, second, match["fraction"] or "")
    check_date(moment)
    check_time(moment)
    if match["zone"]:
        moment.zone = Zone() if match["zone"] in "zZ" else offset_of(match["zone"])
    return _whole_units(moment, with_zone, unit, zone)


def _whole_units(time: Moment, with_zone: bool, unit: str, session_zone: Zone) -> int:
    """Units since 1970. A second that is 60 and an hour that is 24 are the next minute and day."""
    zone = (session_zone if time.zone is None else time.zone) if with_zone else Zone()
    clock = timedelta(hours=time.hour, minutes=time.minute, seconds=time.second)
    try:
        moment = local_to_utc(datetime(time.year, time.month, time.day) + clock, zone)
    except OverflowError as error:
        raise UnsupportedMoment("a date outside of the years 1 to 9999") from error
    difference = moment - EPOCH
    return _with_fraction(difference.days * 86_400 + difference.seconds, time.fraction, unit)


def _with_fraction(whole: int, fraction: str, unit: str) -> int:
    digits = 9 if unit == "ns" else 6
    padded = (fraction + "0" * (digits + 1))[: digits + 1]
    last = int(padded[:digits]) + (1 if int(padded[digits]) >= 5 else 0)
    second: int = 10**digits
    return whole * second + last


def parse_date(text: str, clock: Clock | None = None) -> int:
    """Days since 1970-01-01; a time after the date is read and dropped."""
    return parse_moment(text, with_zone=False, clock=clock) // US_PER_DAY


def parse_time(text: str, clock: Clock | None = None) -> int:
    """Microseconds since midnight."""
    moment = read_time(text, clock)
    return _with_fraction(moment.hour * 3600 + moment.minute * 60 + moment.second, moment.fraction, "us")


def to_datetime(us: int, zone: tzinfo | None = UTC) -> datetime:
    """The moment `us` microseconds after 1970."""
    return (EPOCH + timedelta(microseconds=us)).astimezone(zone) if zone else EPOCH + timedelta(microseconds=us)


def months_later(moment: datetime, months: int) -> datetime:
    """A moment some months later, its day cut to the month's length.

    >>> months_later(datetime(2026, 1, 31), 1)
    datetime.datetime(2026, 2, 28, 0, 0)
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))
