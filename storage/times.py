"""Times of rows: nanoseconds since 1970 as plain integers, and how they compare with timestamp columns. Pure."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import polars as pl

from errors import InvalidEvent

# Nanoseconds in one unit of a timestamp column.
UNIT_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000}
# Unix times below a limit count units of so many nanoseconds; above all limits they are nanoseconds.
UNIX_UNITS: Final = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
# What a signed 64-bit count of nanoseconds reaches: years 1677 to 2262.
LATEST_NS: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_us(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime, exactly.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    return (moment - _EPOCH) // _MICROSECOND


def unix_ns(count: int | Decimal) -> int:
    """Nanoseconds since 1970 of a Unix time in s, ms, us or ns, told apart by its magnitude (api.md sections 4, 5).

    The magnitudes of the four units do not meet between 1973 and 5138: below 1e11 it is seconds, below 1e14
    milliseconds, below 1e17 microseconds. A fraction below a nanosecond is dropped.

    >>> unix_ns(1_795_305_592) == unix_ns(1_795_305_592_000) == unix_ns(1_795_305_592_000_000)
    True
    >>> unix_ns(Decimal("1795305592.25"))
    1795305592250000000
    """
    size = abs(int(count))
    factor = next((factor for limit, factor in UNIX_UNITS if size < limit), 1)
    return int(count * factor)


def span(rows: pl.DataFrame, time_column: str) -> tuple[int, int]:
    """First and last time of the rows, ns since 1970. Raises InvalidEvent if one has no time or an unusable one."""
    if time_column not in rows.columns:
        raise InvalidEvent(f"no event has the dataset's time field {time_column!r}", index=0)
    times = rows.get_column(time_column)
    if times.null_count():
        raise InvalidEvent(f"an event lacks the dataset's time field {time_column!r}", index=times.is_null().arg_max())
    if not isinstance(times.dtype, pl.Datetime):
        raise InvalidEvent(f"the dataset's time field {time_column!r} is not a timestamp but {times.dtype}")
    # A tenth of the time of to_physical, which takes the way of an expression.
    physical = times.cast(pl.Int64())
    unit = UNIT_NS[times.dtype.time_unit]
    first, last = (int(value) * unit for value in (physical.min(), physical.max()))  # type: ignore[arg-type]
    if first < -LATEST_NS or last > LATEST_NS:
        raise InvalidEvent(f"the time field {time_column!r} is outside the years 1677 to 2262")
    return first, last


def within(time_column: str, dtype: pl.Datetime, start: int | None, end: int | None) -> list[pl.Expr]:
    """Conditions for `start <= time < end` (ns since 1970, None: no bound), exact in the column's own unit."""
    unit = UNIT_NS[dtype.time_unit]
    time = pl.col(time_column)
    conditions = []
    # t * unit >= start is t >= ceil(start / unit), and t * unit < end is t < ceil(end / unit).
    if start is not None:
        conditions.append(time >= pl.lit(-(-start // unit)).cast(dtype))
    if end is not None:
        conditions.append(time < pl.lit(-(-end // unit)).cast(dtype))
    return conditions
