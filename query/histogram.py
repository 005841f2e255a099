"""Counts over time: into which bins a range falls, and the statement that counts them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from errors import InvalidTimeRange
from query.timerange import TimeRange

US_PER_SECOND: Final = 1_000_000
MINUTE_US: Final = 60 * US_PER_SECOND
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Up to this length of the range, bins of this width (reference/parseable-contract.md section 5, "Counts").
WIDTHS: Final = ((5 * HOUR_US, MINUTE_US), (DAY_US, 5 * MINUTE_US), (10 * DAY_US, HOUR_US))
MOST_BINS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of `width_us` from `start_us` on, the last cut at `end_us`; microseconds since 1970."""

    start_us: int
    end_us: int
    width_us: int

    @property
    def starts(self) -> range:
        return range(self.start_us, self.end_us, self.width_us)


def bins(range_: TimeRange, number: int | None) -> Bins:
    """`number` bins of equal width over the range, or of a width that suits its length.

    Raises InvalidTimeRange when the range is open, or when there would be more than MOST_BINS.
    """
    start, end = range_.start_us, range_.end_us
    if start is None or end is None:
        raise InvalidTimeRange("counts need startTime and endTime", field="startTime" if start is None else "endTime")
    width = _width(end - start) if number is None else max(1, -(-(end - start) // number))
    candidate = Bins(start, end, width)
    if len(candidate.starts) > MOST_BINS:
        raise InvalidTimeRange(f"{len(candidate.starts)} bins: the limit is {MOST_BINS}", limit=MOST_BINS)
    return candidate


def _width(length_us: int) -> int:
    return next((width for limit, width in WIDTHS if length_us <= limit), DAY_US)


def statement(dataset: str, time_column: str, bins: Bins) -> str:
    """SQL whose rows are the number of a bin that is not empty, and its count."""
    origin = _text(bins.start_us).replace("T", " ")
    time, table = _quoted(time_column), _quoted(dataset)
    return (
        f"SELECT date_bin('{bins.width_us} microseconds', {time}, TIMESTAMPTZ '{origin}') AS start_time,"
        f" count(*) AS count FROM {table} GROUP BY 1"
    )


def records(bins: Bins, counted: Mapping[int, int]) -> list[dict[str, str | int]]:
    """Every bin with its count, empty ones too; `counted` is by start in microseconds."""
    return [
        {
            "start_time": _text(start),
            "end_time": _text(min(start + bins.width_us, bins.end_us)),
            "count": counted.get(start, 0),
        }
        for start in bins.starts
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(us: int) -> str:
    return (EPOCH + timedelta(microseconds=us)).isoformat()
