"""Template patterns of to_char, to_timestamp and to_date (section 9.8 of PostgreSQL's manual) as tokens."""

from dataclasses import dataclass
from typing import Final

_NUMBERS: Final = (
    *("HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US"),
    *("FF1", "FF2", "FF3", "FF4", "FF5", "FF6"),
    *("Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IDDD", "ID", "IW", "I"),
    *("MM", "DDD", "DD", "D", "WW", "W", "CC", "J", "Q"),
)
"""Numbers. They, offsets and FX mean the same in small letters, all of them small."""
_OFFSETS: Final = ("TZH", "TZM", "OF", "FX")
_CASED: Final = (
    *("A.M.", "a.m.", "P.M.", "p.m.", "AM", "am", "PM", "pm", "A.D.", "a.d.", "B.C.", "b.c.", "AD", "ad", "BC", "bc"),
    *("MONTH", "Month", "month", "MON", "Mon", "mon", "DAY", "Day", "day", "DY", "Dy", "dy", "RM", "rm", "TZ", "tz"),
)
_MEANINGS: Final = {
    **{field.lower(): field for field in (*_NUMBERS, *_OFFSETS)},
    **{field: field for field in (*_NUMBERS, *_OFFSETS, *_CASED)},
}
_NAMED: Final = ("MONTH", "MON", "DAY", "DY")
"""Names, which TM leaves without padding; there are English ones only."""
_SUFFIXES: Final = ("TH", "th", "SP")
"""SP, the number in words, does nothing; TH does nothing but to numbers."""
_BY_LENGTH: Final = sorted(_MEANINGS, key=len, reverse=True)


SPACES: Final = " \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class Token:
    """A field with its modifiers, or a character (`field` empty), which is a separator unless it is in quotes."""

    field: str
    text: str = ""
    fill: bool = True
    ordinal: str = ""
    is_quoted: bool = False

    @property
    def is_separator(self) -> bool:
        return not self.is_quoted and is_separator(self.text)


def is_separator(letter: str) -> bool:
    """Whether the character is ASCII, neither letter nor digit: a space, or printable."""
    return letter in SPACES or ("!" <= letter <= "~" and not letter.isalnum())


def tokens(template: str) -> list[Token]:
    """The fields of a template, and the characters between them.

    >>> [token.field or token.text for token in tokens('YYYY"y"-MM')]
    ['YYYY', 'y', '-', 'MM']
    """
    result: list[Token] = []
    position, fill = 0, True
    while position < len(template):
        if template[position] == '"':
            text, position = _quote(template, position + 1)
            result.extend(Token("", letter, is_quoted=True) for letter in text)
        elif template[position] == "\\" and template[position + 1 : position + 2] == '"':
            result.append(Token("", '"'))
            position += 2
        elif fill and template.startswith(("FM", "fm"), position):
            fill, position = False, position + 2
            continue
        elif template.startswith(("TM", "tm"), position):
            fill = fill and (_field(template, position + 2) or "").upper() not in _NAMED
            position += 2
            continue
        else:
            field = _field(template, position)
            if field is None:
                result.append(Token("", template[position]))
                position += 1
            else:
                position += len(field)
                suffix = template[position : position + 2] if template[position : position + 2] in _SUFFIXES else ""
                position += len(suffix)
                ordinal = suffix if suffix != "SP" and field.upper() in _NUMBERS else ""
                result.append(Token(_MEANINGS[field], "", fill, ordinal))
        fill = True
    return result


def _quote(template: str, position: int) -> tuple[str, int]:
    text = ""
    while position < len(template) and template[position] != '"':
        if template[position] == "\\":
            position += 1
        text += template[position : position + 1]
        position += 1
    return text, position + 1


def _field(template: str, position: int) -> str | None:
    return next((field for field in _BY_LENGTH if template.startswith(field, position)), None)
