"""The time zone that a session may have: a place's name or an offset, as a request gives it, by PostgreSQL's name."""

import re
from typing import Final

from query.pg.time_zones import UnknownZone, UnsupportedZone, Zone, zone_named

_OFFSET: Final = re.compile(r"([-+])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
ZONE_FORMS: Final = "a name of the IANA database, such as Europe/Berlin, or an offset, such as +05:30"
_MOST_HOURS: Final = 15


def session_zone(text: str) -> str:
    """The zone as `SET timezone` takes it, nothing for UTC. An offset counts east of UTC, as ISO 8601 has it.

    An abbreviation is refused: CET means one offset in `AT TIME ZONE`, and one with summer time in `SET timezone`.
    Raises UnknownZone.

    >>> session_zone("europe/berlin"), session_zone("+05:30"), session_zone("Z")
    ('Europe/Berlin', '<+05:30>-05:30', '')
    """
    word = text.strip()
    offset = _OFFSET.fullmatch(word)
    if offset is not None:
        return _posix(word, offset)
    try:
        zone = zone_named(word)
    except UnsupportedZone as error:
        raise UnknownZone(text) from error
    if zone.name:
        return "" if zone.name in _UTC else zone.name
    if zone == Zone() and word.isalpha():
        return ""
    raise UnknownZone(text)


_UTC: Final = ("UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu")


def _posix(text: str, offset: "re.Match[str]") -> str:
    """POSIX counts west, and shows what stands in the brackets."""
    sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
    if hours > _MOST_HOURS or minutes > 59:
        raise UnknownZone(text)
    if not hours and not minutes:
        return ""
    other = "-" if sign == "+" else "+"
    return f"<{sign}{hours:02}:{minutes:02}>{other}{hours:02}:{minutes:02}"
