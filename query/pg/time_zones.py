"""Time zones by PostgreSQL's names: abbreviations, IANA names in any case, POSIX offsets. Pure Python, no rows.

Abbreviations come first, and most stand for one offset all year: CET is an hour east of UTC in summer too.
Source: PostgreSQL documentation, "Time Zones" and appendix "Date/Time Configuration Files".
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import timezone as fixed_zone
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_ABBREVIATIONS: Final = Path(__file__).with_name("zone_abbreviations.txt")
_POSIX: Final = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z0-9:+-]{3,}>)?([-+]?)(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?$")
_POSIX_SUMMER: Final = re.compile(
    r"(?:[A-Za-z]{3,}|<[A-Za-z0-9:+-]{3,}>)[-+]?\d{1,3}(?::\d{1,2}){0,2}(?:[A-Za-z]{3,}|<[A-Za-z0-9:+-]{3,}>)[-+:\d,./MJ]*$"
)
_MOST_HOURS: Final = 167


class UnknownZone(ValueError):
    """PostgreSQL has no zone of this name."""


class UnsupportedZone(ValueError):
    """PostgreSQL has this zone and we do not."""


@dataclass(frozen=True, slots=True)
class Zone:
    """Either `name`, as IANA writes it, or a fixed offset: `seconds` east of UTC."""

    name: str = ""
    seconds: int = 0

    @property
    def rules(self) -> tzinfo:
        """The zone for Python's datetimes."""
        if self.name:
            return ZoneInfo(self.name)
        return fixed_zone(timedelta(seconds=self.seconds)) if self.seconds else UTC


def zone_named(text: str) -> Zone:
    """The zone that AT TIME ZONE means by `text`; a bare offset counts west of UTC, as POSIX has it.

    Raises UnknownZone, UnsupportedZone.

    >>> zone_named("cet"), zone_named("europe/berlin"), zone_named("UTC+3")
    (Zone(name='', seconds=3600), Zone(name='Europe/Berlin', seconds=0), Zone(name='', seconds=-10800))
    """
    word = text.strip()
    offset = abbreviation_offset(word)
    if isinstance(offset, str):
        raise UnsupportedZone(f'the time zone abbreviation "{word}", whose offset has changed')
    if offset is not None:
        return Zone(seconds=offset)
    name = _names().get(word.lower())
    if name is not None:
        return Zone(name)
    if _POSIX_SUMMER.match(word):
        raise UnsupportedZone(f'the POSIX time zone "{word}", which has summer time')
    match = _POSIX.match(word)
    if match is None or int(match[2]) > _MOST_HOURS:
        raise UnknownZone(text)
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
    return Zone(seconds=seconds if match[1] == "-" else -seconds)


def local_to_utc(moment: datetime, zone: Zone) -> datetime:
    """The instant of a naive reading of the zone's clock. A reading that occurs twice means the second time, in
    standard time; one that is skipped is moved forward by the gap."""
    shifts = [moment.replace(tzinfo=zone.rules, fold=fold).utcoffset() for fold in (0, 1)]
    shift = min(part for part in shifts if part is not None)
    return (moment - shift).replace(tzinfo=UTC)


def abbreviation_offset(word: str) -> int | str | None:
    """Seconds east of UTC, or the name of the zone of an abbreviation whose offset has changed; None if it is none."""
    found = _abbreviations().get(word.upper())
    return found if found is None or not found.lstrip("-").isdigit() else int(found)


@cache
def _abbreviations() -> dict[str, str]:
    """Offsets in seconds east of UTC by abbreviation; where one had several, the name of the zone to ask."""
    pairs = (line.split() for line in _ABBREVIATIONS.read_text("ascii").splitlines())
    return {pair[0]: pair[1] for pair in pairs}


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}
