"""to_char of numbers.

Source: PostgreSQL documentation, "Data Type Formatting Functions"; formatting.c, numeric_to_char and its kin,
NUM_processor and NUM_numpart_to_char. Signs, separators and the currency (a blank) are those of the locale "C".
"""

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Final

import numpy as np
import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.notations import roman, scientific
from query.functions.number_templates import OWN_SIGNS, NumberTemplate, parse_number_template
from query.functions.registry import define
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.types import INTEGER_LIMITS, PgType

_EXACT: Final = Context(prec=200)
_FLOAT_DIGITS: Final = {"float4": 6, "float8": 15}
"""Digits of a float that PostgreSQL shows; where a template asks for more it gives fewer after the point."""
_CURRENCY: Final = " "
_NO_DIGIT: Final = "\0"
"""What stands where a template asks for a digit behind the last one: PostgreSQL ends the text there."""

Shown = Callable[[object], str]


@define(
    "to_char(int4, text!) -> text; to_char(int8, text!) -> text; to_char(numeric, text!) -> text; "
    "to_char(float4, text!) -> text; to_char(float8, text!) -> text",
    "A number by template: FM, 0, 9, comma, G, point, D, S, MI, PL, SG, PR, L, TH, V, RN, EEEE and texts.",
    family="Formatting",
)
def to_char_number(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    try:
        form = parse_number_template(str(template))
    except BadLiteral as error:
        return context.rowwise(_raising(error), value)
    return context.rowwise(_shower(form, context.types[0]), value)


def _raising(error: BadLiteral) -> Shown:
    """A bad template is an error of the rows that have a number, of which there may be none."""

    def fail(number: object) -> str:
        raise error

    return fail


def _shower(form: NumberTemplate, pg_type: PgType) -> Shown:
    """What shows numbers of a type by the template."""
    scale = pg_type.scale if pg_type.name == "numeric" else 0
    if not form.parts:
        return lambda number: ""
    if "RN" in form.names:
        return lambda number: _with_roman(form, roman(number, scale))
    if "EEEE" in form.names:
        return lambda number: scientific(number, scale, form.fraction, is_numeric=pg_type.name == "numeric")
    if pg_type.name in _FLOAT_DIGITS:
        return lambda number: _float(number, form, pg_type.name)
    if pg_type.name == "numeric":
        return lambda number: _exact(Decimal(str(number)).scaleb(form.shift - scale, _EXACT), form)
    return lambda number: _exact(Decimal(_shifted(number, form.shift, pg_type.name)), form)


def _with_roman(form: NumberTemplate, text: str) -> str:
    """The template's texts, and the number at RN in 15 characters."""
    shown = text if form.is_trimmed else text.rjust(15)
    separator = "" if form.is_trimmed else " "
    marks = {"L": _CURRENCY, ",": separator, "G": separator}
    numerals = {"RN": shown, "rn": shown.lower()}
    return "".join(part if not name else numerals.get(part, marks.get(name, "")) for name, part in form.parts)


def _shifted(number: object, shift: int, type_name: str) -> int:
    """Raises 22003 beyond bigint. Of an int4 PostgreSQL wraps around."""
    size = int(str(number)) * int(10**shift)
    if -INTEGER_LIMITS[type_name] <= size < INTEGER_LIMITS[type_name]:
        return size
    if type_name == "int4":
        raise UnsupportedLiteral("to_char with V beyond integer")
    raise BadLiteral(fault.NUMERIC_OUT_OF_RANGE, "bigint out of range")


def _exact(number: Decimal, form: NumberTemplate) -> str:
    rounded = number.quantize(Decimal(1).scaleb(-form.fraction), ROUND_HALF_UP, _EXACT)
    return _Writer(form, format(abs(rounded), "f"), negative=rounded < 0).text()


def _float(number: object, form: NumberTemplate, type_name: str) -> str:
    """Halves of a float go to the even digit, and its zero has a sign."""
    if not isinstance(number, float) or not math.isfinite(number):
        raise UnsupportedLiteral("to_char of NaN and infinity")
    shifted = _multiplied(number, form.shift, type_name)
    left = max(_FLOAT_DIGITS[type_name] - len(f"{abs(shifted):.0f}"), 0)
    places = Decimal(1).scaleb(-min(form.fraction, left))
    rounded = Decimal(shifted).quantize(places, ROUND_HALF_EVEN, Context(prec=400))
    return _Writer(form, format(abs(rounded), "f"), negative=math.copysign(1, shifted) < 0, digits=left).text()


def _multiplied(number: float, shift: int, type_name: str) -> float:
    power = 10.0**shift
    return float(np.float32(number) * np.float32(power)) if type_name == "float4" else number * power


class _Writer:
    """One number on its way into a template. `digits`: how many after the point there may be.

    The names of formatting.c: `blanks` is out_pre_spaces, `place` num_curr, `last` last_relevant, `at` number_p.
    """

    def __init__(self, form: NumberTemplate, number: str, *, negative: bool, digits: int | None = None) -> None:
        self._form, self._minus = form, negative
        whole = form.whole + form.shift
        fraction = form.fraction if digits is None else min(form.fraction, digits)
        size = len(number.partition(".")[0])
        self._blanks = max(whole - size, 0)
        self._number = "#" * whole + "." + "#" * fraction if size > whole else number
        self._fraction = fraction
        self._bracket = "PR" in form.names and (negative or not form.is_trimmed or not form.names.isdisjoint(OWN_SIGNS))
        self._sign_behind = form.sign_behind or form.digits_before_sign == whole
        self._is_signed = self._is_signed_elsewhere()
        self._last = self._last_relevant()
        more = not self._is_signed and not self._blanks
        self._end = whole + fraction - 1 + more + (self._blanks > 0) + form.is_decimal
        self._place = self._at = 0
        self._has_digits = False
        self._written: list[str] = []

    def text(self) -> str:
        """The number in the template."""
        for name, part in self._form.parts:
            self._write(name, part)
        return "".join(self._written).partition(_NO_DIGIT)[0]

    def _is_signed_elsewhere(self) -> bool:
        """Whether no sign is to be written among the digits."""
        names = self._form.names
        if not names.isdisjoint(OWN_SIGNS):
            return not names.isdisjoint(("MI", "SG"))
        return not self._minus and self._form.is_trimmed and "S" not in names

    def _last_relevant(self) -> int | None:
        """Where the last digit stands that FM leaves, or the point if it leaves none behind it."""
        if not self._form.is_trimmed or not self._form.is_decimal or "." not in self._number:
            return None
        last = len(self._number.rstrip("0")) - 1
        if self._form.last_zero <= self._blanks:
            return last
        return max(last, min(len(self._number) - 1, self._form.last_zero - self._blanks))

    def _write(self, name: str, part: str) -> None:
        trimmed = self._form.is_trimmed
        match name:
            case "":
                self._written.append(part)
            case "9" | "0" | "." | "D":
                self._write_digit(is_zero=name == "0")
            case "," | "G":
                self._written.append("," if self._has_digits else " " * (not trimmed))
            case "L":
                self._written.append(_CURRENCY)
            case "MI":
                self._written.append("-" if self._minus else " " * (not trimmed))
            case "PL":
                self._written.append(" " * (not trimmed) if self._minus else "+")
            case "SG":
                self._written.append("-" if self._minus else "+")
            case "TH" if not (self._number.startswith("#") or self._minus or self._form.is_decimal):
                ending = _ordinal(self._number)
                self._written.append(ending if part == "TH" else ending.lower())

    def _write_digit(self, *, is_zero: bool) -> None:
        form = self._form
        self._has_digits = False
        if not self._is_signed and self._is_sign_here():
            self._write_sign()
        if self._place < self._blanks and (form.first_zero is None or form.first_zero > self._place):
            self._written.append(" " * (not form.is_trimmed))
        elif self._place < self._blanks:
            self._written.append("0")
            self._has_digits = True
        else:
            self._write_next(is_zero=is_zero)
        end = self._place if self._last is not None and self._last == self._at else self._end
        if self._place + 1 == end:
            self._write_end()
        self._place += 1

    def _is_sign_here(self) -> bool:
        begins = self._place >= self._blanks or self._form.first_zero == self._place
        return begins and (not self._is_hidden_zero() or self._is_last_point())

    def _is_hidden_zero(self) -> bool:
        """Whether the next digit is the only one before the point, a zero that no 0 asks for."""
        is_first = self._at == 0 and self._number.startswith("0")
        return self._form.first_zero is None and is_first and self._fraction != 0

    def _is_last_point(self) -> bool:
        return self._last is not None and self._number[self._last] == "."

    def _write_sign(self) -> None:
        if "S" in self._form.names:
            if self._sign_behind:
                return
            self._written.append("-" if self._minus else "+")
        elif self._bracket:
            self._written.append("<" if self._minus else " ")
        else:
            self._written.append("-" if self._minus else " " * (not self._form.is_trimmed))
        self._is_signed = True

    def _write_next(self, *, is_zero: bool) -> None:
        """The number's next digit, or its point."""
        letter = self._number[self._at : self._at + 1]
        if letter == ".":
            self._written.append(".")
        elif self._last is not None and self._at > self._last and not is_zero:
            pass
        elif self._is_hidden_zero():
            hidden = "0" if self._is_last_point() else ""
            self._written.append(hidden if self._form.is_trimmed else " ")
        else:
            self._written.append(letter or _NO_DIGIT)
            self._has_digits = True
        self._at += bool(letter)

    def _write_end(self) -> None:
        """A sign behind the last digit."""
        if self._is_signed and self._bracket:
            self._written.append(">" if self._minus else " ")
        elif "S" in self._form.names and self._sign_behind:
            self._written.append("-" if self._minus else "+")


def _ordinal(digits: str) -> str:
    if not digits[-1].isdigit():
        raise BadLiteral(fault.INVALID_TEXT, f'"{digits}" is not a number')
    if digits[-2:-1] == "1":
        return "TH"
    return {"1": "ST", "2": "ND", "3": "RD"}.get(digits[-1], "TH")
