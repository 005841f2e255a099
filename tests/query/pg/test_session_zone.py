"""Names of time zones that a request may give."""

import pytest

from query.pg.session_zone import session_zone
from query.pg.time_zones import UnknownZone, zone_named


@pytest.mark.parametrize("text", ["UTC", "utc", "Z", "GMT", "+00:00", "-00", "Etc/UTC"])
def test_names_of_utc(text: str):
    assert session_zone(text) == ""


@pytest.mark.parametrize(
    ("text", "seconds"), [("+05:30", 19_800), ("-0330", -12_600), ("+2", 7_200), ("-11", -39_600), ("+15:59", 57_540)]
)
def test_an_offset_counts_east_of_utc(text: str, seconds: int):
    """ISO 8601; what is made of it is POSIX, whose offsets count west."""
    assert zone_named(session_zone(text)).seconds == seconds


@pytest.mark.parametrize(
    "text", ["", "Mars/Olympus", "CET", "EST", "CEST", "+16:00", "+05:60", "5", "UTC+3", "EST5EDT4", "'; DROP"]
)
def test_what_is_no_zone_or_two_is_refused(text: str):
    with pytest.raises(UnknownZone):
        session_zone(text)
