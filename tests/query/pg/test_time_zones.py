"""Time zones by name: PostgreSQL documentation, "Time Zones" and its configuration files (api.md section 5)."""

from datetime import UTC, datetime

import pytest

from query.pg.time_zones import UnknownZone, UnsupportedZone, Zone, local_to_utc, zone_named


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("CET", Zone(seconds=3600)),
        ("edt", Zone(seconds=-4 * 3600)),
        ("europe/berlin", Zone("Europe/Berlin")),
        ("UTC+3", Zone(seconds=-3 * 3600)),
        ("-05:30", Zone(seconds=5 * 3600 + 1800)),
        ("UTC", Zone()),
    ],
)
def test_name_means_the_zone_that_postgresql_takes(text: str, zone: Zone) -> None:
    assert zone_named(text) == zone


def test_abbreviation_whose_offset_has_changed_is_refused() -> None:
    with pytest.raises(UnsupportedZone):
        zone_named("MSK")


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(UnknownZone):
        zone_named("Mars/Phobos")


@pytest.mark.parametrize(
    ("local", "instant"),
    [
        (datetime(2024, 10, 27, 2, 30), datetime(2024, 10, 27, 1, 30, tzinfo=UTC)),
        (datetime(2024, 3, 31, 2, 30), datetime(2024, 3, 31, 1, 30, tzinfo=UTC)),
        (datetime(2150, 7, 1, 12), datetime(2150, 7, 1, 10, tzinfo=UTC)),
    ],
    ids=["twice", "skipped", "far"],
)
def test_reading_of_a_clock_means_standard_time_or_moves_forward(local: datetime, instant: datetime) -> None:
    assert local_to_utc(local, Zone("Europe/Berlin")) == instant
