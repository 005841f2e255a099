"""`today` and `now` as times of literals: what depends on them is not repeatable, and no column of texts has them.

What is answered is compared with PostgreSQL: tests/oracle/corpus/regress-times.jsonl.
"""

from datetime import UTC, date, datetime

import polars as pl
import pytest

from errors import UnsupportedSQL
from query.engine import Table, bind_statement, prepare, schema_of, translate
from query.expr.row_errors import RowFault
from query.syntax.parse import parse

NOW = datetime(2026, 6, 30, 22, 30, 1, 5, tzinfo=UTC)
FRAME = pl.LazyFrame({"at": [NOW], "t": ["today"]})


def value(sql: str, zone: str = "") -> object:
    return prepare(parse(sql), {"e": Table(FRAME)}, now=NOW, zone=zone).frame.collect().item()


def is_repeatable(sql: str) -> bool:
    schema = schema_of(FRAME.collect_schema().items(), frozenset())
    return bind_statement(parse(sql), {"e": schema}, NOW).repeatable


@pytest.mark.parametrize("condition", ["at >= 'today'", "at < timestamp 'now'", "at::date IN ('tomorrow')"])
def test_what_depends_on_today_is_not_repeatable(condition: str) -> None:
    assert not is_repeatable(f"SELECT count(*) FROM e WHERE {condition}")


@pytest.mark.parametrize("condition", ["t = 'today'", "at >= '2026-01-01'", "at >= 'epoch'"])
def test_what_merely_names_it_is_repeatable(condition: str) -> None:
    assert is_repeatable(f"SELECT count(*) FROM e WHERE {condition}")


@pytest.mark.parametrize(
    ("zone", "day"), [("", date(2026, 6, 30)), ("Europe/Berlin", date(2026, 7, 1))], ids=["UTC", "Berlin"]
)
def test_today_is_the_day_of_the_sessions_clock(zone: str, day: date) -> None:
    assert value("SELECT date 'today' AS a", zone) == day


def test_now_has_all_its_digits() -> None:
    assert value("SELECT timestamptz 'now' AS a", "Asia/Kolkata") == NOW


def test_a_column_of_texts_does_not_say_it() -> None:
    with pytest.raises(RowFault) as raised:
        value("SELECT t::date FROM e")

    assert isinstance(translate(raised.value), UnsupportedSQL)
