"""interval texts, in and out, as PostgreSQL reads and writes them (IntervalStyle postgres). Pure Python."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

Interval = tuple[int, int, int]
"""Months, days, microseconds: three amounts that PostgreSQL never folds into each other."""

INFINITE: Final = ((-(2**31), -(2**31), -(2**63)), (2**31 - 1, 2**31 - 1, 2**63 - 1))
"""The parts by which PostgreSQL holds -infinity and infinity."""

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
DAYS_PER_MONTH: Final = 30
_SECONDS_PER_DAY: Final = 86_400
_MONTHS: Final = {"mil": 12_000, "c": 1200, "dec": 120, "y": 12, "mon": 1}
_DAYS: Final = {"w": 7, "d": 1}
_MICROSECONDS: Final = {"h": HOUR, "m": MINUTE, "s": SECOND, "ms": 1000, "us": 1}
_NAMES: Final = {
    **dict.fromkeys(("millennium", "millennia", "mil", "mils"), "mil"),
    **dict.fromkeys(("century", "centuries", "c", "cent"), "c"),
    **dict.fromkeys(("decade", "decades", "dec", "decs"), "dec"),
    **dict.fromkeys(("year", "years", "y", "yr", "yrs"), "y"),
    **dict.fromkeys(("month", "months", "mon", "mons"), "mon"),
    **dict.fromkeys(("week", "weeks", "w"), "w"),
    **dict.fromkeys(("day", "days", "d"), "d"),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), "h"),
    **dict.fromkeys(("minute", "minutes", "m", "min", "mins"), "m"),
    **dict.fromkeys(("second", "seconds", "s", "sec", "secs"), "s"),
    **dict.fromkeys(("millisecond", "milliseconds", "ms", "msec", "msecs", "msecond", "mseconds"), "ms"),
    **dict.fromkeys(("microsecond", "microseconds", "us", "usec", "usecs", "usecond", "useconds"), "us"),
}
_READ_LETTERS: Final = 10
"""PostgreSQL reads so many letters of a word, and lets more follow."""
_UNITS: Final = {name[:_READ_LETTERS]: unit for name, unit in _NAMES.items()}
_TOKEN: Final = re.compile(
    r"[\s,]*(?:(?P<clock>[-+]?\d+:\d+(?:(?::\d+)?\.\d*|:\d+)?)|(?P<years>[-+]?\d+-\d+)(?![\d.-])"
    r"|(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+))\s*(?P<unit>[A-Za-z]*)|(?P<ago>ago)\b)[\s,]*",
    re.IGNORECASE,
)
_SIGN_OF_NOTHING: Final = re.compile(r"[-+]\s*@")
_SIGN: Final = re.compile(r"([-+])\s+(?=[\d.])")
_HOURS: Final = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)\s*h(?:r|rs|our|ours)?(?![a-z])"
_CLOCK: Final = re.compile(rf"[-+]?\d+:\d+|{_HOURS}", re.IGNORECASE)
"""What a number without a unit is days before: a clock, or hours."""
_HOUR: Final = re.compile(rf"{_CLOCK.pattern}|[-+]?[\d.]+\s*$", re.IGNORECASE)
_ISO_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?(?!\d)")
_ISO_DATE: Final = {"Y": "y", "M": "mon", "W": "w", "D": "d"}
_ISO_TIME: Final = {"H": "h", "M": "m", "S": "s"}


_SECONDS: Final = ("s", "ms", "us")


class BadInterval(ValueError):
    """The text is no interval."""


class IntervalOutOfRange(BadInterval):
    """The form is right, a field is not."""


def parse_interval(text: str, fields: str = "") -> Interval:
    """The interval that PostgreSQL reads. `fields` are those that it is declared with, as `HOUR TO SECOND`: a number
    without a unit has the last of them.

    >>> parse_interval("1 day 02:30:00")
    (0, 1, 9000000000)
    """
    if text.strip()[:1] == "P":
        return _iso(text.strip())
    if _SIGN_OF_NOTHING.search(text):
        raise BadInterval(text)
    stripped = _SIGN.sub(r"\1", text.replace("@", " ").strip())
    default_unit = fields.split()[-1].lower() if fields else "second"
    total = [Fraction(0), Fraction(0), Fraction(0)]
    position, ago, fields_found = 0, False, set[str]()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None or ago:
            raise BadInterval(text)
        position = match.end()
        if match["ago"]:
            ago = True
            continue
        before_clock = (_HOUR if default_unit == "hour" else _CLOCK).match(stripped, position)
        if match["number"] and not match["unit"] and not before_clock and position < len(stripped):
            raise BadInterval(text)
        filled = _add(total, match, "day" if before_clock else default_unit, fields)
        if filled & fields_found:
            raise BadInterval(text)
        fields_found |= filled
    if not fields_found:
        raise BadInterval(text)
    return _whole([-part for part in total] if ago else total)


def _whole(total: list[Fraction]) -> Interval:
    """The parts as whole numbers. Raises IntervalOutOfRange for what an interval does not hold."""
    months, days, us = (int(part) for part in (total[0], total[1], _round(total[2])))
    if not -(2**31) <= months < 2**31 or not -(2**31) <= days < 2**31 or not -(2**63) <= us < 2**63:
        raise IntervalOutOfRange
    return months, days, us


def _add(total: list[Fraction], match: "re.Match[str]", default_unit: str, fields: str) -> set[str]:
    """The fields that this part of the text fills; each can be filled once."""
    if match["clock"]:
        total[2] += _clock(match["clock"], fields == "MINUTE TO SECOND")
        return {"h", "m", *_SECONDS}
    if match["years"]:
        years, months = match["years"].lstrip("+-").split("-")
        if int(months) > 11:
            raise IntervalOutOfRange(match["years"])
        total[0] += (int(years) * 12 + int(months)) * (-1 if match["years"][0] == "-" else 1)
        return {"mon"}
    unit = _UNITS.get((match["unit"] or default_unit)[:_READ_LETTERS].lower())
    if unit is None:
        raise BadInterval(match["unit"])
    amount = Fraction(match["number"])
    add_unit(total, unit, amount)
    return set(_SECONDS) if unit == "s" and amount.denominator > 1 else {unit}


def add_unit(total: list[Fraction], unit: str, amount: Fraction) -> None:
    """Adds `amount` units; a fraction goes to the next smaller field as PostgreSQL does."""
    if unit in _MONTHS:
        months = amount * _MONTHS[unit]
        whole = Fraction(int(months)) if unit == "mon" else Fraction(round(months))
        total[0] += whole
        if unit == "mon":
            _add_days(total, (months - whole) * DAYS_PER_MONTH)
    elif unit in _DAYS:
        _add_days(total, amount * _DAYS[unit])
    else:
        total[2] += amount * _MICROSECONDS[unit]


def _add_days(total: list[Fraction], days: Fraction) -> None:
    whole = Fraction(int(days))
    total[1] += whole
    total[2] += (days - whole) * DAY


def _round(value: Fraction) -> int:
    return round(value)


def _clock(text: str, is_short: bool) -> Fraction:
    """A clock: hours and minutes, or minutes and seconds where the interval has no other fields or a fraction."""
    parts = text.lstrip("+-").split(":")
    if len(parts) == 2 and (is_short or "." in parts[1]):
        parts = ["0", *parts]
    seconds = Fraction(parts[2]) if len(parts) > 2 else Fraction(0)
    if int(parts[1]) > 59 or seconds > 60:
        raise IntervalOutOfRange(text)
    amount = int(parts[0]) * HOUR + int(parts[1]) * MINUTE + seconds * SECOND
    return -amount if text[0] == "-" else Fraction(amount)


def _iso(text: str) -> Interval:
    """ISO 8601 with designators (`P1Y2M`), and its alternative forms, basic and extended (`P00010203T040506`,
    `P0001-02-03T04:05:06`). datetime.c, DecodeISO8601Interval."""
    if len(text) < 2:
        raise BadInterval(text)
    total = [Fraction(0), Fraction(0), Fraction(0)]
    date, has_time, time = text[1:].partition("T")
    if date:
        _iso_part(total, date, _ISO_DATE, "-", ("y", "mon", "d"), (4, 2, 2))
    if has_time and time:
        _iso_part(total, time, _ISO_TIME, ":", ("h", "m", "s"), (2, 2, 2))
    if has_time and not date and not time:
        return 0, 0, 0
    return _whole(total)


def _iso_part(
    total: list[Fraction],
    text: str,
    designators: Mapping[str, str],
    separator: str,
    units: Sequence[str],
    widths: Sequence[int],
) -> None:
    """The date or the time of an ISO interval, in whichever form it is."""
    if text[-1] in designators:
        position = 0
        while position < len(text):
            number = _ISO_NUMBER.match(text, position)
            if number is None or text[number.end() : number.end() + 1] not in designators:
                raise BadInterval(text)
            add_unit(total, designators[text[number.end()]], Fraction(number[0]))
            position = number.end() + 1
        return
    whole = text.split(".")[0]
    if whole.lstrip("-").isdigit() and len(whole.lstrip("-")) == sum(widths):
        parts = [whole[: widths[0]], whole[widths[0] : -widths[2]], whole[-widths[2] :] + text[len(whole) :]]
    else:
        parts = _separated(text, separator)
    for unit, part in zip(units, parts, strict=False):
        add_unit(total, unit, Fraction(part))


def _separated(text: str, separator: str) -> list[str]:
    """Up to three numbers with the separator between them; a sign belongs to the number behind it."""
    parts: list[str] = []
    position = 0
    while position <= len(text) and len(parts) < 3:
        number = _ISO_NUMBER.match(text, position)
        if number is None:
            break
        parts.append(number[0])
        position = number.end()
        if position == len(text):
            return parts
        if text[position] != separator:
            break
        position += 1
    raise BadInterval(text)


FIELDS: Final = ("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR")
"""The fields that an interval can be cut to, from the smallest."""


def cut_interval(value: Interval, least: int, digits: int) -> Interval:
    """The interval without the fields below the one of this number in FIELDS, its second rounded to so many digits.
    timestamp.c, AdjustIntervalForTypmod. Raises IntervalOutOfRange.

    >>> cut_interval((14, 3, 3_723_456_789), 1, 6), cut_interval((14, 3, 0), 5, 6)
    ((14, 3, 3720000000), (12, 0, 0))
    """
    months, days, us = value
    if least >= 4:
        return (int(months / 12) * 12 if least == 5 else months), 0, 0
    if least == 3:
        return months, days, 0
    unit = (10 ** (6 - digits), MINUTE, HOUR)[least]
    wide = abs(us) + (unit // 2 if least == 0 else 0)
    if wide >= 2**63:
        raise IntervalOutOfRange
    rounded = wide // unit * unit
    return months, days, -rounded if us < 0 else rounded


def _moved(large: int, small: int, unit: int) -> tuple[int, int]:
    """Whole units of the small part moved to the large one. Raises IntervalOutOfRange."""
    whole = abs(small) // unit * (1 if small > 0 else -1)
    if not -(2**31) <= large + whole < 2**31:
        raise IntervalOutOfRange
    return large + whole, small - whole * unit


def _carry(large: int, small: int, unit: int) -> tuple[int, int]:
    """Whole units of the small part moved to the large one, and both brought to one sign."""
    large, small = _moved(large, small, unit)
    if large > 0 > small:
        return large - 1, small + unit
    if large < 0 < small:
        return large + 1, small - unit
    return large, small


def hours_justified(months: int, days: int, us: int) -> Interval:
    """24 hours as a day. Raises IntervalOutOfRange."""
    return months, *_carry(days, us, DAY)


def days_justified(months: int, days: int, us: int) -> Interval:
    """30 days as a month. Raises IntervalOutOfRange."""
    return *_carry(months, days, DAYS_PER_MONTH), us


def justify(months: int, days: int, us: int) -> Interval:
    """Days and hours carried, and every part of one sign. Raises IntervalOutOfRange (interval_justify_interval).

    >>> justify(1, 0, -3_600_000_000)
    (0, 29, 82800000000)
    """
    if (days > 0 and us > 0) or (days < 0 and us < 0):
        months, days = _moved(months, days, DAYS_PER_MONTH)
    days, us = _moved(days, us, DAY)
    months, days = _moved(months, days, DAYS_PER_MONTH)
    if months > 0 and (days < 0 or (days == 0 and us < 0)):
        months, days = months - 1, days + DAYS_PER_MONTH
    elif months < 0 and (days > 0 or (days == 0 and us > 0)):
        months, days = months + 1, days - DAYS_PER_MONTH
    return hours_justified(months, days, us)


def scale_interval(value: Interval, scale: Callable[[float], float]) -> Interval:
    """Every part scaled; fractions of months go to days, of days to microseconds. Raises OverflowError beyond what an
    interval holds. Source: PostgreSQL's interval_mul and interval_div, rounding to millionths as they do.

    >>> scale_interval((1, 1, 0), lambda part: part * 1.5)
    (1, 16, 43200000000)
    """
    months, days, us = (scale(float(part)) for part in value)
    whole_months, whole_days = _fitting(months, 31), _fitting(days, 31)
    month_days = _to_millionths((months - whole_months) * DAYS_PER_MONTH)
    seconds = _to_millionths((days - whole_days + month_days - int(month_days)) * _SECONDS_PER_DAY)
    more = int(seconds / _SECONDS_PER_DAY)
    rest = us + (seconds - more * _SECONDS_PER_DAY) * SECOND
    carried = _fitting(float(whole_days + int(month_days) + more), 31)
    return whole_months, carried, _fitting(float(round(rest)), 63) if math.isfinite(rest) else _fitting(rest, 63)


def _fitting(value: float, bits: int) -> int:
    """The whole part of a number that fits into so many bits beside the sign."""
    if not -(2.0**bits) <= value < 2.0**bits:
        raise OverflowError("interval out of range")
    return int(value)


def _to_millionths(value: float) -> float:
    return round(value * SECOND) / SECOND


def format_interval(value: Interval) -> str:
    """The text PostgreSQL shows.

    >>> format_interval((14, -3, 3600000000))
    '1 year 2 mons -3 days +01:00:00'
    """
    months, days, us = value
    parts: list[str] = []
    years, months = int(months / 12), months - 12 * int(months / 12)
    before_negative = False
    for amount, name in ((years, "year"), (months, "mon"), (days, "day")):
        if amount:
            sign = "+" if before_negative and amount > 0 else ""
            parts.append(f"{sign}{amount} {name}{'' if amount == 1 else 's'}")
            before_negative = amount < 0
    if us or not parts:
        parts.append(_format_clock(us, before_negative))
    return " ".join(parts)


def _format_clock(us: int, before_negative: bool) -> str:
    sign = "-" if us < 0 else "+" if before_negative else ""
    hours, rest = divmod(abs(us), HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, fraction = divmod(rest, SECOND)
    text = f"{sign}{hours:02d}:{minutes:02d}:{seconds:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text
