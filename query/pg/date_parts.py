"""The text of a date or time cut into parts by their form, and the words of the calendar."""

import re
from typing import Final


class BadMoment(ValueError):
    """The text has not the form of a date or time."""


class MomentOutOfRange(ValueError):
    """The form is right, a field is not: month 13, hour 25."""


class ZoneOutOfRange(MomentOutOfRange):
    """An offset of 16 hours or more."""


class UnsupportedMoment(ValueError):
    """PostgreSQL has this time and we do not."""


_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SHORT_WEEKDAYS: Final = (*(name[:3] for name in _WEEKDAYS), "tues", "weds", "thur", "thurs")
WORDS: Final[dict[str, tuple[str, int]]] = {
    **{name: ("month", number) for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: ("month", number) for number, name in enumerate(_MONTHS, 1)},
    "sept": ("month", 9),
    **dict.fromkeys((*_WEEKDAYS, *_SHORT_WEEKDAYS), ("weekday", 0)),
    **dict.fromkeys(("j", "jd", "julian"), ("julian", 0)),
    **dict.fromkeys(("at", "on"), ("ignored", 0)),
    **dict.fromkeys(("d", "h", "m", "mm", "s", "y", "dow", "doy", "isodow", "isoyear", "dst"), ("unit", 0)),
    **dict.fromkeys(("now", "today", "tomorrow", "yesterday", "epoch", "infinity"), ("special", 0)),
    **{"am": ("half", 0), "pm": ("half", 12), "ad": ("era", 0), "bc": ("era", 1)},
    **{"allballs": ("midnight", 0), "t": ("time follows", 0)},
}
"""The type of a word, and its number."""
_TOKEN: Final = re.compile(
    r"(?P<time>[0-9]+:[0-9:.]*)"
    r"|(?P<date>[0-9]+([-/])(?:[0-9]+(?:\3(?:[0-9]|\3)*)?|(?:[a-z0-9]|\3)*)"
    r"|[0-9]+\.[0-9]+\.[0-9.]*|[0-9]+\.(?![0-9])[a-z0-9.]*)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]*)"
    r"|(?P<word>[a-z]+)"
    r"|(?P<zone>[-+]\s*[0-9][0-9:.\-]*)|(?P<sign>[-+]\s*[a-z]+)|(?P<blank>[\s!-*,/:-@\[-`{-~])",
    re.ASCII,
)
_NAME_REST: Final = re.compile(r"[-+/_.:a-z0-9]+", re.ASCII)


def parts_of(text: str) -> list[tuple[str, str]]:
    """The parts of the text with what their form says they are."""
    rest, position, parts = text.strip().lower(), 0, list[tuple[str, str]]()
    while position < len(rest):
        match = _TOKEN.match(rest, position)
        if match is None:
            raise BadMoment(text)
        part_type, part, position = match.lastgroup or "", match[0], match.end()
        if match["date"]:
            part_type = "date"
        if part_type == "word" and _is_name(rest, position, part):
            more = _NAME_REST.match(rest, position)
            part, position, part_type = part + (more[0] if more else ""), more.end() if more else position, "date"
        if part_type != "blank":
            parts.append((part_type, part))
    return parts


def _is_name(rest: str, position: int, word: str) -> bool:
    """True if what follows a word belongs to it: `jan-5-2024`, `europe/berlin`, `est5edt`, but not `t10`."""
    after = rest[position : position + 1]
    return after in ("-", "/", ".") or (bool(after) and after in "+0123456789" and word[:10] not in WORDS)
