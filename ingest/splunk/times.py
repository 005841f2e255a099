"""Event times as Splunk's senders write them: seconds with a fraction, as number or text; also ms, us and ns. Pure."""

from decimal import Decimal, InvalidOperation
from typing import Final

import polars as pl

from columns import POLARS_TYPES, ColumnType
from errors import InvalidEvent
from ingest.splunk.codes import DETAIL, INVALID_DATA

# Below the first limit a number counts seconds, below the next milliseconds, then microseconds; else nanoseconds.
_UNITS: Final = ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3))
_LATEST_NS: Final = 9.2e18
_LATEST_SECONDS: Final = 9.2e9
_NANOSECONDS: Final = POLARS_TYPES[ColumnType.TIMESTAMP_NS]


def event_times(sent: dict[ColumnType, pl.Series], height: int, now_ns: int) -> pl.Series:
    """A time for each row; where none is sent, now. Raises InvalidEvent.

    >>> event_times({ColumnType.FLOAT64: pl.Series([1795305592.25, None])}, 2, 5).to_physical().to_list()
    [1795305592250000000, 5]
    """
    if len(sent) == 1 and (only := next(iter(sent.items())))[1].null_count() == 0:
        times = _nanoseconds(*only)
        if times.null_count() == 0:
            return times.alias("time").cast(_NANOSECONDS)
    times = pl.Series("time", [None], pl.Int64()).new_from_index(0, height)
    for kind, values in sent.items():
        found = _nanoseconds(kind, values)
        _require(values, found)
        times = times.zip_with(times.is_not_null(), found)
    return times.fill_null(now_ns).alias("time").cast(_NANOSECONDS)


def _nanoseconds(kind: ColumnType, values: pl.Series) -> pl.Series:
    if kind is ColumnType.UTF8:
        return pl.Series([None if text is None else _of_text(text) for text in values], dtype=pl.Int64())
    if kind not in (ColumnType.INT64, ColumnType.FLOAT64):
        return pl.Series([None], dtype=pl.Int64()).new_from_index(0, len(values))
    # Not `abs`, which takes the way of an expression: 100 us.
    latest, earliest = values.max() or 0, values.min() or 0
    if -_LATEST_SECONDS < earliest <= latest < _LATEST_SECONDS:  # type: ignore[operator]  # they are numbers
        return _scaled(kind, values, 10**9)  # by far the most: one unit for all, and none too late
    times = pl.Series([None], dtype=pl.Int64()).new_from_index(0, len(values))
    sizes = values.cast(pl.Float64()).abs()
    least = 0.0
    for limit, factor in (*_UNITS, (_LATEST_NS, 1)):
        is_unit = (sizes >= least) & (sizes < limit) & (sizes * factor < _LATEST_NS)
        counted = values.zip_with(is_unit, values.clear(len(values)))
        times = times.zip_with(times.is_not_null(), _scaled(kind, counted, factor))
        least = limit
    return times


def _scaled(kind: ColumnType, values: pl.Series, factor: int) -> pl.Series:
    """A float of seconds is exact to a microsecond, not to a nanosecond."""
    if kind is ColumnType.INT64:
        return values * factor
    return (values * (factor / 1000)).round().cast(pl.Int64()) * 1000


def _of_text(text: str) -> int | None:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value) > 10**19:
        return None
    factor = next((factor for limit, factor in _UNITS if abs(value) < limit), 1)
    nanoseconds = int(value * factor)
    return nanoseconds if abs(nanoseconds) < _LATEST_NS else None


def _require(sent: pl.Series, found: pl.Series) -> None:
    broken = sent.is_not_null() & found.is_null()
    if broken.any():
        raise InvalidEvent("`time` is no Unix time", index=broken.arg_max(), **{DETAIL: INVALID_DATA})
