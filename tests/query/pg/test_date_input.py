"""Texts as dates and times: PostgreSQL documentation, "Date/Time Input Interpretation" (api.md section 5)."""

import pytest

from query.pg.date_input import read_moment, read_time
from query.pg.date_parts import BadMoment, MomentOutOfRange, UnsupportedMoment, ZoneOutOfRange
from query.pg.timestamps import parse_moment, to_datetime


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("Mon, 30 Dec 2024 10:11:12 +0000", "2024-12-30 10:11:12"),
        ("30/Dec/2024:10:11:12 +0130", "2024-12-30 08:41:12"),
        ("Mon Dec 30 10:11:12 CET 2024", "2024-12-30 09:11:12"),
        ("December 30, 2024 10:11 PM", "2024-12-30 22:11:00"),
        ("30 Dec 2024 10:11 America/New_York", "2024-12-30 15:11:00"),
        ("12/30/24", "2024-12-30 00:00:00"),
        ("2024-12-30 12:00:01 am", "2024-12-30 00:00:01"),
        ("20241230 101112", "2024-12-30 10:11:12"),
        ("20241230T101112-08", "2024-12-30 18:11:12"),
        ("2024.366", "2024-12-31 00:00:00"),
        ("J2451187", "1999-01-08 00:00:00"),
        ("8 jan 99 t 0405", "1999-01-08 04:05:00"),
        ("2024-12-30 10:11:60", "2024-12-30 10:12:00"),
    ],
)
def test_text_is_read_in_any_order(text: str, utc: str) -> None:
    assert f"{to_datetime(parse_moment(text, with_zone=True)):%Y-%m-%d %H:%M:%S}" == utc


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Dec 2024", BadMoment),
        ("2024-12-30 2024-12-31", BadMoment),
        ("Thursday, 30-Dec-2024", BadMoment),
        ("10:11", BadMoment),
        ("2024-12-30 10:11 11:12", BadMoment),
        ("2024-12-30 13:00:00 PM", MomentOutOfRange),
        ("13/30/2024", MomentOutOfRange),
        ("2024-0-05", MomentOutOfRange),
        ("99-01-05", MomentOutOfRange),
        ("2024-12-30 24:00:00.5", MomentOutOfRange),
        ("Dec 30 2024 10:11 +16", ZoneOutOfRange),
        ("Dec 30 44 BC", UnsupportedMoment),
        ("today 10:00", UnsupportedMoment),
    ],
)
def test_what_is_no_moment_is_an_error(text: str, error: type[ValueError]) -> None:
    with pytest.raises(error):
        read_moment(text)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("102030", (10, 20, 30)),
        ("04:05 PM", (16, 5, 0)),
        ("2024-12-30 10:11:12", (10, 11, 12)),
        ("allballs", (0, 0, 0)),
    ],
)
def test_time_of_day_is_read(text: str, clock: tuple[int, int, int]) -> None:
    found = read_time(text)

    assert (found.hour, found.minute, found.second) == clock
