"""dates, times and timestamps as text, in PostgreSQL's reading (ISO, session zone UTC). Pure Python.

Values are whole numbers: days since 1970-01-01, microseconds since midnight, micro- or nanoseconds since 1970 in UTC.
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from query.writtendates import NoSuchDay, NoSuchHour, iso_form
from query.zones import UnknownZone, Zone, local_to_utc, zone_named

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
US_PER_DAY: Final = 86_400_000_000
_MOMENT: Final = re.compile(
    r"\s*(?P<year>\d{4,})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:(?:[T ]\s*|\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d*))?)?)?"
    r"\s*(?P<zone>Z|[-+]\d{1,2}(?::?\d{2})?(?::?\d{2})?|[A-Za-z][\w+/-]*)?\s*$",
    re.IGNORECASE,
)
_COMPACT: Final = re.compile(r"\s*(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2}))?\s*$")
_BARE: Final = re.compile(r"[\s%]*(\d+)[\s%]*$")
_TIME: Final = re.compile(r"\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d*))?)?\s*(AM|PM)?\s*$", re.IGNORECASE)
_OFFSET: Final = re.compile(r"([-+])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?$")


class BadMoment(ValueError):
    """The text has not the form of a date or time."""


class MomentOutOfRange(ValueError):
    """The form is right, a field is not: month 13, hour 25."""


def offset_of(text: str) -> Zone:
    """The zone of a timestamp's suffix: `Z`, `+02:00` (east of UTC), `Europe/Paris`, `EST`."""
    match = _OFFSET.match(text)
    if match is None:
        try:
            return zone_named(text)
        except UnknownZone as error:
            if text.isalpha():
                raise BadMoment(text) from error
            raise
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    if hours > 15 or minutes > 59:
        raise MomentOutOfRange(text)
    shift = hours * 3600 + minutes * 60 + seconds
    return Zone(seconds=-shift if match[1] == "-" else shift)


def parse_moment(text: str, with_zone: bool, unit: str = "us") -> int:
    """Units since 1970. A suffix counts only `with_zone`, as in PostgreSQL; without one the zone is UTC.

    >>> parse_moment("1970-01-01T00:00:01+01:00", with_zone=True)
    -3599000000
    """
    if text.strip().lower() == "epoch":
        return 0
    match = _COMPACT.match(text)
    if match is not None:
        fields, fraction, zone = [int(part or 0) for part in match.groups()], "", None
    else:
        match = _MOMENT.match(text)
        if match is None or (match["zone"] or "").lower() in ("am", "pm"):
            return _parse_written(text, with_zone, unit)
        names = ("year", "month", "day", "hour", "minute", "second")
        fields, fraction, zone = [int(match[name] or 0) for name in names], match["fraction"] or "", match["zone"]
    if fields[3] * 3600 + fields[4] * 60 + fields[5] >= 86_400 and int(fraction or 0):
        raise MomentOutOfRange(text)
    whole = _whole_seconds(fields, zone if with_zone else None, text)
    if zone is not None and not with_zone:
        offset_of(zone)
    return _with_fraction(whole, fraction, unit)


def _parse_number(digits: str, with_zone: bool, unit: str) -> int:
    """A bare number: a date if it has six digits, yymmdd; PostgreSQL takes others for a field without the rest."""
    if len(digits) == 6:
        century = "20" if digits < "70" else "19"
        return parse_moment(f"{century}{digits}", with_zone, unit)
    if int(digits) == 0 or len(digits) > 6 or (len(digits) == 2 and int(digits) > 12):
        raise MomentOutOfRange(digits)
    raise BadMoment(digits)


def _parse_written(text: str, with_zone: bool, unit: str) -> int:
    """A date in words or between slashes."""
    bare = _BARE.match(text)
    if bare is not None:
        return _parse_number(bare[1], with_zone, unit)
    try:
        form = iso_form(text)
    except NoSuchHour as error:
        raise MomentOutOfRange(text) from error
    except NoSuchDay as error:
        raise BadMoment(text) from error
    if form is None or _MOMENT.match(form) is None:
        raise BadMoment(text)
    return parse_moment(form, with_zone, unit)


def _whole_seconds(fields: list[int], zone: str | None, text: str) -> int:
    carry = 0
    if fields[3] == 24 and fields[4] == fields[5] == 0:
        fields, carry = [*fields[:3], 0, 0, 0], 86_400
    elif fields[5] == 60:
        fields, carry = [*fields[:5], 59], 1
    offset = offset_of(zone) if zone else Zone()
    try:
        moment = local_to_utc(datetime(*fields), offset)  # type: ignore[arg-type]
    except (ValueError, OverflowError) as error:
        raise MomentOutOfRange(text) from error
    difference = moment - EPOCH
    return difference.days * 86_400 + difference.seconds + carry


def _with_fraction(whole: int, fraction: str, unit: str) -> int:
    digits = 9 if unit == "ns" else 6
    padded = (fraction + "0" * (digits + 1))[: digits + 1]
    last = int(padded[:digits]) + (1 if int(padded[digits]) >= 5 else 0)
    second: int = 10**digits
    return whole * second + last


def parse_date(text: str) -> int:
    """Days since 1970-01-01; a time after the date is read and dropped."""
    return parse_moment(text, with_zone=False) // US_PER_DAY


def parse_time(text: str) -> int:
    """Microseconds since midnight."""
    match = _TIME.match(text)
    if match is None:
        return parse_moment(text, with_zone=False) % US_PER_DAY
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[5]:
        if not 1 <= hour <= 12:
            raise MomentOutOfRange(text)
        hour = hour % 12 + (12 if match[5].upper() == "PM" else 0)
    whole = _with_fraction(hour * 3600 + minute * 60 + second, match[4] or "", "us")
    if minute > 59 or second > 60 or whole > US_PER_DAY:
        raise MomentOutOfRange(text)
    return whole


def to_datetime(us: int, zone: tzinfo | None = UTC) -> datetime:
    """The moment `us` microseconds after 1970."""
    return (EPOCH + timedelta(microseconds=us)).astimezone(zone) if zone else EPOCH + timedelta(microseconds=us)
