"""to_char of numbers that are written otherwise than digit by digit: Roman (RN) and scientific (EEEE).

Source: PostgreSQL documentation, "Data Type Formatting Functions", and formatting.c: a Roman number stands in 15
characters, and outside of 1 to 3999 there are only `#`.
"""

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Final

from query.pg.bad_values import UnsupportedLiteral
from query.pg.types import PgType

_ROMAN: Final = re.compile(r"(FM)?(RN|rn)(FM)?$")
_SCIENTIFIC: Final = re.compile(r"9(?:[.D](9+))?EEEE$")
_NUMERALS: Final = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_WIDTH: Final = 15
_MOST: Final = 3999
_DIGITS: Final = 40

Shown = Callable[[object], str]


def other_notation(template: str, pg_type: PgType) -> Shown | None:
    """What shows a number by a template of another notation; None for any other template."""
    scale = pg_type.scale if pg_type.name == "numeric" else 0
    if (roman := _ROMAN.match(template)) is not None:
        return lambda number: _roman(number, scale, trimmed=bool(roman[1] or roman[3]), lower=roman[2] == "rn")
    if (scientific := _SCIENTIFIC.match(template)) is not None:
        places = len(scientific[1] or "")
        is_numeric = pg_type.name == "numeric"
        return lambda number: _scientific(number, scale, places, is_numeric)
    return None


def _roman(number: object, scale: int, *, trimmed: bool, lower: bool) -> str:
    if isinstance(number, float):
        if not math.isfinite(number) or abs(number) > _MOST + 1:
            return "#" * _WIDTH
        whole = int(Decimal(number).quantize(Decimal(1), ROUND_HALF_EVEN))
    else:
        exact = Decimal(str(number)).scaleb(-scale, Context(prec=_DIGITS))
        whole = int(exact.to_integral_value(ROUND_HALF_UP))
    if not 1 <= whole <= _MOST:
        return "#" * _WIDTH
    text = numeral(whole)
    text = text.lower() if lower else text
    return text if trimmed else text.rjust(_WIDTH)


def numeral(number: int) -> str:
    """A number from 1 to 3999 in Roman numerals.

    >>> numeral(1994)
    'MCMXCIV'
    """
    text = ""
    for value, letters in _NUMERALS:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _scientific(number: object, scale: int, places: int, is_numeric: bool) -> str:
    if isinstance(number, float) and not math.isfinite(number):
        raise UnsupportedLiteral("to_char of NaN and infinity")
    if not is_numeric:
        return f"{float(str(number)): .{places}e}"
    exact = Decimal(str(number)).scaleb(-scale, Context(prec=_DIGITS))
    if not exact:
        return f"{0: .{places}e}"
    exponent = exact.adjusted()
    # As PostgreSQL has it: 9.99 with one digit is 10.0e+00.
    digits = exact.scaleb(-exponent).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return f"{digits: f}e{exponent:+03d}"
