"""Fields of a time, read from a text by a template, as to_timestamp and to_date do.

What is lenient and what is not follows PostgreSQL to the character: formatting.c, DCH_from_char and
from_char_parse_int_len. Pure Python.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.patterns.templates import SPACES, Token, is_separator
from query.pg.time_zones import abbreviation_offset

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
# From December on, so that VIII is tried before V.
_ROMAN: Final = ("xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i")
_WORDS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    **dict.fromkeys(("AM", "PM"), ("pm", ("am", "pm"))),
    **dict.fromkeys(("A.M.", "P.M."), ("pm", ("a.m.", "p.m."))),
    **dict.fromkeys(("AD", "BC"), ("bc", ("ad", "bc"))),
    **dict.fromkeys(("A.D.", "B.C."), ("bc", ("a.d.", "b.c."))),
    "MONTH": ("month", _MONTHS),
    "MON": ("month", tuple(name[:3] for name in _MONTHS)),
    "RM": ("month", _ROMAN),
    "DAY": ("weekday", _DAYS),
    "DY": ("weekday", tuple(name[:3] for name in _DAYS)),
}
"""The field that a word sets, and the words."""
_YEARS: Final = {"YYYY": 4, "IYYY": 4, "YYY": 3, "IYY": 3, "YY": 2, "IY": 2, "Y": 1, "I": 1}
_FRACTIONS: Final = {"MS": 3, "US": 6, **{f"FF{digits}": digits for digits in range(1, 7)}}
_NUMBERS: Final[dict[str, tuple[str, int]]] = {
    **{"HH24": ("hour", 2), "HH12": ("hour", 2), "HH": ("hour", 2), "MI": ("minute", 2), "SS": ("second", 2)},
    **{"SSSS": ("second of day", 4), "SSSSS": ("second of day", 5), "MM": ("month", 2), "DD": ("day", 2)},
    **{"DDD": ("day of year", 3), "IDDD": ("day of year", 3), "D": ("weekday", 1), "ID": ("weekday", 1)},
    **{"WW": ("week", 2), "IW": ("week", 2), "W": ("week of month", 1), "Q": ("", 1), "CC": ("century", 2)},
    "J": ("julian", 1),
    **{name: ("year", digits) for name, digits in _YEARS.items()},
    **{name: ("millisecond" if name == "MS" else "microsecond", digits) for name, digits in _FRACTIONS.items()},
}
"""The field that a number sets, and how many digits it has where nothing else ends it."""
_ISO: Final = ("IYYY", "IYY", "IY", "I", "IW", "ID", "IDDD")
_GREGORIAN: Final = ("YYYY", "YYY", "YY", "Y", "Y,YYY", "MM", "MONTH", "MON", "RM", "DD", "DDD", "D", "WW", "W")
_TWELVE_HOURS: Final = ("HH12", "HH", "AM", "PM", "A.M.", "P.M.")
_DIGITS: Final = (*_NUMBERS, "Y,YYY", "TZM")
"""Fields before which a number has to have its own width."""
_NUMBER: Final = re.compile(r"[ \t\n\v\f\r]*[-+]?[0-9]+")
_LONG_YEAR: Final = re.compile(r"\s*([-+]?[0-9]+),\s*([-+][0-9]{1,2}|[0-9]{1,3})", re.ASCII)
_MOST_INT4: Final = 2**31 - 1
# Of a longer number these are too many already; Python refuses to read thousands.
_MOST_READ: Final = 40


@dataclass(slots=True)
class TimeFields:
    """What the fields of a template have set. A number that is not there is 0, as one that is 0.

    `short`: the year has one or two digits. `sign`: of an offset of hours and minutes, 0 without one; `offset`: of an
    abbreviation, in seconds east of UTC. `precision`: digits of a fraction to be kept, 0: all.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    is_iso: bool = False
    is_gregorian: bool = False
    is_twelve_hours: bool = False
    is_short: bool = False
    sign: int = 0
    offset: int | None = None
    precision: int = 0

    def __getitem__(self, name: str) -> int:
        return self.numbers.get(name, 0)

    def set(self, name: str, value: int, token: Token) -> None:
        """Raises 22007 if the field has another value."""
        if self[name] not in (0, value):
            message = f'conflicting values for "{token.field}" field in formatting string'
            raise BadLiteral(fault.INVALID_DATETIME, message)
        self.numbers[name] = value

    def choose(self, name: str, token: Token) -> None:
        """Raises 22007 for fields of weeks beside fields of months."""
        self.is_iso |= name in _ISO
        self.is_gregorian |= name in _GREGORIAN
        if self.is_iso and self.is_gregorian:
            raise BadLiteral(fault.INVALID_DATETIME, "invalid combination of date conventions")
        self.is_twelve_hours |= name in _TWELVE_HOURS


def read_fields(text: str, tokens: Sequence[Token]) -> TimeFields:
    """Raises BadLiteral, UnsupportedLiteral."""
    reading = _Reading(text, tokens)
    for number in range(len(tokens)):
        if reading.at_end:
            break
        reading.read(number)
    return reading.fields


@dataclass(slots=True)
class _Reading:
    """How far a text is read. `surplus`: characters that were passed over and that the template does not have; below
    0: characters of the template that the text does not have. `is_exact`: FX was seen."""

    text: str
    tokens: Sequence[Token]
    place: int = 0
    surplus: int = 0
    is_exact: bool = False
    fields: TimeFields = field(default_factory=TimeFields)

    @property
    def at_end(self) -> bool:
        return self.place >= len(self.text)

    def read(self, number: int) -> None:
        """The token with that number."""
        token = self.tokens[number]
        if not self.is_exact and (token.field or number == 0) and token.field != "FX":
            self._pass_spaces()
        if token.field:
            self._field(number, token.field.upper())
        elif self.is_exact:
            self.place += 1
        elif token.is_separator:
            self._pass_separator()
        else:
            self._pass_character()

    def _pass_spaces(self) -> None:
        while not self.at_end and self.text[self.place] in SPACES:
            self.place += 1
            self.surplus += 1

    def _pass_separator(self) -> None:
        """A separator of the template is any in the text, or none."""
        self.surplus -= 1
        letter = self.text[self.place : self.place + 1]
        if letter and is_separator(letter):
            self.place += 1
            self.surplus += 1

    def _pass_character(self) -> None:
        """A character of the template is any in the text, unless that has one too many already."""
        if self.surplus > 0:
            self.surplus -= 1
        else:
            self.place += 1

    def _field(self, number: int, name: str) -> None:
        token = self.tokens[number]
        self.fields.choose(name, token)
        if name == "FX":
            self.is_exact = True
        elif name in _WORDS:
            self._word(token, *_WORDS[name])
        elif name in ("TZ", "OF", "TZH", "TZM"):
            self._zone(number, name)
        elif name == "Y,YYY":
            self._grouped_year(token)
        else:
            self._named_number(number, name)
        if token.ordinal:
            self.place = min(self.place + 2, len(self.text))
        if not self.is_exact:
            self.surplus = 0
            self._pass_spaces()

    def _word(self, token: Token, target: str, words: tuple[str, ...]) -> None:
        rest = self.text[self.place : self.place + len(max(words, key=len))].lower()
        found = next((number for number, word in enumerate(words) if rest.startswith(word)), None)
        if found is None:
            raise self._bad(token, len(rest))
        self.place += len(words[found])
        if words is _ROMAN:
            found = len(words) - 1 - found
        self.fields.set(target, found + (target == "month"), token)
        if target == "weekday":
            self.fields.numbers[target] += 1

    def _named_number(self, number: int, name: str) -> None:
        token = self.tokens[number]
        target, width = _NUMBERS[name]
        value, length = self._number(number, width)
        if not target:
            return
        self.fields.set(target, value, token)
        if name in _FRACTIONS:
            self.fields.numbers[target] = value * int(10 ** max(0, (3 if name == "MS" else 6) - length))
            self.fields.precision = int(name[2:]) if name.startswith("FF") else self.fields.precision
        elif target == "year":
            self.fields.is_short = width <= 2
            if width < 4 and length < 4:
                self.fields.numbers[target] = whole_year(value)
        elif name == "ID":
            # Days of the week begin with Sunday, as 1.
            self.fields.numbers[target] = value + 1 if value < 7 else 1

    def _number(self, number: int, width: int) -> tuple[int, int]:
        """An integer, and how many characters it takes: `width` digits, or all that are there if something else than a
        number follows in the template. Raises 22007, 22008."""
        token, begin = self.tokens[number], self.place
        first = begin + len(self.text) - begin - len(self.text[begin:].lstrip(SPACES))
        if not token.fill or self._is_ended(number):
            match = _NUMBER.match(self.text, begin)
            self.place = match.end() if match else begin
        else:
            part = self.text[first : first + width]
            if len(part.encode()) < width:
                message = f'source string too short for "{token.field}" formatting field'
                raise BadLiteral(fault.INVALID_DATETIME, message)
            match = _NUMBER.match(part)
            if match and match.end() < width:
                raise self._bad(token, width)
            self.place = first + (match.end() if match else 0)
        if self.place == begin:
            raise self._bad(token, width)
        value = int(match[0].strip()[:_MOST_READ]) if match else 0
        if not -_MOST_INT4 - 1 <= value <= _MOST_INT4:
            message = f'value for "{token.field}" in source string is out of range'
            raise BadLiteral(fault.DATETIME_OVERFLOW, message)
        return value, self.place - begin

    def _is_ended(self, number: int) -> bool:
        """Whether something else than a digit has to follow in the text."""
        following = self.tokens[number + 1] if number + 1 < len(self.tokens) else None
        if self.tokens[number].ordinal or following is None:
            return True
        return following.field.upper() not in _DIGITS if following.field else not ("0" <= following.text <= "9")

    def _grouped_year(self, token: Token) -> None:
        match = _LONG_YEAR.match(self.text, self.place)
        if match is None:
            raise self._bad(token, 5)
        self.place = match.end()
        self.fields.set("year", int(match[1]) * 1000 + int(match[2]), token)
        self.fields.is_short = False

    def _zone(self, number: int, name: str) -> None:
        """An offset, of which `TZ` may be an abbreviation."""
        if name == "TZM":
            self.fields.sign = self.fields.sign or 1
            self.fields.set("zone minute", self._number(number, 2)[0], self.tokens[number])
            return
        if name == "TZ" and self._abbreviation(self.tokens[number]):
            return
        letter = self.text[self.place]
        self.place += letter in "+- "
        # A minus may have been taken for a separator.
        is_west = letter == "-" or (letter not in "+ " and self.surplus > 0 and self.text[self.place - 1] == "-")
        self.fields.sign = -1 if is_west else 1
        self.fields.set("zone hour", self._number(number, 2)[0], self.tokens[number])
        if name != "TZH" and self.text[self.place : self.place + 1] == ":":
            self.place += 1
            self.fields.set("zone minute", self._number(number, 2)[0], self.tokens[number])

    def _abbreviation(self, token: Token) -> bool:
        """Whether the text goes on with letters, the most of which that are an abbreviation are read."""
        letters = re.compile(r"[A-Za-z]{0,10}").match(self.text, self.place)[0]  # type: ignore[index]
        for length in range(len(letters), 0, -1):
            offset = abbreviation_offset(letters[:length])
            if offset is None:
                continue
            if not isinstance(offset, int):
                raise UnsupportedLiteral(f"the time zone {letters[:length]} in a template")
            self.fields.offset, self.fields.sign = offset, 0
            self.place += length
            return True
        if letters:
            raise self._bad(token, len(letters))
        return False

    def _bad(self, token: Token, length: int) -> BadLiteral:
        found = self.text[self.place : self.place + length]
        return BadLiteral(fault.INVALID_DATETIME, f'invalid value "{found}" for "{token.field}"')


def whole_year(value: int) -> int:
    """A year of fewer than four digits as the one nearest to 2020.

    >>> whole_year(69), whole_year(70), whole_year(519), whole_year(520)
    (2069, 1970, 2519, 1520)
    """
    if value < 70:
        return value + 2000
    if value < 100:
        return value + 1900
    return value + 2000 if value < 520 else value + 1000 if value < 1000 else value
