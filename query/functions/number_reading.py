"""to_number: numbers read from texts by template.

Source: PostgreSQL documentation, "Data Type Formatting Functions"; formatting.c, NUM_processor and
NUM_numpart_from_char. How many digits after the point a result has depends on the text, so that is a function too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.types import NUMERIC_DIGITS, numeric

SCALE: Final = 14
"""Digits after the point that a result is held with."""
DIGITS: Final = "to_number digits(text, text!)"
_TEMPLATE: Final = re.compile(r"(FM)?(S(?!G))?([09G,]+)(?:([.D])([09]*))?(S|MI|PR)?$", re.IGNORECASE)
_NO_PADDING: Final = "0123456789.,+-"


@dataclass(frozen=True, slots=True)
class _Template:
    """`marks` are those in order: 9, comma, point, M for MI. `whole` is the number of digits before the point."""

    marks: str
    whole: int
    fraction: int
    trimmed: bool
    sign: str


def _parse(text: str) -> _Template | None:
    match = _TEMPLATE.match(text)
    if match is None or (match[2] and match[6]):
        return None
    before, fraction, behind = match[3].upper().replace("G", ",").replace("0", "9"), match[5] or "", match[6] or ""
    sign = "S" if match[2] else behind.upper()
    marks = before + ("." if match[4] else "") + "9" * len(fraction) + ("M" if sign == "MI" else "")
    return _Template(marks, before.count("9"), len(fraction), bool(match[1]), sign)


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
        """Whether this mark of the template passes over a character."""
        if mark == ",":
            return not self.template.trimmed and self.text[self.place] == ","
        if mark != "M":
            self._part(mark)
            return True
        if self.text[self.place] == "-":
            self.sign = "-"
            return True
        if self.text[self.place] not in _NO_PADDING:
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
        if letter in "-+" or (letter == "<" and self.template.sign == "PR"):
            self.sign = "+" if letter == "+" else "-"
            self.place += 1

    def _sign_behind(self, taken: bool) -> None:
        if self.sign or not (self.whole or self.fraction):
            return
        if self.template.sign == "S" and taken and self.text[self.place + 1 : self.place + 2] in ("-", "+"):
            self.place += 1
            self.sign = self.text[self.place]
        elif self.template.sign == "MI" and not taken and self.text[self.place] in "-+":
            self.sign = self.text[self.place]


@define(
    "to_number(text, text!) -> numeric",
    "A number by template: FM, 0, 9, comma, G, point, D, S, MI, PR.",
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
        hint = "use FM, 0, 9, comma, point, S, MI, PR"
        raise fault.unsupported(f"number template {template}", context.position, hint)
    return context.rowwise(lambda text: part(read(text)), value)


def number_reader(template: str) -> Callable[[str], ReadNumber] | None:
    """What reads numbers by the template, and raises BadLiteral and UnsupportedLiteral; None: we lack the template."""
    form = _parse(template)
    if form is None or form.fraction > SCALE or form.whole > NUMERIC_DIGITS - SCALE:
        return None

    def read(text: str) -> ReadNumber:
        if not text.isascii():
            raise UnsupportedLiteral("to_number of a text that is not ASCII")
        return ReadNumber(text, form).read()

    return read
