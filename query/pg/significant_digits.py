"""How many digits after the point roots, logarithms and exponentials of numerics have: 16 significant ones at least.

PostgreSQL counts them by estimates, which are repeated here to the digit. Pure Python.
Source: numeric.c, numeric_sqrt, numeric_exp, numeric_ln, log_var, estimate_ln_dweight.
"""

from decimal import Decimal
from math import log, log10
from typing import Final

_SIGNIFICANT: Final = 16
_BASE: Final = 10_000
_BASE_DIGITS: Final = 4
_LN_10: Final = 2.302585092994046
_LOG10_E: Final = 0.434294481903252
_NEAR_ONE: Final = (Decimal("0.9"), Decimal("1.1"))


def root_digits(value: Decimal) -> int:
    """Of a square root.

    >>> root_digits(Decimal(7)), root_digits(Decimal("0.5")), root_digits(Decimal(4294967296))
    (15, 17, 11)
    """
    weight, _ = _leading(value)
    if weight >= 0:
        return _SIGNIFICANT - (weight * _BASE_DIGITS // 2 + 1)
    return _SIGNIFICANT - (1 - (1 - weight * _BASE_DIGITS) // 2)


def exponential_digits(value: Decimal) -> int:
    """Of e to a power."""
    return _SIGNIFICANT - int(float(value) * _LOG10_E)


def logarithm_digits(value: Decimal, base: Decimal | None = None) -> int:
    """Of a logarithm to a base, the natural one by default."""
    return _SIGNIFICANT - _logarithm_weight(value) + (0 if base is None else _logarithm_weight(base))


def _logarithm_weight(value: Decimal) -> int:
    """The decimal weight of the natural logarithm's first digit, about."""
    if _NEAR_ONE[0] <= value <= _NEAR_ONE[1]:
        weight, digits = _leading(abs(value - 1))
        return weight * _BASE_DIGITS + int(log10(digits[0])) if digits[0] else 0
    weight, digits = _leading(value)
    first, shift = digits[0], weight * _BASE_DIGITS
    if len(digits) > 1:
        first, shift = first * _BASE + digits[1], shift - _BASE_DIGITS
    return int(log10(abs(log(first) + shift * _LN_10))) if first else 0


def _leading(value: Decimal) -> tuple[int, list[int]]:
    """The place of the first digit in base 10000 that is not zero, and the first two digits, of which the second may
    be missing."""
    _, numerals, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    rest = exponent % _BASE_DIGITS
    whole = int("".join(map(str, numerals))) * 10**rest
    digits: list[int] = []
    while whole:
        whole, digit = divmod(whole, _BASE)
        digits.append(digit)
    if not digits:
        return 0, [0]
    return (exponent - rest) // _BASE_DIGITS + len(digits) - 1, digits[:-3:-1]
