"""Template patterns of to_char, to_timestamp and to_date (section 9.8 of PostgreSQL's manual) as tokens."""

from dataclasses import dataclass
from typing import Final

FIELDS: Final = (
    *("HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US"),
    *("FF1", "FF2", "FF3", "FF4", "FF5", "FF6"),
    *("A.M.", "a.m.", "P.M.", "p.m.", "AM", "am", "PM", "pm"),
    *("Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IDDD", "ID", "IW", "I"),
    *("MONTH", "Month", "month", "MON", "Mon", "mon", "MM"),
    *("DAY", "Day", "day", "DY", "Dy", "dy", "DDD", "DD", "D"),
    *("WW", "W", "CC", "J", "Q", "RM", "rm", "TZH", "TZM", "TZ", "tz", "OF", "BC", "bc", "AD", "ad"),
)
_BY_LENGTH: Final = sorted(FIELDS, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Token:
    """A field with its modifiers, or literal text (`field` empty)."""

    field: str
    text: str = ""
    fill: bool = True
    ordinal: str = ""


def tokens(template: str) -> list[Token]:
    """The fields and literals of a template.

    >>> [token.field or token.text for token in tokens('YYYY"y"-MM')]
    ['YYYY', 'y', '-', 'MM']
    """
    result: list[Token] = []
    place, fill = 0, True
    while place < len(template):
        if template[place] == '"':
            text, place = _quoted(template, place + 1)
            result.append(Token("", text))
        elif template[place] == "\\" and template[place + 1 : place + 2] == '"':
            result.append(Token("", '"'))
            place += 2
        elif template.startswith(("FM", "fm"), place):
            fill, place = False, place + 2
        elif template.startswith(("TM", "FX"), place):
            raise ValueError(template[place : place + 2])
        else:
            field = _field(template, place)
            if field is None:
                result.append(Token("", template[place]))
                place += 1
                continue
            place += len(field)
            ordinal = template[place : place + 2] if template[place : place + 2] in ("TH", "th") else ""
            place += len(ordinal)
            result.append(Token(_canonical(field), "", fill, ordinal))
            fill = True
    return result


def _quoted(template: str, place: int) -> tuple[str, int]:
    text = ""
    while place < len(template) and template[place] != '"':
        if template[place] == "\\":
            place += 1
        text += template[place : place + 1]
        place += 1
    return text, place + 1


def _field(template: str, place: int) -> str | None:
    for field in _BY_LENGTH:
        part = template[place : place + len(field)]
        if part == field or (part.upper() == field and field not in _CASED):
            return part
    return None


_CASED: Final = frozenset(field for field in FIELDS if field.upper() != field or field.upper() in ("AM", "PM", "TZ"))


def _canonical(field: str) -> str:
    return field if field in FIELDS else field.upper()
