"""PostgreSQL's text of many timestamps at once, from tables of digits: three times as fast as formatting each.

Measured: docs/decisions/pgwire.md.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from query.results.row_bytes import Buffer, Integers, put, room

US_PER_SECOND: Final = 1_000_000
SECONDS_PER_DAY: Final = 86_400
US_PER_MS: Final = 1_000
FRACTION_DIGITS: Final = 6
WHOLE_SECONDS: Final = len("2026-11-22 10:00:00")
WITH_FRACTION: Final = WHOLE_SECONDS + 1 + FRACTION_DIGITS
ZONE: Final = b"+00"
_PARTS: Final = np.dtype([("date", "S10"), ("time", "S9"), ("point", "S1"), ("ms", "S3"), ("us", "S3")])
# Years of four digits.
EARLIEST_US: Final = int(np.datetime64("1000-01-01", "us").astype(np.int64))
LATEST_US: Final = int(np.datetime64("9999-12-31T23:59:59.999999", "us").astype(np.int64))


@dataclass(frozen=True, slots=True)
class TimeTexts:
    """Timestamps in text: `digits` of each, as far as its fraction goes, and a time zone."""

    texts: pl.Series
    digits: NDArray[Any]
    sizes: Integers
    zone: bytes

    def place(self, out: Buffer, at: Integers) -> None:
        is_valid = self.texts.is_not_null().to_numpy()
        for size in np.unique(self.sizes[is_valid]).tolist():
            rows = np.flatnonzero(is_valid & (self.sizes == size))
            put(out, at[rows], np.ascontiguousarray(self.digits[rows, :size]).view(f"V{size}").ravel())
            if self.zone:
                put(out, at[rows] + size, np.full(len(rows), self.zone, f"S{len(self.zone)}"))


def time_texts(values: pl.Series) -> TimeTexts | None:
    """The texts of a column of Datetime; None if one has a year of other than four digits."""
    us = values.dt.epoch("us")
    low, high = us.min(), us.max()
    if not isinstance(low, int) or not isinstance(high, int) or low < EARLIEST_US or high > LATEST_US:
        return None
    zone = ZONE if getattr(values.dtype, "time_zone", None) else b""
    seconds, fraction = np.divmod(us.fill_null(low).to_numpy(), US_PER_SECOND)
    sizes = _sizes(fraction)
    return TimeTexts(room(sizes + len(zone), us.is_null()), _digits(seconds, fraction), sizes, zone)


def _digits(seconds: Integers, fraction: Integers) -> NDArray[Any]:
    """Texts with six digits after the point, a row of bytes each."""
    days, second = np.divmod(seconds, SECONDS_PER_DAY)
    ms, us = np.divmod(fraction, US_PER_MS)
    made = np.empty(len(seconds), _PARTS)
    made["date"], made["time"], made["point"] = _dates(days), _times()[second], b"."
    made["ms"], made["us"] = _thousand()[ms], _thousand()[us]
    return made.view(np.uint8).reshape(len(made), WITH_FRACTION)


def _sizes(fraction: Integers) -> Integers:
    """PostgreSQL leaves out the zeros that end a fraction, and the point before nothing."""
    zeros = sum((fraction % 10**count == 0).astype(np.int64) for count in range(1, FRACTION_DIGITS))
    return np.where(fraction == 0, WHOLE_SECONDS, WITH_FRACTION - zeros)


def _dates(days: Integers) -> NDArray[Any]:
    low = int(days.min())
    if int(days.max()) - low < len(days):
        return _shown(np.arange(low, int(days.max()) + 1))[days - low]
    different, index = np.unique(days, return_inverse=True)
    return _shown(different)[index]


def _shown(days: Integers) -> NDArray[Any]:
    return days.astype("M8[D]").astype("S10")


@cache
def _times() -> NDArray[Any]:
    """` HH:MM:SS` of every second of a day."""
    shown = np.arange(SECONDS_PER_DAY).astype("M8[s]").astype("S19").view(np.uint8).reshape(SECONDS_PER_DAY, 19)
    times = np.ascontiguousarray(shown[:, 10:])
    times[:, 0] = ord(" ")
    return times.view("S9").ravel()


@cache
def _thousand() -> NDArray[Any]:
    return np.array([b"%03d" % number for number in range(1000)])
