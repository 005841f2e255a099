"""Fields of times in UTC: the values are seconds since 1970 (promql/functions.go, dateWrapper)."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from promql.arrays import Floats, Ints
from promql.functions.elementwise import Elementwise

_Days = npt.NDArray[np.datetime64]
_SECONDS_PER_DAY: Final = 86_400
# int64(NaN) and what is beyond int64 give the least int64 on amd64; its time is far off any calendar of numpy.
_FURTHEST: Final = 2**53


def _seconds(values: Floats) -> Ints:
    return np.asarray(np.clip(np.nan_to_num(np.trunc(values), nan=0.0), -_FURTHEST, _FURTHEST), dtype=np.int64)


def _days(values: Floats) -> _Days:
    return (_seconds(values) // _SECONDS_PER_DAY).astype("datetime64[D]")


def _number(values: npt.NDArray[Any]) -> Ints:
    return np.asarray(values.astype(np.int64), dtype=np.int64)


def _of_day(field: Callable[[_Days], Ints]) -> Elementwise:
    return lambda values, _: field(_days(values)).astype(np.float64)


def _of_second(size: int, count: int) -> Elementwise:
    return lambda values, _: (_seconds(values) // size % count).astype(np.float64)


def _month(days: _Days) -> Ints:
    return _number(days.astype("datetime64[M]")) % 12 + 1


def _year(days: _Days) -> Ints:
    return _number(days.astype("datetime64[Y]")) + 1970


def _day_of_month(days: _Days) -> Ints:
    return _number(days - days.astype("datetime64[M]")) + 1


def _day_of_year(days: _Days) -> Ints:
    return _number(days - days.astype("datetime64[Y]")) + 1


def _day_of_week(days: _Days) -> Ints:
    """1970 began on a Thursday; weeks begin on Sunday."""
    return (_number(days) + 4) % 7


def _days_in_month(days: _Days) -> Ints:
    months = days.astype("datetime64[M]")
    return _number((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]"))


DATES: Final[dict[str, Elementwise]] = {
    "minute": _of_second(60, 60),
    "hour": _of_second(3_600, 24),
    "day_of_week": _of_day(_day_of_week),
    "day_of_month": _of_day(_day_of_month),
    "day_of_year": _of_day(_day_of_year),
    "days_in_month": _of_day(_days_in_month),
    "month": _of_day(_month),
    "year": _of_day(_year),
}
