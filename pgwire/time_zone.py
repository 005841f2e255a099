"""The time zone of a session: what SET takes, how SHOW writes it, and what the engine calls it.

Source: PostgreSQL's manual, "Time Zones"; check_timezone (variable.c). A number counts hours east of UTC; what POSIX
writes, such as `FOO+3` or `+05:30`, counts west.
"""

import re
from functools import cache
from math import isfinite
from typing import Final
from zoneinfo import available_timezones

from query.pg.bad_values import BadLiteral
from query.pg.intervals import parse_interval

# Names that mean one offset to AT TIME ZONE and a place's clock to SET: the places since tzdata 2024b.
PLACES: Final = {
    "CET": "Europe/Brussels",
    "EET": "Europe/Athens",
    "EST": "America/Panama",
    "HST": "Pacific/Honolulu",
    "MET": "Europe/Brussels",
    "MST": "America/Phoenix",
    "WET": "Europe/Lisbon",
}
ALWAYS_UTC: Final = frozenset(
    "UTC UCT GMT Zulu Universal Greenwich GMT0 GMT+0 GMT-0 Factory Etc/UTC Etc/UCT Etc/GMT Etc/Zulu Etc/Universal"
    " Etc/Greenwich Etc/GMT0 Etc/GMT+0 Etc/GMT-0".split()
)
_INTERVAL: Final = re.compile(r"interval\s*'([^']*)'", re.IGNORECASE)
_POSIX: Final = re.compile(r"(?:[A-Za-z]*|<[A-Za-z0-9:+-]*>)([-+]?)(\d{1,3})(?::(\d{1,2}))?(?::(\d{1,2}))?", re.ASCII)
_HOUR: Final = 3_600
# Python's clocks, with which we compute, are less than a day away from UTC.
_MOST_SECONDS: Final = 24 * _HOUR


class UnknownTimeZone(ValueError):
    """No time zone, or none that a session can have here. Says why, where that helps."""


def read(text: str) -> str:
    """The zone as SHOW writes it. Raises UnknownTimeZone.

    >>> read("europe/berlin"), read("5"), read("-7.5"), read("foo+3"), read("+05:30")
    ('Europe/Berlin', '<+05>-05', '<-07:30>+07:30', 'FOO+3', '+05:30')
    """
    interval = _INTERVAL.fullmatch(text)
    if interval is not None:
        return _shown(_seconds_of_interval(interval[1]))
    hours = _number(text)
    if hours is not None:
        return _shown(int(hours * _HOUR))
    name = _names().get(text.lower())
    if name is None and _POSIX.fullmatch(text):
        name = text.upper()
        if _seconds_west(name) % 60:
            raise UnknownTimeZone("there are no zones with seconds")
    if name is None:
        raise UnknownTimeZone("name a place, such as Europe/Berlin, or the hours east of UTC")
    return name


def engine_name(shown: str) -> str:
    """What a query's zone is called; nothing for UTC. `shown` is what `read` gave.

    >>> engine_name("CET"), engine_name("+05:30"), engine_name("Etc/UTC")
    ('Europe/Brussels', '<-05:30>+05:30', '')
    """
    if shown in ALWAYS_UTC:
        return ""
    if shown.lower() in _names():
        return PLACES.get(shown, shown)
    west = _seconds_west(shown)
    return _shown(-west) if west else ""


def _shown(seconds_east: int) -> str:
    """A fixed offset as PostgreSQL writes it: east in the brackets, west behind them (pg_tzset_offset).

    >>> _shown(20700), _shown(-3600)
    ('<+05:45>-05:45', '<-01>+01')
    """
    if abs(seconds_east) >= _MOST_SECONDS:
        raise UnknownTimeZone("an offset is less than 24 hours")
    size = abs(seconds_east)
    text = f"{size // _HOUR:02}"
    if size % _HOUR:
        text += f":{size // 60 % 60:02}"
    if size % 60:
        text += f":{size % 60:02}"
    sign, other = ("-", "+") if seconds_east < 0 else ("+", "-")
    return f"<{sign}{text}>{other}{text}"


def _seconds_west(posix: str) -> int:
    match = _POSIX.fullmatch(posix)
    sign, hours, minutes, seconds = match.groups() if match else ("", None, None, None)
    size = int(hours or 0) * _HOUR + int(minutes or 0) * 60 + int(seconds or 0)
    if match is None or size >= _MOST_SECONDS:
        raise UnknownTimeZone("an offset is less than 24 hours")
    return -size if sign == "-" else size


def _number(text: str) -> float | None:
    try:
        hours = float(text) if "_" not in text else None
    except ValueError:
        return None
    if hours is not None and not (isfinite(hours) and abs(hours * _HOUR) < _MOST_SECONDS):
        raise UnknownTimeZone("an offset is less than 24 hours")
    return hours


def _seconds_of_interval(text: str) -> int:
    try:
        months, days, us = parse_interval(text)
    except (BadLiteral, ValueError) as error:
        raise UnknownTimeZone("no interval") from error
    if months or days:
        raise UnknownTimeZone("an interval of hours and minutes, without days")
    return int(us / 1_000_000)


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if not name.startswith(("posix", "right", "local"))}
