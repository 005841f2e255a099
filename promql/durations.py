"""Durations in Prometheus' notation (model.ParseDuration), in milliseconds."""

import re
from typing import Final

_UNITS: Final = {
    "y": 31_536_000_000,
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
_FORM: Final = re.compile(r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")
# time.Duration holds 63 bits of nanoseconds.
LONGEST_MS: Final = (2**63 - 1) // 1_000_000


def parse_duration(text: str) -> int:
    """Milliseconds of `1h30m`. Raises ValueError.

    >>> parse_duration("1h30m"), parse_duration("0")
    (5400000, 0)
    """
    if text == "0":
        return 0
    found = _FORM.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"not a valid duration string: {text!r}")
    total = sum(int(count) * unit for count, unit in zip(found.groups(), _UNITS.values(), strict=True) if count)
    if total > LONGEST_MS:
        raise ValueError("duration out of range")
    return total


def format_duration(ms: int) -> str:
    """As Prometheus writes a duration (model.Duration.String).

    >>> format_duration(5_400_000), format_duration(0)
    ('1h30m', '0s')
    """
    if ms == 0:
        return "0s"
    rest, parts = abs(ms), []
    for unit, size in _UNITS.items():
        # Years and weeks are only written where nothing else is: 7d is 1w, and 8d stays 8d.
        if unit in ("y", "w", "d") and unit != "d" and rest % size:
            continue
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if ms < 0 else "") + "".join(parts)
