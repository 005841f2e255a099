"""Texts of many timestamps at once are those of each alone, on every clock."""

import datetime as dt
import random

import polars as pl
import pytest

from query.results.cells import text_cell
from query.results.data_rows import DataRows
from query.results.time_text import time_texts

SUMMER_ENDS = dt.datetime(2026, 10, 25, tzinfo=dt.UTC)
ZONES = ("", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "<+05:33:19>-05:33:19")


def moments(first: dt.datetime, spread: dt.timedelta, unit: str = "us") -> pl.Series:
    """Instants with and without fractions, and a null."""
    chosen = random.Random(7)
    steps = [chosen.choice((0, 1, 1_000, 120_000, 999_999)) for _ in range(300)]
    found = [first + chosen.random() * spread for _ in steps]
    values = [at.replace(microsecond=step) for at, step in zip(found, steps, strict=True)]
    return pl.Series("t", [*values, None], pl.Datetime(unit, "UTC"))  # type: ignore[arg-type]


def alone(values: pl.Series, zone: str) -> list[str | None]:
    cell = text_cell(pl.col("t"), values.dtype, "timestamptz", zone)
    return values.to_frame().select(cell.alias("text")).to_series().to_list()


def together(values: pl.Series, zone: str) -> list[str | None]:
    """As in DataRow messages: a letter, a length, the number of cells, and the cell."""
    found: list[str | None] = []
    content = DataRows(["timestamptz"], (), zone).rows(values.to_frame())
    at = 0
    while at < len(content):
        size, rows = (int.from_bytes(content[at + step : at + step + 4], "little") for step in (0, 4))
        at += 8
        for _ in range(rows):
            length = int.from_bytes(content[at + 1 : at + 5])
            cell = int.from_bytes(content[at + 7 : at + 11], signed=True)
            found.append(None if cell < 0 else content[at + 11 : at + 11 + cell].decode())
            at += 1 + length
        assert size > 0
    return found


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_texts_about_the_end_of_summer(zone: str, unit: str) -> None:
    values = moments(SUMMER_ENDS, dt.timedelta(days=2), unit)

    assert together(values, zone) == alone(values, zone)
    assert time_texts(values, zone) is not None


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [1001, 1890, 1945, 2098, 2400])
def test_texts_of_other_centuries(zone: str, year: int) -> None:
    """Before places had time zones, offsets have seconds and differ in length; beyond 2099 Python knows the rules."""
    values = moments(dt.datetime(year, 1, 1, tzinfo=dt.UTC), dt.timedelta(days=400 if year != 1890 else 9000))

    assert together(values, zone) == alone(values, zone)


def test_a_timestamp_without_a_zone_is_as_it_is() -> None:
    values = pl.Series("t", [dt.datetime(2026, 7, 1, 12)] * 100)

    assert set(together(values, "Europe/Berlin")) == {"2026-07-01 12:00:00"}
