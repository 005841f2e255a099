"""PostgreSQL's input of dates and times: words, numbers and signs in almost any order.

The text is cut into fields by their form, and each field is taken for what is still missing. Source: PostgreSQL
documentation, appendix "Date/Time Input Interpretation", with the order month, day, year for numbers.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Final

from query.pg.clock import Clock
from query.pg.date_parts import WORDS, BadMoment, MomentOutOfRange, UnsupportedMoment, ZoneOutOfRange, parts_of
from query.pg.time_zones import UnknownZone, Zone, zone_named

_DATE: Final = frozenset({"year", "month", "day"})
_MOST_ZONE_HOURS: Final = 15


@dataclass(slots=True)
class Moment:
    """`found` names the fields that the text has, `time` for all of the clock; `fraction` is digits of the second.
    `clock` says when it is today; without one nothing does."""

    found: set[str] = field(default_factory=set)
    year: int = 0
    month: int = 0
    day: int = 0
    hour: int = 0
    minute: int = 0
    second: int = 0
    fraction: str = ""
    zone: Zone | None = None
    half: int | None = None
    short_year: bool = False
    before_christ: bool = False
    month_named: bool = False
    day_of_year: int = 1
    follows: str = ""
    clock: Clock | None = None

    def take(self, *names: str) -> None:
        """Marks fields as found. Raises BadMoment for one that was."""
        if self.found & set(names):
            raise BadMoment(", ".join(names))
        self.found |= set(names)


def read_moment(text: str, clock: Clock | None = None) -> Moment:
    """The date, and the time and zone if there are some; `clock` says when it is today. Raises BadMoment,
    MomentOutOfRange, UnsupportedMoment, UnknownZone.

    >>> found = read_moment("30/Dec/2024:10:11:12 +0100")
    >>> found.year, found.month, found.day, found.hour, found.zone
    (2024, 12, 30, 10, Zone(name='', seconds=3600))
    """
    moment = Moment(clock=clock)
    for part_type, part in parts_of(text):
        _READERS[part_type](moment, part)
    if moment.follows:
        raise BadMoment(text)
    _check_parts(moment)
    if not moment.found >= _DATE:
        raise BadMoment(text)
    check_date(moment)
    check_time(moment)
    return moment


def read_time(text: str, clock: Clock | None = None) -> Moment:
    """The time of day, which `now` asks `clock` for; a date before it is read, too."""
    moment, parts = Moment(clock=clock), parts_of(text)
    dated = len(parts) > 1 and parts[0][0] in ("date", "number") and (parts[1][0] == "time" or parts[-1][0] == "date")
    for index, (part_type, part) in enumerate(parts):
        if part_type == "date" and index == 0 and dated:
            _read_date(moment, part)
        elif part_type == "date" and not part[0].isdigit() and not moment.follows:
            _read_zone_name(moment, part)
        elif part_type == "date":
            _read_run_with_zone(moment, part)
        elif part_type == "number" and len(part) <= 4 and not moment.follows:
            _read_run(moment, part)
        elif part_type == "number":
            moment.follows = moment.follows or "time"
            _read_number(moment, part)
        elif part_type == "word" and WORDS.get(part, ("", 0))[0] in ("month", "weekday"):
            raise BadMoment(text)
        elif part_type == "word" and WORDS.get(part, ("", 0))[0] == "special":
            _read_special_time(moment, part)
        else:
            moment.found |= _DATE if part_type == "word" and part == "t" else set()
            _READERS[part_type](moment, part)
    if moment.follows or "time" not in moment.found:
        raise BadMoment(text)
    if moment.zone is not None and moment.zone.name and not dated:
        # Only on a day is it known what a zone with rules is (DecodeTimeOnly).
        raise BadMoment(text)
    if dated:
        check_date(moment)
    check_time(moment)
    return moment


# --- the fields ----------------------------------------------------------------------------------------------------


def _read_date_or_zone(moment: Moment, part: str) -> None:
    if moment.follows == "julian":
        moment.follows = ""
        _read_julian_with_zone(moment, part)
    elif not {"month", "day"} <= moment.found:
        _read_date(moment, part)
    elif part[0].isdigit() or moment.follows:
        moment.follows = ""
        _read_run_with_zone(moment, part)
    else:
        _read_zone_name(moment, part)


def _read_date(moment: Moment, part: str) -> None:
    """Numbers and the name of a month, with a sign between each two. Nothing but a zone and parts of the date may stand
    before it, not even the day of the week."""
    moment.month_named = False
    pieces = re.findall(r"([0-9]+|[a-z]+)[^a-z0-9]?", part, re.ASCII)
    for piece in pieces:
        if piece.isalpha():
            word_type, value = WORDS.get(piece, ("", 0))
            if word_type == "ignored":
                continue
            if word_type != "month":
                raise BadMoment(part)
            moment.take("month")
            moment.month, moment.month_named = value, True
    for piece in pieces:
        if not piece.isalpha():
            _read_date_number(moment, piece)
    if moment.found - {"zone"} != _DATE:
        raise BadMoment(part)


def _read_run_with_zone(moment: Moment, part: str) -> None:
    """A time without colons and its zone: `101112-08`."""
    digits, sign, zone = part.partition("-")
    if not sign or "time" in moment.found or not re.fullmatch(r"[0-9]+\.?[0-9]*", digits, re.ASCII):
        raise BadMoment(part)
    _read_zone(moment, sign + zone)
    _read_run(moment, digits)


def _read_zone_name(moment: Moment, part: str) -> None:
    moment.take("zone")
    moment.zone = zone_named(part)


def _read_time(moment: Moment, part: str) -> None:
    if moment.follows not in ("", "time"):
        raise BadMoment(part)
    moment.follows = ""
    moment.take("time")
    hour, minute, *more = part.split(":")
    seconds = more[0] if more else ""
    if len(more) > 1 or "." in hour or (more and "." in minute):
        raise BadMoment(part)
    if "." in minute:
        hour, minute, seconds = "0", hour, minute
    second, point, fraction = seconds.partition(".")
    if "." in fraction:
        raise BadMoment(part)
    moment.hour, moment.minute, moment.second = (int(value or 0) for value in (hour, minute, second))
    moment.fraction = fraction if point else ""
    if moment.minute > 59 or moment.second > 60:
        raise MomentOutOfRange(part)


def _read_zone(moment: Moment, part: str) -> None:
    moment.take("zone")
    moment.zone = offset_of(part)


def offset_of(part: str) -> Zone:
    """An offset: hours, or hours and minutes run together or with colons between, east of UTC."""
    match = re.fullmatch(r"([-+])\s*([0-9]+)(?::([0-9]*))?(?::([0-9]*))?", part, re.ASCII)
    if match is None:
        raise BadMoment(part)
    hours, minutes, seconds = int(match[2]), int(match[3] or 0), int(match[4] or 0)
    if match[3] is None and len(match[2]) > 2:
        hours, minutes = divmod(hours, 100)
    if hours > _MOST_ZONE_HOURS or minutes > 59 or seconds > 59:
        raise ZoneOutOfRange(part)
    shift = hours * 3600 + minutes * 60 + seconds
    return Zone(seconds=-shift if match[1] == "-" else shift)


def _read_number(moment: Moment, part: str) -> None:
    whole, point, fraction = part.partition(".")
    if moment.follows == "julian":
        moment.follows = ""
        _read_julian(moment, whole, fraction)
    elif moment.follows:
        moment.follows = ""
        moment.found |= _DATE
        _read_run(moment, part)
    elif point and not _DATE & moment.found:
        _read_date(moment, part)
    elif (point and len(whole) > 2) or (len(part) >= 6 and not (_DATE & moment.found and "time" in moment.found)):
        _read_run(moment, part)
    else:
        _read_date_number(moment, part)


def _read_julian(moment: Moment, days: str, fraction: str) -> None:
    """Days since 4713 BC."""
    if fraction:
        raise UnsupportedMoment("a fraction of a Julian day")
    moment.take(*_DATE)
    ordinal = int(days) - _JULIAN_YEAR_1
    if not 1 <= ordinal <= date.max.toordinal():
        raise UnsupportedMoment("a date outside of the years 1 to 9999")
    moment.year, moment.month, moment.day = date.fromordinal(ordinal).timetuple()[:3]


def _read_julian_with_zone(moment: Moment, part: str) -> None:
    """The midnight that begins a Julian day in a zone: `2452271-08`."""
    days, sign, zone = part.partition("-")
    if not sign or not days.isdigit():
        raise BadMoment(part)
    _read_zone(moment, sign + zone)
    moment.take("time")
    _read_julian(moment, days, "")


_JULIAN_YEAR_1: Final = 1_721_425


def _read_run(moment: Moment, part: str) -> None:
    """Digits run together: a date while there is none, or hours, minutes and seconds."""
    digits, point, fraction = part.partition(".")
    if not point and not moment.found >= _DATE and len(digits) >= 6:
        moment.take(*_DATE)
        moment.year, moment.month, moment.day = int(digits[:-4]), int(digits[-4:-2]), int(digits[-2:])
        moment.short_year = len(digits) == 6
        return
    if "time" in moment.found or len(digits) not in (4, 6):
        raise BadMoment(part)
    moment.take("time")
    moment.hour, moment.minute, moment.second = int(digits[:2]), int(digits[2:4]), int(digits[4:] or 0)
    moment.fraction = fraction


def _read_date_number(moment: Moment, part: str) -> None:
    """A number of a date: what it is depends on what is known and on its length."""
    if "." in part:
        if len(part.partition(".")[0]) > 2:
            moment.found |= _DATE
            _read_run(moment, part)
            return
        raise BadMoment(part)
    date_fields, value = moment.found & _DATE, int(part)
    if value >= 2**31:
        raise MomentOutOfRange(part)
    if len(part) == 3 and date_fields == {"year"} and 1 <= value <= 366:
        moment.take("month", "day")
        moment.month, moment.day, moment.day_of_year = 1, 1, value
        return
    name = _date_field(moment, frozenset(date_fields), part)
    if name == "time":
        _read_run(moment, part)
        return
    if name == "swapped":
        moment.take("day")
        moment.day, moment.year, moment.short_year = moment.year, value, False
        return
    moment.take(name)
    setattr(moment, name, value)
    if name == "year":
        moment.short_year = len(part) <= 2


def _date_field(moment: Moment, date_fields: frozenset[str], part: str) -> str:
    """Which field of the date a number is."""
    long = len(part) > 2
    if date_fields == _DATE:
        return "time"
    if date_fields == {"year", "month"} and moment.month_named and long and moment.short_year:
        return "swapped"
    return {
        frozenset(): "year" if long else "month",
        frozenset({"year"}): "month",
        frozenset({"month"}): "year" if long and moment.month_named else "day",
        frozenset({"year", "month"}): "day",
        frozenset({"day"}): "month",
        frozenset({"month", "day"}): "year",
    }.get(date_fields, "day")


def _read_word(moment: Moment, part: str) -> None:
    zone = _zone_abbreviation(part)
    word_type, value = ("zone", 0) if zone is not None else WORDS.get(part[:10], ("zone name", 0))
    if word_type == "ignored":
        return
    if word_type == "zone":
        moment.take("zone")
        moment.zone = zone
    elif word_type == "month":
        _read_month_name(moment, value)
    elif word_type in ("weekday", "half", "era"):
        moment.take(word_type)
        moment.half = value if word_type == "half" else moment.half
        moment.before_christ |= word_type == "era" and bool(value)
    elif word_type == "midnight":
        moment.take("time", "zone")
        moment.zone = Zone()
    elif part == "dst" and "zone" in moment.found:
        raise UnsupportedMoment("the word DST behind a time zone")
    elif word_type == "unit":
        raise BadMoment(part)
    elif word_type == "special":
        _read_special(moment, part)
    elif word_type in ("julian", "time follows"):
        if moment.follows or (word_type != "julian" and not moment.found >= _DATE):
            raise BadMoment(part)
        moment.follows = "julian" if word_type == "julian" else "time"
    else:
        try:
            _read_zone_name(moment, part)
        except UnknownZone as error:
            raise BadMoment(part) from error


def _read_special(moment: Moment, word: str) -> None:
    """A day beside today, whose time may follow, or now with its time and zone."""
    clock = _clock_for(moment, word)
    moment.take(*_DATE)
    days = _DAYS_FROM_TODAY.get(word, 0)
    moment.year, moment.month, moment.day = (clock.local_now + timedelta(days=days)).timetuple()[:3]
    if word == "now":
        _take_time(moment, clock)
        moment.take("zone")
        moment.zone = Zone(seconds=round((clock.local_now - clock.now).total_seconds()))


def _read_special_time(moment: Moment, word: str) -> None:
    """Now is a time of day; no other special value is one (DecodeTimeOnly)."""
    if word != "now":
        raise BadMoment(word)
    _take_time(moment, _clock_for(moment, word))


def _clock_for(moment: Moment, word: str) -> Clock:
    if moment.clock is None or word not in _DAYS_FROM_TODAY:
        raise UnsupportedMoment(f"the special value '{word}'")
    return moment.clock


_DAYS_FROM_TODAY: Final = {"yesterday": -1, "today": 0, "now": 0, "tomorrow": 1}


def _take_time(moment: Moment, clock: Clock) -> None:
    moment.take("time")
    now = clock.local_now
    moment.hour, moment.minute, moment.second, moment.fraction = now.hour, now.minute, now.second, f"{now:%f}"


def _read_month_name(moment: Moment, value: int) -> None:
    """A number that was taken for the month is the day, once the month has a name."""
    if "month" in moment.found and not moment.month_named and "day" not in moment.found and 1 <= moment.month <= 31:
        moment.day = moment.month
        moment.take("day")
    else:
        moment.take("month")
    moment.month, moment.month_named = value, True


@cache
def _zone_abbreviation(word: str) -> Zone | None:
    """The zone of a word that is no word of the calendar."""
    if word in WORDS:
        return None
    try:
        return zone_named(word) if word.isalpha() else None
    except UnknownZone:
        return None


def _read_sign(moment: Moment, part: str) -> None:
    raise UnsupportedMoment(f"the special value '{part}'") if part[1:].strip() == "infinity" else BadMoment(part)


_READERS: Final[dict[str, Callable[[Moment, str], None]]] = {
    "date": _read_date_or_zone,
    "time": _read_time,
    "number": _read_number,
    "word": _read_word,
    "zone": _read_zone,
    "sign": _read_sign,
}


# --- the whole -----------------------------------------------------------------------------------------------------


def _check_parts(moment: Moment) -> None:
    """A field that no date has is out of range, even if there is no whole date."""
    fields_found = moment.found
    if ("month" in fields_found and not 1 <= moment.month <= 12) or (
        "day" in fields_found and not 1 <= moment.day <= 31
    ):
        raise MomentOutOfRange(f"{moment.month}, {moment.day}")
    if ("year" in fields_found and not moment.short_year and moment.year <= 0) or (
        moment.half is not None and moment.hour > 12
    ):
        raise MomentOutOfRange(f"{moment.year}, {moment.hour}")


def check_date(moment: Moment) -> None:
    """Raises MomentOutOfRange, UnsupportedMoment; short years and days of a year become whole dates."""
    if moment.before_christ:
        raise UnsupportedMoment("a date outside of the years 1 to 9999")
    if moment.short_year:
        moment.year += 2000 if moment.year < 70 else 1900
    if moment.year <= 0:
        raise MomentOutOfRange(str(moment.year))
    if moment.year > date.max.year:
        raise UnsupportedMoment("a date outside of the years 1 to 9999")
    try:
        day_of_year_date = date(moment.year, moment.month, moment.day) + timedelta(days=moment.day_of_year - 1)
    except ValueError as error:
        raise MomentOutOfRange(str(moment.day)) from error
    moment.year, moment.month, moment.day = day_of_year_date.timetuple()[:3]


_DAY: Final = 86_400


def check_time(moment: Moment) -> None:
    """Raises MomentOutOfRange; hours of a half become hours of the day."""
    if moment.half is not None:
        if moment.hour > 12:
            raise MomentOutOfRange(str(moment.hour))
        moment.hour = moment.hour % 12 + moment.half
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    if (
        moment.minute > 59
        or moment.second > 60
        or seconds > 86_400
        or (seconds == 86_400 and int(moment.fraction or 0))
    ):
        raise MomentOutOfRange(str(moment.hour))
