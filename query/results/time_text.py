"""PostgreSQL's text of many timestamps at once, from tables of digits: three times as fast as formatting each, and on
the clock of a place six times.

Measured: docs/decisions/pgwire.md.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from query.pg.time_zones import Zone, zone_named
from query.results.row_bytes import Buffer, Integers, null_mask, put, room

US_PER_SECOND: Final = 1_000_000
SECONDS_PER_DAY: Final = 86_400
US_PER_MS: Final = 1_000
FRACTION_DIGITS: Final = 6
WHOLE_SECONDS: Final = len("2026-11-22 10:00:00")
WITH_FRACTION: Final = WHOLE_SECONDS + 1 + FRACTION_DIGITS
# Years of four digits.
EARLIEST_US: Final = int(np.datetime64("1000-01-01", "us").astype(np.int64))
LATEST_US: Final = int(np.datetime64("9999-12-31T23:59:59.999999", "us").astype(np.int64))
# Polars' rules of places end here (query/functions/time_zones.py).
LATEST_BY_RULES_US: Final = int(np.datetime64("2099-12-31", "us").astype(np.int64))


@dataclass(frozen=True, slots=True)
class TimeTexts:
    """Timestamps in text: a row of bytes for each in `written`, of which it has `sizes`."""

    texts: pl.Series
    written: Buffer
    sizes: Integers

    def place(self, out: Buffer, at: Integers) -> None:
        is_null = null_mask(self.texts)
        sizes = self.sizes if is_null is None else np.where(is_null, 0, self.sizes)
        for size in np.flatnonzero(np.bincount(sizes)).tolist():
            if size:
                rows = _rows_of(sizes, size)
                put(out, at[rows], np.ascontiguousarray(self.written[rows, :size]).view(f"V{size}").ravel())


def time_texts(values: pl.Series, zone: str = "") -> TimeTexts | None:
    """The texts of a column of Datetime, instants on the clock of `zone`.

    None if one has a year of other than four digits, or if the zone's offsets are not of one length.
    """
    us = values.dt.epoch("us")
    low, high = us.min(), us.max()
    if not isinstance(low, int) or not isinstance(high, int) or low < EARLIEST_US or high > LATEST_US:
        return None
    utc = (us.fill_null(low) if us.null_count() else us).to_numpy()
    if getattr(values.dtype, "time_zone", None) is None:
        return _written(us, utc, None)
    shifts = _shifts(utc, zone_named(zone) if zone else Zone(), high)
    local = None if shifts is None else utc + shifts * US_PER_SECOND
    if shifts is None or local is None or local.min() < EARLIEST_US or local.max() > LATEST_US:
        return None
    offsets = _offsets(shifts)
    return None if offsets is None else _written(us, local, offsets)


def _written(us: pl.Series, shown: Integers, offsets: NDArray[Any] | None) -> TimeTexts:
    seconds, fraction = np.divmod(shown, US_PER_SECOND)
    sizes = _sizes(fraction)
    width = 0 if offsets is None else offsets.dtype.itemsize
    texts = room(sizes + width, us)
    return TimeTexts(texts, _texts(seconds, fraction, sizes, offsets), sizes + width)


def _shifts(utc: Integers, zone: Zone, latest: int) -> Integers | None:
    """Seconds from UTC to the zone's clock; None beyond the rules that are known for a place."""
    if not zone.name:
        return np.full(len(utc), zone.seconds)
    if latest > LATEST_BY_RULES_US:
        return None
    moments = pl.Series(utc).cast(pl.Datetime("us", "UTC"))
    local = moments.dt.convert_time_zone(zone.name).dt.replace_time_zone(None)
    return (local.to_physical().to_numpy() - utc) // US_PER_SECOND


def _offsets(shifts: Integers) -> NDArray[Any] | None:
    """The text of each offset; None if they differ in length, as before places had time zones."""
    different, index = np.unique(shifts, return_inverse=True)
    texts = [offset_text(int(each)) for each in different]
    return None if len({len(text) for text in texts}) > 1 else np.array(texts, f"S{len(texts[0])}")[index]


def offset_text(seconds: int) -> bytes:
    """Hours east of UTC, with minutes and seconds where there are any (EncodeTimezone).

    >>> offset_text(7200), offset_text(-12600)
    (b'+02', b'-03:30')
    """
    size = abs(seconds)
    text = f"{'-' if seconds < 0 else '+'}{size // 3600:02}"
    if size % 3600:
        text += f":{size // 60 % 60:02}"
    return (f"{text}:{size % 60:02}" if size % 60 else text).encode()


def _texts(seconds: Integers, fraction: Integers, sizes: Integers, offsets: NDArray[Any] | None) -> Buffer:
    """A row of bytes each: as many digits as `sizes` says, and the offset behind them."""
    written = _digits(seconds, fraction, offsets)
    if offsets is None:
        return written
    width = offsets.dtype.itemsize
    longest = written.shape[1] - width
    places = offsets.view(np.uint8).reshape(len(offsets), width)
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        if size < longest:
            rows = _rows_of(sizes, size)
            written[rows, size : size + width] = places[rows]
    return written


def _rows_of(sizes: Integers, size: int) -> Integers | slice:
    """The rows of a size; of all rows nothing has to be copied."""
    rows = np.flatnonzero(sizes == size)
    return slice(None) if len(rows) == len(sizes) else rows


def _digits(seconds: Integers, fraction: Integers, offsets: NDArray[Any] | None) -> Buffer:
    """Texts with six digits after the point, or none if all seconds are whole, and the offset."""
    days, second = np.divmod(seconds, SECONDS_PER_DAY)
    parts: list[NDArray[Any]] = [_dates(days), _times()[second]]
    if fraction.any():
        ms, us = np.divmod(fraction, US_PER_MS)
        parts += [_points()[ms], _thousand()[us]]
    if offsets is not None:
        parts.append(offsets)
    made = np.empty(len(seconds), [(str(at), part.dtype) for at, part in enumerate(parts)])
    for at, part in enumerate(parts):
        made[str(at)] = part
    return made.view(np.uint8).reshape(len(made), made.itemsize)


def _sizes(fraction: Integers) -> Integers:
    """PostgreSQL leaves out the zeros that end a fraction, and the point before nothing."""
    if not fraction.any():
        return np.full(len(fraction), WHOLE_SECONDS)
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
def _points() -> NDArray[Any]:
    return np.array([b".%03d" % number for number in range(1000)])


@cache
def _thousand() -> NDArray[Any]:
    return np.array([b"%03d" % number for number in range(1000)])
