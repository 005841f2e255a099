"""Clocks that skip readings or show them twice: PostgreSQL documentation, "Date/Time Types" (api.md section 5)."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from query.engine import compile
from query.pg.time_zones import local_to_utc, zone_named

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("Europe/Berlin", datetime(2024, 3, 31)),
        ("Europe/Berlin", datetime(2024, 10, 27)),
        ("Antarctica/Troll", datetime(2024, 3, 31)),
        ("Australia/Lord_Howe", datetime(2024, 10, 6)),
        ("Pacific/Apia", datetime(2011, 12, 29, 18)),
    ],
)
def test_reading_that_is_skipped_moves_by_the_gap(zone: str, start: datetime) -> None:
    """An hour, two, a half, a day: always the offset that was before."""
    readings = [start + timedelta(minutes=15 * step) for step in range(120)]
    table = {"t": pl.LazyFrame({"ts": readings, "n": range(120)})}

    found = compile(f"SELECT ts AT TIME ZONE '{zone}' FROM t ORDER BY n", table, now=NOW).collect().to_series()

    assert found.to_list() == [local_to_utc(reading, zone_named(zone)) for reading in readings]
