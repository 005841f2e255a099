"""Dates with the month's name or between slashes, brought into ISO form: what mail, Apache and humans write.

Source: PostgreSQL documentation, "Date/Time Input", with the order month, day, year for numbers.
"""

import re
from functools import cache
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_DAYS: Final = 31
_PARTS: Final = {
    "MONTH": r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?",
    "WEEKDAY": r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,?\s+",
    "NUMBER": r"(?P<month>\d{1,2})",
    "DAY": r"(?P<day>\d{1,2})",
    "YEAR": r"(?P<year>\d{4})",
    "END": r"(?:(?:\s*,\s*|\s+|:|T)CLOCKHALF)?\s*(?P<zone>[-+a-z][-+\w:/]*)?\s*$",
    "CLOCK": r"(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d*)?)?)",
    "HALF": r"(?:\s*(?P<half>[ap]m)\b)?",
    "ZONE": r"(?P<zone>[a-z][-+\w/]*\s+)?",
    "SPACE": r"(?:\s*,\s*|\s+)",
    "GAP": r"(?:\s*,\s*|\s+|[-/.])",
    "SIGN": r"(?P<sign>[-/.])",
}
_FORMS: Final = (
    "MONTHGAP?DAYGAPYEAREND",
    "DAYGAP?MONTHGAP?YEAREND",
    "YEARGAP?MONTHGAPDAYEND",
    "NUMBERSIGNDAY(?P=sign)YEAREND",
    "YEARSIGNNUMBER(?P=sign)DAYEND",
    r"YEAR-NUMBER-DAY[T\s]\s*CLOCK\s*(?P<half>[ap]m)(?P<zone>)\s*$",
    r"MONTH\s+DAY\s+CLOCKHALF\s+ZONEYEAR\s*$",
    "WEEKDAYMONTHSPACE?DAYSPACEYEAREND",
    "WEEKDAYDAYSPACE?MONTHSPACE?YEAREND",
    r"WEEKDAYMONTH\s+DAY\s+CLOCKHALF\s+ZONEYEAR\s*$",
)


class NoSuchHour(ValueError):
    """A clock of twelve hours does not have it."""


class NoSuchDay(ValueError):
    """No month has it."""


def iso_form(text: str) -> str | None:
    """The date and time in the form `2024-12-30 22:11:00 zone`; None for a text of another form. Raises NoSuchHour,
    NoSuchDay.

    >>> iso_form("30/Dec/2024:10:11:12 +0100")
    '2024-12-30 10:11:12 +0100'
    """
    for form in _compiled():
        match = form.match(text)
        if match is not None:
            return _written(match.groupdict())
    return None


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    """The forms as regular expressions."""
    return tuple(re.compile(r"\s*" + _spelled(form), re.IGNORECASE) for form in _FORMS)


def _spelled(form: str) -> str:
    for name, part in _PARTS.items():
        form = form.replace(name, part)
    return form


def _written(parts: dict[str, str | None]) -> str:
    name, day = parts.get("name"), int(parts["day"] or 0)
    if name and day > _MOST_DAYS:
        raise NoSuchDay(str(day))
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(parts.get("month") or 0)
    clock = parts.get("clock")
    time = f" {_on_24_hours(clock, parts.get('half'))}" if clock else ""
    zone = (parts.get("zone") or "").strip()
    return f"{parts['year']}-{month:02}-{day:02}{time} {zone}".rstrip()


def _on_24_hours(clock: str, half: str | None) -> str:
    hour, _, rest = clock.partition(":")
    if half is None:
        return f"{int(hour):02}:{rest}"
    if int(hour) > 12:
        raise NoSuchHour(clock)
    return f"{int(hour) % 12 + (12 if half.lower() == 'pm' else 0):02}:{rest}"
