"""Counts over time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import InvalidTimeRange
from query import histogram
from query.histogram import DAY_US, HOUR_US, MINUTE_US, Bins
from query.timerange import TimeRange


@pytest.mark.parametrize(
    ("length_us", "width_us"),
    [
        (HOUR_US, MINUTE_US),
        (5 * HOUR_US, MINUTE_US),
        (DAY_US, 5 * MINUTE_US),
        (3 * DAY_US, HOUR_US),
        (11 * DAY_US, DAY_US),
    ],
)
def test_bins_suit_the_length_of_the_range(length_us: int, width_us: int) -> None:
    assert histogram.bins(TimeRange(0, length_us * 1000), None) == Bins(0, length_us, width_us)


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**13), st.integers(1, 1000))
def test_bins_cover_the_range_and_nothing_else(start_us: int, length_us: int, number: int) -> None:
    found = histogram.records(histogram.bins(TimeRange(start_us * 1000, (start_us + length_us) * 1000), number), {})

    assert len(found) <= number
    assert [each["end_time"] for each in found[:-1]] == [each["start_time"] for each in found[1:]]


@pytest.mark.parametrize("range_", [TimeRange(None, 1), TimeRange(1, None), TimeRange(0, 10**18 * 60)])
def test_open_and_endless_ranges_are_refused(range_: TimeRange) -> None:
    with pytest.raises(InvalidTimeRange):
        histogram.bins(range_, None)


def test_names_are_quoted() -> None:
    sql = histogram.statement('a"b', 't"x', Bins(0, 1, 1))

    assert '"a""b"' in sql
    assert '"t""x"' in sql
