"""to_char of numbers: digits by template, right-aligned, with a sign where the template wants it.

Source: PostgreSQL documentation, "Data Type Formatting Functions", the template patterns for numbers.
"""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.notations import other_notation
from query.functions.registry import define
from query.pg.bad_values import UnsupportedLiteral

_TEMPLATE: Final = re.compile(r"(FM)?(S(?!G))?([09G,]+)(?:([.D])([09]*))?(S|MI|PR)?(%)?$", re.IGNORECASE)
_FLOAT_DIGITS: Final = 15
"""Digits of a float8 that PostgreSQL shows; where a template asks for more it gives fewer after the point."""


@dataclass(frozen=True, slots=True)
class Template:
    """`whole` are the marks before the point, `fraction` the digits after it; `sign` is where the sign goes: empty for
    a minus before the digits, `S` for a sign there, `-S`, `MI` and `PR` for one behind."""

    trimmed: bool
    sign: str
    whole: str
    point: bool
    fraction: str
    suffix: str

    @property
    def width(self) -> int:
        """Characters without the sign."""
        return len(self.whole) + self.point + len(self.fraction)


def parse_template(text: str) -> Template | None:
    """The template; None for one with patterns that are not supported."""
    match = _TEMPLATE.match(text)
    if match is None or (match[2] and match[6]) or (match[4] and not match[5] and match[6]):
        return None
    behind = (match[6] or "").upper()
    sign = "S" if match[2] else "-S" if behind == "S" else behind
    whole = match[3].upper().replace("G", ",")
    return Template(bool(match[1]), sign, whole, bool(match[5]), match[5] or "", match[7] or "")


@define(
    "to_char(int4, text!) -> text; to_char(int8, text!) -> text; to_char(numeric, text!) -> text; "
    "to_char(float8, text!) -> text",
    "A number by template: FM, 0, 9, comma, G, point, D, S, MI, PR, %, RN, 9.99EEEE.",
    family="Formatting",
)
def to_char_number(context: CallContext, value: pl.Expr, template: object) -> pl.Expr:
    special = other_notation(str(template), context.types[0])
    if special is not None:
        return context.rowwise(special, value)
    form = parse_template(str(template))
    if form is None:
        hint = "use FM, 0, 9, comma, point, S, MI, PR"
        raise fault.unsupported(f"number template {template}", context.position, hint)
    scale = context.types[0].scale if context.types[0].name == "numeric" else 0

    def shown(number: object) -> str:
        if isinstance(number, float):
            return _float(number, form)
        exact = _round(Decimal(str(number)).scaleb(-scale), form, ROUND_HALF_UP)
        return format_number(exact, exact < 0, form)

    return context.rowwise(shown, value)


def _float(number: float, form: Template) -> str:
    """Halves of a float go to the even digit, and its zero has a sign."""
    if not math.isfinite(number):
        raise UnsupportedLiteral("to_char of NaN and infinity")
    if len(str(int(abs(number)))) + len(form.fraction) > _FLOAT_DIGITS:
        raise UnsupportedLiteral("to_char of a float8 with more than 15 digits")
    return format_number(_round(Decimal(number), form, ROUND_HALF_EVEN), math.copysign(1, number) < 0, form)


def _round(number: Decimal, form: Template, rounding: str) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-len(form.fraction)), rounding)


def format_number(number: Decimal, negative: bool, form: Template) -> str:
    """A number that has the template's digits after the point, in the template.

    >>> format_number(Decimal("-1234.50"), True, parse_template("9,999.99"))
    '-1,234.50'
    """
    digits, _, decimals = format(abs(number), "f").partition(".")
    body = _digits(digits, form) + (_fraction(decimals, form) if form.point else "")
    if len(digits) > len(form.whole.replace(",", "")):
        body = re.sub("[09]", "#", form.whole) + ("." + "#" * len(form.fraction) if form.point else "")
    elif form.trimmed and body.strip() == ".":
        body = "0."
    return _add_sign(body, negative, form) + form.suffix


def _digits(digits: str, form: Template) -> str:
    """The digits before the point, right-aligned: a zero only where the template has one, or nothing else is there."""
    places = form.whole.replace(",", "")
    digits = "" if digits == "0" and "0" not in places and form.fraction else digits
    padded = digits.rjust(len(places))
    first_zero = places.find("0")
    if first_zero >= 0:
        padded = "".join(
            "0" if letter == " " and index >= first_zero else letter for index, letter in enumerate(padded)
        )
    return _insert_groups(padded, form.whole)


def _fraction(decimals: str, form: Template) -> str:
    if form.trimmed:
        keep = form.fraction.rfind("0") + 1
        decimals = decimals[:keep] + decimals[keep:].rstrip("0")
    return "." + decimals


def _insert_groups(padded: str, whole: str) -> str:
    letters = iter(padded)
    result = ""
    for mark in whole:
        if mark == ",":
            result += "," if result.strip() else " "
        else:
            result += next(letters)
    return result


def _add_sign(body: str, negative: bool, form: Template) -> str:
    """The number with its sign, filled up on the left unless the template trims."""
    number = body.lstrip()
    before = {"": "-" if negative else "", "S": "-" if negative else "+", "PR": "<" if negative else ""}
    behind = {"-S": "-" if negative else "+", "MI": "-" if negative else " ", "PR": ">" if negative else " "}
    text = before.get(form.sign, "") + number
    if form.trimmed:
        return text + behind.get(form.sign, "").strip()
    return text.rjust(form.width + (form.sign in before)) + behind.get(form.sign, "")
