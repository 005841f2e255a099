"""Dates in words: PostgreSQL documentation, "Date/Time Input" (api.md section 5)."""

import pytest

from query.writtendates import NoSuchDay, NoSuchHour, iso_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Mon, 30 Dec 2024 10:11:12 +0000", "2024-12-30 10:11:12 +0000"),
        ("30/Dec/2024:10:11:12 +0130", "2024-12-30 10:11:12 +0130"),
        ("Mon Dec 30 10:11:12 CET 2024", "2024-12-30 10:11:12 CET"),
        ("December 30, 2024 10:11 PM", "2024-12-30 22:11"),
        ("30 Dec 2024 10:11 America/New_York", "2024-12-30 10:11 America/New_York"),
        ("12/30/2024", "2024-12-30"),
        ("2024-12-30 12:00:01 am", "2024-12-30 00:00:01"),
        ("Thursday, 30-Dec-2024", None),
        ("Dec 2024", None),
    ],
)
def test_text_is_brought_into_iso_form(text: str, form: str | None) -> None:
    assert iso_form(text) == form


def test_thirteenth_hour_of_the_afternoon_is_an_error() -> None:
    with pytest.raises(NoSuchHour):
        iso_form("2024-12-30 13:00:00 PM")


def test_day_that_no_month_has_is_an_error() -> None:
    with pytest.raises(NoSuchDay):
        iso_form("32 Dec 2024")
