"""The engine's seam: PostgreSQL's answers over plain frames (api.md section 5)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from errors import InvalidSQL, UnsupportedSQL
from query.engine import compile, translate

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def rows(sql: str, **tables: pl.DataFrame) -> list[tuple[object, ...]]:
    return compile(sql, {name: frame.lazy() for name, frame in tables.items()}, now=NOW).collect().rows()


def test_integer_division_cuts_towards_zero() -> None:
    assert rows("SELECT -7 / 2, 7 / -2") == [(-3, -3)]


def test_count_names_its_column_as_postgresql_does() -> None:
    assert compile("SELECT count(*)", {}, now=NOW).collect_schema().names() == ["count"]


def test_division_by_zero_of_a_needed_row_is_an_error() -> None:
    plan = compile("SELECT 10 / a FROM t", {"t": pl.LazyFrame({"a": [0, 1]})}, now=NOW)

    with pytest.raises(pl.exceptions.PolarsError) as raised:
        plan.collect()

    error = translate(raised.value)
    assert isinstance(error, InvalidSQL)
    assert error.details["sqlstate"] == "22012"


def test_division_by_zero_of_a_row_that_case_skips_is_none() -> None:
    answer = rows("SELECT CASE WHEN a <> 0 THEN 10 / a ELSE -1 END FROM t", t=pl.DataFrame({"a": [0, 5]}))

    assert answer == [(-1,), (2,)]


def test_unknown_column_names_the_nearest_one_and_its_place() -> None:
    with pytest.raises(InvalidSQL) as raised:
        rows("SELECT statuss FROM t", t=pl.DataFrame({"status": [1]}))

    assert raised.value.details == {
        "sqlstate": "42703",
        "position": 8,
        "hint": 'Perhaps you meant to reference the column "t.status".',
    }


def test_national_text_is_refused() -> None:
    """It is of type character (manual, "Character Types"): its last spaces count neither in `=` nor in `length`."""
    with pytest.raises(UnsupportedSQL):
        rows("SELECT N'a  ' = 'a'")


def test_a_construct_we_lack_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedSQL, match="QUALIFY"):
        rows("SELECT a FROM t QUALIFY true", t=pl.DataFrame({"a": [1]}))
