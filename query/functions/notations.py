"""Numbers that are written otherwise than digit by digit: Roman (RN) and scientific (EEEE).

Source: PostgreSQL documentation, "Data Type Formatting Functions", and formatting.c: a Roman number stands in 15
characters, and outside of 1 to 3999 there are only `#`.
"""

import math
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Final

from query.pg.bad_values import UnsupportedLiteral

_NUMERALS: Final = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_ROMAN: Final = re.compile(r"M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_ONE_LETTER: Final = [(letters, value) for value, letters in _NUMERALS if len(letters) == 1]
_WIDTH: Final = 15
_MOST: Final = 3999
_DIGITS: Final = 40


def roman(number: object, scale: int) -> str:
    """A number, rounded, in Roman numerals; fifteen # outside of 1 to 3999."""
    if isinstance(number, float):
        if not math.isfinite(number) or abs(number) > _MOST + 1:
            return "#" * _WIDTH
        whole = int(Decimal(number).quantize(Decimal(1), ROUND_HALF_EVEN))
    else:
        exact = Decimal(str(number)).scaleb(-scale, Context(prec=_DIGITS))
        whole = int(exact.to_integral_value(ROUND_HALF_UP))
    if not 1 <= whole <= _MOST:
        return "#" * _WIDTH
    return numeral(whole)


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


def roman_value(text: str) -> int | None:
    """The number of a Roman numeral in capital letters; None for what is none.

    >>> roman_value("MCMXCIV"), roman_value("IIII")
    (1994, None)
    """
    if not text or not _ROMAN.fullmatch(text):
        return None
    sizes = [dict(_ONE_LETTER)[letter] for letter in text]
    return sum(-size if size < behind else size for size, behind in zip(sizes, [*sizes[1:], 0], strict=True))


def scientific(number: object, scale: int, places: int, *, is_numeric: bool) -> str:
    """A number with one digit before the point, as ` 1.50e+03`."""
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
