"""What depends on the session's time zone and cannot be answered in it is refused, never answered in UTC.

What is answered is compared with PostgreSQL: tests/oracle/corpus/zones.jsonl.
"""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import UnsupportedSQL
from query.engine import Table, prepare
from query.syntax.parse import parse

NOW = datetime(2026, 6, 30, 22, 30, tzinfo=UTC)
FRAME = pl.LazyFrame({"at": pl.Series([NOW], dtype=pl.Datetime("us", "UTC")), "t": ["2026-07-01"]})
NANOSECONDS = pl.LazyFrame({"at": pl.Series([NOW], dtype=pl.Datetime("ns", "UTC"))})


def rows(sql: str, zone: str, frame: pl.LazyFrame = FRAME) -> list[tuple[object, ...]]:
    return prepare(parse(sql), {"e": Table(frame)}, now=NOW, zone=zone).frame.collect().rows()


@pytest.mark.parametrize(
    "expression",
    [
        "ARRAY[at]::text",
        "array_to_string(ARRAY[at], ',')",
        "array_agg(at)::text",
        "to_json(ARRAY[at])",
        "row_to_json(e)",
        "json_build_object('x', e)",
        "jsonb_agg(e)",
        "json_object_agg(at, 1)",
        "ARRAY[t]::timestamptz[]",
        "ARRAY[at]::date[]",
        "json_agg(at) OVER ()",
    ],
)
def test_what_would_be_computed_in_utc_is_refused(expression: str):
    with pytest.raises(UnsupportedSQL):
        rows(f"SELECT {expression} FROM e", "Europe/Berlin")


def test_an_offset_has_no_abbreviation():
    assert rows("SELECT to_char(at, 'OF') FROM e", "<+05:30>-05:30") == [("+05:30",)]
    with pytest.raises(UnsupportedSQL):
        rows("SELECT to_char(at, 'TZ') FROM e", "<+05:30>-05:30")


def test_the_clock_is_the_zones():
    found = rows("SELECT CURRENT_DATE::text, LOCALTIMESTAMP::text, LOCALTIME::text, now()::text", "Europe/Berlin")

    assert found == [("2026-07-01", "2026-07-01 00:30:00", "00:30:00", "2026-07-01 00:30:00+02")]


def test_nanoseconds_are_kept():
    found = rows("SELECT at::text, (at + INTERVAL '1 month')::text, at::date::text FROM e", "Asia/Kolkata", NANOSECONDS)

    assert found == [("2026-07-01 04:00:00+05:30", "2026-08-01 04:00:00+05:30", "2026-07-01")]


def test_what_does_not_meet_a_wall_clock_is_answered_in_any_zone():
    found = rows(
        "SELECT at, extract(epoch FROM at)::int8, at - at < INTERVAL '1 s', count(*) FROM e GROUP BY at", "UTC-1"
    )

    assert found == [(NOW, int(NOW.timestamp()), True, 1)]
