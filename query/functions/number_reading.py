"""to_number: numbers read from texts by template.

Source: PostgreSQL documentation, "Data Type Formatting Functions"; formatting.c, NUM_processor and
NUM_numpart_from_char. How many digits after the point a result has depends on the text, so that is a function too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.notations import roman_value
from query.functions.number_templates import NumberTemplate, parse_number_template
from query.functions.registry import define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.types import NUMERIC_DIGITS, numeric

SCALE: Final = 14
"""Digits after the point that a result is held with."""
DIGITS: Final = "to_number digits(text, text!)"
_NO_PADDING: Final = "0123456789.,+-"
_MARKS: Final = {
    **dict.fromkeys("90", "9"),
    **dict.fromkeys((",", "G"), ","),
    **dict.fromkeys((".", "D"), "."),
    **{"MI": "-", "PL": "+", "SG": "s", "TH": "hh", "L": "t", "S": "", "PR": "", "FM": "", "B": "", "C": "", "SP": ""},
}
"""What each pattern does to a text: reads a digit, a group separator, the point or a sign, or passes over something."""


@dataclass(frozen=True, slots=True)
class _Template:
    """`marks` are those of the patterns, in order. `whole`, `fraction`: digits before and after the point."""

    marks: str
    whole: int
    fraction: int
    names: frozenset[str]

    @property
    def is_trimmed(self) -> bool:
        return "FM" in self.names

    @property
    def has_own_sign(self) -> bool:
        """MI, PL and SG are signs with a place of their own."""
        return not self.names.isdisjoint(("MI", "PL", "SG"))


def _described(form: NumberTemplate) -> _Template:
    marks = "".join("x" * len(part) if name == "" else _MARKS[name] for name, part in form.parts)
    before, point, behind = marks.partition(".")
    if point:
        # PostgreSQL passes over TH in templates of whole numbers only.
        marks = marks.replace("hh", "")
    return _Template(marks, before.count("9"), behind.count("9"), frozenset(form.names))


@dataclass(slots=True)
class ReadNumber:
    """What has been read of one text: a sign, and the digits before and after the point."""

    text: str
    template: _Template
    place: int = 0
    sign: str = ""
    whole: str = ""
    fraction: str = ""
    point: bool = False

    def read(self) -> "ReadNumber":
        """Itself, with the text read. Raises 22P02 without digits, 22003 for too many."""
        for mark in self.template.marks:
            if self._at_end():
                break
            if self._take(mark):
                self.place += 1
        if not self.whole and not self.fraction:
            raise BadLiteral(fault.INVALID_TEXT, f'invalid input syntax for type numeric: "{self.sign or " "}"')
        if len(self.whole.lstrip("0")) > self.template.whole:
            raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, "numeric field overflow")
        return self

    @property
    def number(self) -> int:
        """With `SCALE` digits after the point."""
        size = int(self.whole + self.fraction.ljust(SCALE, "0"))
        return -size if self.sign == "-" else size

    def _at_end(self) -> bool:
        return self.place >= len(self.text)

    def _take(self, mark: str) -> bool:
        """Whether this mark of the template passes over a character that it has not passed over itself."""
        letter = self.text[self.place]
        if mark == ",":
            return not self.template.is_trimmed and letter == ","
        if mark in "9.":
            self._part(mark)
            return True
        if mark == "x":
            return True
        if mark not in "th" and letter in ("+-" if mark == "s" else mark):
            self.sign = letter
            return True
        if letter not in _NO_PADDING:
            self.place += 1
        return False

    def _part(self, mark: str) -> None:
        """A digit or the point, with the sign before or behind it."""
        self.place += self.text[self.place] == " "
        if not self._at_end():
            self._sign_before(mark)
        if self._at_end():
            return
        letter = self.text[self.place]
        taken = letter.isdigit()
        if taken and self.point:
            if len(self.fraction) == self.template.fraction:
                return
            self.fraction += letter
        elif taken:
            self.whole += letter
        elif letter == "." and "." in self.template.marks and not self.point:
            self.point = taken = True
        self._sign_behind(taken)

    def _sign_before(self, mark: str) -> None:
        if self.sign or mark == "." or self.whole or self.fraction:
            return
        letter = self.text[self.place]
        if letter in "-+" or (letter == "<" and "PR" in self.template.names):
            self.sign = "+" if letter == "+" else "-"
            self.place += 1

    def _sign_behind(self, taken: bool) -> None:
        if self.sign or not (self.whole or self.fraction):
            return
        if "S" in self.template.names and taken and self.text[self.place + 1 : self.place + 2] in ("-", "+"):
            self.place += 1
            self.sign = self.text[self.place]
        elif self.template.has_own_sign and not taken and self.text[self.place] in "-+":
            self.sign = self.text[self.place]


@define(
    "to_number(text, text!) -> numeric",
    "A number by template: FM, 0, 9, comma, G, point, D, S, MI, PL, SG, PR, L, TH, RN and texts.",
    family="Formatting",
    result=lambda types: numeric(SCALE, exact=False),
)
def to_number(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    return _reading(context, value, template, lambda found: found.number)


@define(f"{DIGITS} -> int4", "Digits after the point of what to_number reads.", family="Formatting")
def to_number_digits(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    return _reading(context, value, template, lambda found: len(found.fraction))


def _reading(context: CallContext, value: pl.Expr, template: object, part: Callable[[ReadNumber], int]) -> pl.Expr:
    if not template:
        return pl.lit(None, dtype=context.result.polars)
    read = number_reader(str(template))
    if read is None:
        hint = "use FM, 0, 9, comma, point, S, MI, PL, SG, PR, L, TH, RN alone, and texts"
        raise fault.unsupported(f"number template {template}", context.position, hint)
    return context.rowwise(lambda text: part(read(text)), value)


def number_reader(template: str) -> Callable[[str], ReadNumber] | None:
    """What reads numbers by the template, and raises BadLiteral and UnsupportedLiteral; None: we lack the template."""
    try:
        parsed = parse_number_template(template)
    except BadLiteral as error:
        return partial(_refuse, error)
    if "RN" in parsed.names and all(name in ("RN", "FM") for name, _ in parsed.parts):
        return _read_roman
    form = None if parsed.names & {"V", "RN", "EEEE"} else _described(parsed)
    if form is None or form.fraction > SCALE or form.whole > NUMERIC_DIGITS - SCALE:
        return None

    def read(text: str) -> ReadNumber:
        if not text.isascii():
            raise UnsupportedLiteral("to_number of a text that is not ASCII")
        return ReadNumber(text, form).read()

    return read


def _read_roman(text: str) -> ReadNumber:
    """The Roman numeral that the text begins with, in letters of either size. Raises 22P02."""
    letters = re.match(r"[IVXLCDM]{0,15}", text.lstrip(), re.IGNORECASE)
    found = letters[0].upper() if letters is not None else ""
    value = roman_value(found)
    if value is None:
        message = "invalid Roman numeral" if text else 'invalid input syntax for type numeric: " "'
        raise BadLiteral(fault.INVALID_TEXT, message)
    return ReadNumber(text, _described(NumberTemplate()), whole=str(value))


def _refuse(error: BadLiteral, text: str) -> ReadNumber:
    """A bad template is an error of the rows that have a text, of which there may be none."""
    raise error
