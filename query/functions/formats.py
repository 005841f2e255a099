"""to_char of times: their fields by template."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.patterns.templates import Token, tokens

_FAMILY = "Formatting"
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NATIVE: Final = {
    "YYYY": "%Y",
    "MM": "%m",
    "DD": "%d",
    "HH24": "%H",
    "MI": "%M",
    "SS": "%S",
    "DDD": "%j",
    "IYYY": "%G",
    "IW": "%V",
    "HH12": "%I",
    "HH": "%I",
    "AM": "%p",
    "PM": "%p",
    "Mon": "%b",
    "Dy": "%a",
    "YY": "%y",
    "ID": "%u",
    "MS": "%3f",
    "US": "%6f",
}
"""Fields that chrono's strftime prints exactly so for years 1000 to 9999."""
_UNFILLED: Final = {
    **{"MM": "%-m", "DD": "%-d", "DDD": "%-j", "HH24": "%-H", "HH12": "%-I", "HH": "%-I", "MI": "%-M", "SS": "%-S"},
    **{"YYYY": "%Y", "Day": "%A", "Month": "%B", "Mon": "%b", "Dy": "%a", "MS": "%3f", "US": "%6f"},
}
"""The same behind FM."""
_WORDS: Final = {"day": "%A", "month": "%B", "dy": "%a", "mon": "%b"}
"""Fields that are names, in small letters."""
_WORD_WIDTH: Final = {"day": 9, "month": 9}


@define(
    "to_char(timestamp, text!) -> text; to_char(timestamptz, text!) -> text",
    "A time by template.",
    family=_FAMILY,
)
def to_char_time(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    parsed = printed_tokens(context, template)
    if not parsed:
        return pl.when(value.is_null() & value.is_not_null()).then(pl.lit(""))
    parts = list(_by_columns(value, parsed))
    known = [part for part in parts if part is not None]
    if len(known) == len(parts) <= _MOST_PARTS:
        return pl.concat_str(known)
    return context.rowwise(partial(printed, parsed), value.dt.cast_time_unit("us"))


def printed_tokens(context: CallContext, template: object) -> list[Token]:
    """The fields and literals of a template to be printed. Raises UnsupportedSQL."""
    # FX matters to reading alone.
    parsed = [token for token in tokens(str(template)) if token.field != "FX"]
    for token in parsed:
        if token.field and token.field not in _PRINTERS:
            raise fault.unsupported(f"template pattern {token.field}", context.position)
    return parsed


def printed(parsed: Sequence[Token], moment: datetime) -> str:
    """A moment by a template; its zone's fields are those of its clock, and empty for a timestamp without a zone."""
    return "".join(_print(token, moment) for token in parsed)


_MOST_PARTS: Final = 8


def _by_columns(value: pl.Expr, parsed: Sequence[Token]) -> Iterator[pl.Expr | None]:
    """The texts whose concatenation the template prints, neighbours that strftime prints as one; None for a field that
    has to be printed by hand."""
    for native, same in groupby(parsed, lambda token: _native(token) is not None):
        if native:
            yield value.dt.to_string("".join(_native(token) or "" for token in same))
        else:
            yield from (_word(value, token) for token in same)


def _native(token: Token) -> str | None:
    """What strftime prints as the token."""
    if not token.field:
        return token.text.replace("%", "%%")
    return None if token.ordinal else (_NATIVE if token.fill else _UNFILLED).get(token.field)


def _word(value: pl.Expr, token: Token) -> pl.Expr | None:
    name = token.field.lower()
    if name not in _WORDS or token.ordinal:
        return None
    text = value.dt.to_string(_WORDS[name])
    if token.field.isupper():
        text = text.str.to_uppercase()
    elif token.field.islower():
        text = text.str.to_lowercase()
    return text.str.pad_end(_WORD_WIDTH.get(name, 0)) if token.fill else text


def _print(token: Token, moment: datetime) -> str:
    return with_modifiers(_PRINTERS[token.field](moment), token) if token.field else token.text


def with_modifiers(text: str, token: Token) -> str:
    """A field's text without padding if the token says so, and with the ending of an ordinal number."""
    if not token.fill and token.field not in _FIXED:
        text = _strip_padding(text.strip())
    return text + _suffix(text, token.ordinal) if token.ordinal else text


_FIXED: Final = ("MS", "US", *(f"FF{digits}" for digits in range(1, 7)), "TZH", "TZM")
"""Fields that FM leaves as long as they are."""


def _strip_padding(text: str) -> str:
    return re.sub(r"^([-+]?)0+(?=\d+(:\d+)?$)", r"\1", text)


def _suffix(text: str, ordinal: str) -> str:
    number = int(re.sub(r"\D", "", text) or 0)
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return ending.upper() if ordinal == "TH" else ending


def _twelve(moment: datetime) -> str:
    return f"{(moment.hour % 12) or 12:02d}"


def _half(upper: bool, dots: bool) -> Callable[[datetime], str]:
    def shown(moment: datetime) -> str:
        text = "AM" if moment.hour < 12 else "PM"
        text = f"{text[0]}.M." if dots else text
        return text if upper else text.lower()

    return shown


def _name(names: tuple[str, ...], index: Callable[[datetime], int], form: str) -> Callable[[datetime], str]:
    """A name in the field's case; whole names are padded to nine characters."""

    def shown(moment: datetime) -> str:
        name = names[index(moment)]
        name = name[:3] if len(form) <= 3 and form.upper() != "DAY" else name.ljust(9)
        return name.upper() if form.isupper() else name.lower() if form.islower() else name

    return shown


def _fraction(digits: int) -> Callable[[datetime], str]:
    return lambda moment: f"{moment.microsecond:06d}"[:digits]


def _offset(moment: datetime) -> int:
    """Seconds east of UTC."""
    return int((moment.utcoffset() or timedelta()).total_seconds())


def _offset_hours(moment: datetime) -> str:
    offset = _offset(moment)
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 3600:02d}"


def _offset_minutes(moment: datetime) -> str:
    return f"{abs(_offset(moment)) // 60 % 60:02d}"


_PRINTERS: Final[dict[str, Callable[[datetime], str]]] = {
    "HH24": lambda moment: f"{moment.hour:02d}",
    "HH12": _twelve,
    "HH": _twelve,
    "MI": lambda moment: f"{moment.minute:02d}",
    "SS": lambda moment: f"{moment.second:02d}",
    "MS": _fraction(3),
    "US": _fraction(6),
    **{f"FF{digits}": _fraction(digits) for digits in range(1, 7)},
    "SSSS": lambda moment: str((moment.hour * 60 + moment.minute) * 60 + moment.second),
    "SSSSS": lambda moment: str((moment.hour * 60 + moment.minute) * 60 + moment.second),
    **{name: _half(True, False) for name in ("AM", "PM")},
    **{name: _half(False, False) for name in ("am", "pm")},
    **{name: _half(True, True) for name in ("A.M.", "P.M.")},
    **{name: _half(False, True) for name in ("a.m.", "p.m.")},
    "Y,YYY": lambda moment: f"{moment.year // 1000},{moment.year % 1000:03d}",
    "YYYY": lambda moment: f"{moment.year:04d}",
    "YYY": lambda moment: f"{moment.year % 1000:03d}",
    "YY": lambda moment: f"{moment.year % 100:02d}",
    "Y": lambda moment: str(moment.year % 10),
    "IYYY": lambda moment: f"{moment.isocalendar()[0]:04d}",
    "IYY": lambda moment: f"{moment.isocalendar()[0] % 1000:03d}",
    "IY": lambda moment: f"{moment.isocalendar()[0] % 100:02d}",
    "I": lambda moment: str(moment.isocalendar()[0] % 10),
    "IW": lambda moment: f"{moment.isocalendar()[1]:02d}",
    "ID": lambda moment: str(moment.isoweekday()),
    "IDDD": lambda moment: f"{(moment.isocalendar()[1] - 1) * 7 + moment.isoweekday():03d}",
    "MM": lambda moment: f"{moment.month:02d}",
    **{form: _name(MONTHS, lambda moment: moment.month - 1, form) for form in ("MONTH", "Month", "month")},
    **{form: _name(MONTHS, lambda moment: moment.month - 1, form) for form in ("MON", "Mon", "mon")},
    **{form: _name(DAYS, lambda moment: moment.weekday(), form) for form in ("DAY", "Day", "day", "DY", "Dy", "dy")},
    "DDD": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "DD": lambda moment: f"{moment.day:02d}",
    "D": lambda moment: str(moment.isoweekday() % 7 + 1),
    "WW": lambda moment: f"{(moment.timetuple().tm_yday - 1) // 7 + 1:02d}",
    "W": lambda moment: str((moment.day - 1) // 7 + 1),
    "CC": lambda moment: f"{(moment.year - 1) // 100 + 1:02d}",
    "J": lambda moment: str(moment.date().toordinal() + 1_721_425),
    "Q": lambda moment: str((moment.month - 1) // 3 + 1),
    "RM": lambda moment: ROMAN[moment.month - 1].ljust(4),
    "rm": lambda moment: ROMAN[moment.month - 1].lower().ljust(4),
    "TZ": lambda moment: moment.tzname() or "",
    "tz": lambda moment: (moment.tzname() or "").lower(),
    "OF": lambda moment: _offset_hours(moment) + (f":{_offset_minutes(moment)}" if _offset(moment) % 3600 else ""),
    "TZH": lambda moment: _offset_hours(moment),
    "TZM": lambda moment: _offset_minutes(moment),
    **{name: (lambda moment: "AD") for name in ("AD", "BC")},
    **{name: (lambda moment: "ad") for name in ("ad", "bc")},
    **{name: (lambda moment: "A.D.") for name in ("A.D.", "B.C.")},
    **{name: (lambda moment: "a.d.") for name in ("a.d.", "b.c.")},
}
