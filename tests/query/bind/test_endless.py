"""Infinite times are compared, and refused by name wherever they would be computed with (answers: the corpus)."""

from datetime import UTC, datetime

import pytest

from errors import UnsupportedSQL
from query import engine

COMPUTED = [
    "'infinity'::timestamp + interval '1 day'",
    "'infinity'::date + 1",
    "'infinity'::timestamp - timestamp '2026-01-01'",
    "extract(year FROM 'infinity'::timestamp)",
    "date_trunc('day', '-infinity'::timestamptz)",
    "to_char('infinity'::date, 'YYYY')",
    "'infinity'::timestamp AT TIME ZONE 'UTC'",
    "age('infinity'::timestamp)",
    "greatest(x, 'infinity')",
    "coalesce(x, 'infinity')",
    "coalesce(x, 'infinity') + interval '1 day'",
    "CASE WHEN x IS NULL THEN 'infinity' ELSE x END > now()",
    "nullif('infinity', x)",
    "ARRAY['infinity'::date]",
    "to_json('infinity'::date)",
    "'infinity'::date",
    "max('infinity'::date)",
    "count(*) OVER (ORDER BY 'infinity'::date + 0)",
    "date_bin('1 day', x, 'infinity')",
]


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
@pytest.mark.parametrize("expression", COMPUTED)
def test_what_is_computed_with_an_infinite_time_is_refused(expression: str, zone: str) -> None:
    statement = engine.parse(f"SELECT {expression} AS y FROM (SELECT timestamp '2026-01-01' AS x) t")

    with pytest.raises(UnsupportedSQL):
        engine.prepare(statement, {}, now=datetime.now(UTC), zone=zone).frame.collect()


def test_rows_of_values_are_refused() -> None:
    with pytest.raises(UnsupportedSQL):
        engine.compile("SELECT * FROM (VALUES (date '2026-01-01'), ('infinity')) t", {}, now=datetime.now(UTC))
