"""to_timestamp and to_date by template: times read from texts.

Source: PostgreSQL documentation, "Data Type Formatting Functions"; formatting.c, DCH_from_char and do_to_timestamp.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.formats import DAYS, MONTHS, ROMAN, template_tokens
from query.functions.registry import define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.patterns.templates import Token
from query.pg.time_zones import UnknownZone, UnsupportedZone, zone_named
from query.pg.timestamps import EPOCH, EPOCH_DAY

_FAMILY: Final = "Formatting"
_WIDTHS: Final = {
    **{"YYYY": 4, "YYY": 3, "YY": 2, "Y": 1, "IYYY": 4, "IYY": 3, "IY": 2, "I": 1, "MM": 2, "DD": 2, "DDD": 3},
    **{"HH24": 2, "HH12": 2, "HH": 2, "MI": 2, "SS": 2, "SSSS": 5, "SSSSS": 5, "IW": 2, "ID": 1, "IDDD": 3},
    **{"MS": 3, "US": 6, "J": 7, "CC": 2, "WW": 2, "W": 1, "Q": 1, "D": 1},
    **{f"FF{digits}": digits for digits in range(1, 7)},
}
_FRACTIONS: Final = {"MS": 3, "US": 6, **{f"FF{digits}": digits for digits in range(1, 7)}}
_NAMES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "MONTH": (tuple(name.upper() for name in MONTHS), "MM"),
    "MON": (tuple(name[:3].upper() for name in MONTHS), "MM"),
    "DAY": (tuple(name.upper() for name in DAYS), ""),
    "DY": (tuple(name[:3].upper() for name in DAYS), ""),
    "RM": (ROMAN, "MM"),
    "AM": (("AM", "PM"), "PM"),
    "PM": (("AM", "PM"), "PM"),
    "A.M.": (("A.M.", "P.M."), "PM"),
    "P.M.": (("A.M.", "P.M."), "PM"),
    "AD": (("AD", "BC"), "BC"),
    "BC": (("AD", "BC"), "BC"),
    "A.D.": (("A.D.", "B.C."), "BC"),
    "B.C.": (("A.D.", "B.C."), "BC"),
}
"""Words, and the field that they set: a month from 1, PM and BC from 0."""

_SEPARATORS: Final = re.compile(r"\s*(?:-\s+)?")
"""What stands between fields, beside what the template has there."""
_ZONES: Final = ("TZH", "TZM", "OF", "TZ")
_ISO: Final = ("IYYY", "IW", "ID", "IDDD")
_GREGORIAN: Final = ("YYYY", "MM", "DD", "DDD", "WW", "W")
_SECONDS_PER_DAY: Final = 86_400
_JULIAN: Final = 1_721_425
"""The Julian day of a date is its ordinal and so many days."""


@dataclass(slots=True)
class _Reading:
    """The fields found in one text."""

    text: str
    place: int = 0
    fields: dict[str, int] = field(default_factory=dict)

    def bad(self, token: Token, length: int) -> BadLiteral:
        found = self.text[self.place : self.place + length]
        return BadLiteral(fault.INVALID_DATETIME, f'invalid value "{found}" for "{token.field}"')

    def read(self, tokens: list[Token]) -> dict[str, int]:
        for index, token in enumerate(tokens):
            if self.place >= len(self.text):
                break
            if not token.field:
                self._skip(token.text)
                continue
            self.place = _SEPARATORS.match(self.text, self.place).end()  # type: ignore[union-attr]
            following = tokens[index + 1].field if index + 1 < len(tokens) else ""
            self._field(token, following in _WIDTHS and token.fill)
            if token.ordinal:
                self.place += 2
        return self.fields

    def _skip(self, literal: str) -> None:
        """Any separator of the template passes over a separator of the text."""
        if literal.isalnum():
            self.place += len(literal)
        elif not self.text[self.place].isalnum():
            self.place += 1

    def _field(self, token: Token, adjacent: bool) -> None:
        name = token.field.upper()
        if name in _NAMES:
            self._word(token, *_NAMES[name])
        elif name in _ZONES:
            self._zone(token, name)
        elif name == "Y,YYY":
            self._grouped_year(token)
        else:
            self._number(token, name, adjacent)

    def _word(self, token: Token, words: tuple[str, ...], target: str) -> None:
        rest = self.text[self.place :].upper()
        matches = [word for word in words if rest.startswith(word)]
        if not matches:
            raise self.bad(token, len(words[0]))
        word = max(matches, key=len)
        self.place += len(word)
        if target:
            self.fields[target] = words.index(word) + (target == "MM")

    def _number(self, token: Token, name: str, adjacent: bool) -> None:
        width = _WIDTHS[name]
        digits = f"{{1,{width}}}" if adjacent or name in _FRACTIONS else "+"
        match = re.compile(rf"[-+]?\d{digits}").match(self.text, self.place)
        if match is None:
            raise self.bad(token, width)
        self.place = match.end()
        if name in _FRACTIONS:
            self.fields["US"] = self.fields.get("US", 0) + int(match[0].ljust(6, "0"))
            return
        value, length = int(match[0]), len(match[0])
        if name in ("YYY", "YY", "Y", "IYY", "IY", "I"):
            name, value = ("IYYY" if name[0] == "I" else "YYYY"), _whole_year(value) if length < 4 else value
            self.fields["short"] = 1
        if name == "SSSSS":
            name = "SSSS"
        self.fields[name] = value

    def _grouped_year(self, token: Token) -> None:
        match = re.compile(r"(\d{1,3}),(\d{3})").match(self.text, self.place)
        if match is None:
            raise self.bad(token, 5)
        self.place = match.end()
        self.fields["YYYY"] = int(match[1] + match[2])

    def _zone(self, token: Token, name: str) -> None:
        """An offset in seconds east of UTC."""
        if name == "TZM":
            match = re.compile(r"\d{1,2}").match(self.text, self.place)
            if match is None:
                raise self.bad(token, 2)
            sign = -1 if self.fields.get("west") else 1
            self.fields["zone"] = self.fields.get("zone", 0) + sign * int(match[0]) * 60
        else:
            match = re.compile(r"([-+]?)(\d{1,2})(?::?(\d{2}))?" if name != "TZH" else r"([-+ ]?)(\d{1,2})()").match(
                self.text, self.place
            )
            if match is None:
                match = self._named_zone(token, name)
            else:
                seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
                self.fields["west"] = int(match[1] == "-")
                self.fields["zone"] = -seconds if match[1] == "-" else seconds
        self.place = match.end()

    def _named_zone(self, token: Token, name: str) -> "re.Match[str]":
        match = re.compile(r"[A-Za-z]+").match(self.text, self.place)
        if match is None or name != "TZ":
            raise self.bad(token, 3)
        try:
            zone = zone_named(match[0])
        except (UnknownZone, UnsupportedZone) as error:
            raise UnsupportedLiteral(f"the time zone {match[0]} in a template") from error
        if zone.name:
            raise UnsupportedLiteral(f"the time zone {match[0]} in a template")
        self.fields["zone"] = zone.seconds
        return match


def _whole_year(value: int) -> int:
    """A year of fewer than four digits as the one nearest to 2020.

    >>> _whole_year(69), _whole_year(70), _whole_year(519), _whole_year(520)
    (2069, 1970, 2519, 1520)
    """
    if value < 70:
        return value + 2000
    if value < 100:
        return value + 1900
    return value + 2000 if value < 520 else value + 1000 if value < 1000 else value


def _assemble(fields: dict[str, int], text: str) -> datetime:
    """The moment of the fields, in UTC unless they have a zone."""
    if any(name in fields for name in _ISO) and any(name in fields for name in _GREGORIAN):
        raise BadLiteral(fault.INVALID_DATETIME, "invalid combination of date conventions")
    try:
        day = _day(fields)
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC) + _clock(fields)
        return moment - timedelta(seconds=fields.get("zone", 0))
    except (BadLiteral, UnsupportedLiteral):
        raise
    except (ValueError, OverflowError) as error:
        message = f'date/time field value out of range: "{text[:100]}"'
        raise BadLiteral(fault.DATETIME_OVERFLOW, message) from error


def _day(fields: dict[str, int]) -> date:
    if "J" in fields:
        return date.fromordinal(fields["J"] - _JULIAN)
    if "IYYY" in fields:
        return _iso_day(fields)
    year = _year(fields)
    if fields.get("BC") or not 1 <= year <= 9999:
        raise UnsupportedLiteral("a date outside of the years 1 to 9999, as without a year,")
    if "DDD" in fields and "DD" not in fields:
        if not 1 <= fields["DDD"] <= 366:
            raise ValueError
        return date(year, 1, 1) + timedelta(days=fields["DDD"] - 1)
    if "WW" in fields and "DD" not in fields:
        return date(year, 1, 1) + timedelta(days=(fields["WW"] - 1) * 7)
    day = (fields["W"] - 1) * 7 + 1 if "W" in fields and "DD" not in fields else fields.get("DD") or 1
    return date(year, fields.get("MM") or 1, day)


def _year(fields: dict[str, int]) -> int:
    if "CC" not in fields:
        return fields.get("YYYY", 0)
    if "YYYY" not in fields:
        return (fields["CC"] - 1) * 100 + 1
    return (fields["CC"] - 1) * 100 + fields["YYYY"] % 100 if fields.get("short") else fields["YYYY"]


def _iso_day(fields: dict[str, int]) -> date:
    first = date.fromisocalendar(fields["IYYY"], 1, 1)
    if "IDDD" in fields:
        return first + timedelta(days=fields["IDDD"] - 1)
    week = fields.get("IW", 1)
    if not 1 <= week <= 53:
        raise ValueError
    return first + timedelta(days=(week - 1) * 7 + max(fields.get("ID", 1), 1) - 1)


def _clock(fields: dict[str, int]) -> timedelta:
    if "SSSS" in fields:
        if not 0 <= fields["SSSS"] < _SECONDS_PER_DAY:
            raise ValueError
        return timedelta(seconds=fields["SSSS"], microseconds=fields.get("US", 0))
    hour = fields.get("HH24", 0)
    for name in ("HH12", "HH"):
        if name in fields:
            if not 1 <= fields[name] <= 12:
                message = f'hour "{fields[name]}" is invalid for the 12-hour clock'
                raise BadLiteral(fault.INVALID_DATETIME, message)
            hour = fields[name] % 12 + 12 * fields.get("PM", 0)
    minute, second = fields.get("MI", 0), fields.get("SS", 0)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        raise ValueError
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=fields.get("US", 0))


def _reader(context: CallContext, template: object) -> Callable[[str], datetime]:
    tokens = template_tokens(context, template)
    known = {*_WIDTHS, *_NAMES, *_ZONES, "Y,YYY"}
    for token in tokens:
        if token.field and token.field.upper() not in known:
            raise fault.unsupported(f"reading template pattern {token.field}", context.position)
    return lambda text: _assemble(_Reading(text).read(tokens), text)


@define(
    "to_timestamp(text, text!) -> timestamptz", "An instant by template, in UTC unless it says where.", family=_FAMILY
)
def to_timestamp(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    read = _reader(context, template)
    return context.rowwise(lambda text: (read(text) - EPOCH) // timedelta(microseconds=1), value)


@define("to_date(text, text!) -> date", "A date by template.", family=_FAMILY)
def to_date(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    read = _reader(context, template)
    return context.rowwise(lambda text: read(text).date().toordinal() - EPOCH_DAY, value)
