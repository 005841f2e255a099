"""Numbers as text, in the forms that Go gives them: answers, label values and errors must look as Prometheus' do."""

import math
from typing import Final

# strconv takes the shortest digits to have a precision of 6.
_G_EXPONENT: Final = 6


def format_sample(value: float) -> str:
    """A sample's value in an answer (util/jsonutil, MarshalFloat): 'f', or 'e' when tiny or huge.

    >>> format_sample(1.0), format_sample(1e21), format_sample(0.0000001), format_sample(float("inf"))
    ('1', '1e+21', '1e-07', '+Inf')
    """
    size = abs(value)
    if size != 0 and not math.isinf(size) and (size < 1e-6 or size >= 1e21):
        return _exponential(value)
    return format_plain(value)


def format_plain(value: float) -> str:
    """Go's strconv.FormatFloat(value, 'f', -1, 64): never an exponent.

    >>> format_plain(1e22), format_plain(-0.5), format_plain(float("nan"))
    ('10000000000000000000000', '-0.5', 'NaN')
    """
    if not math.isfinite(value):
        return _special(value)
    text = repr(value)
    if "e" in text:
        digits, exponent = text.split("e")
        return _expanded(digits, int(exponent))
    return text.removesuffix(".0")


def format_g(value: float) -> str:
    """Go's %g and %v: the shortest digits, with an exponent below 1e-4 and from 1e6 on.

    >>> format_g(123456.0), format_g(123456789.0), format_g(0.00001)
    ('123456', '1.23456789e+08', '1e-05')
    """
    if not math.isfinite(value):
        return _special(value)
    exponent = int(_exponential(value).split("e")[1])
    return _exponential(value) if exponent < -4 or exponent >= _G_EXPONENT else format_plain(value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def _exponential(value: float) -> str:
    """The shortest digits with an exponent of at least two digits, as 1.5e-07."""
    for precision in range(17):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            return text
    return f"{value:.17e}"


def _expanded(digits: str, exponent: int) -> str:
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    if exponent >= 0:
        padded = fraction.ljust(exponent, "0")
        rest = padded[exponent:]
        return f"{sign}{whole}{padded[:exponent]}" + (f".{rest}" if rest.strip("0") else "")
    return f"{sign}0.{'0' * (-exponent - 1)}{whole}{fraction.rstrip('0')}"
