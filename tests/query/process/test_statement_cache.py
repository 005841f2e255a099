"""The statement cache: one text is one statement, bound anew when its columns or its moment have changed."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from query.engine import schema_of
from query.process import statement_cache
from query.process.messages import Parse
from query.process.statement_cache import PreparedStatement, StatementCache

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
INTEGERS = {"app": schema_of([("x", pl.Int64())], ())}
FLOATS = {"app": schema_of([("x", pl.Float64())], ())}


def test_statement_is_parsed_once_for_each_text_and_parameters():
    cache = StatementCache()
    first = cache.prepare(Parse("SELECT $1 FROM app", (1,)))

    assert cache.prepare(Parse("SELECT $1 FROM app", (1,))) is first
    assert cache.prepare(Parse("SELECT $1 FROM app", (True,))) is not first
    assert cache.prepare(Parse("SELECT $1  FROM app", (1,))) is not first


def test_the_longest_unused_go_when_there_is_too_much_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statement_cache, "MOST_BYTES", 40)
    cache = StatementCache()
    first, second = (cache.prepare(Parse(f"SELECT {n} FROM app")) for n in (1, 2))
    cache.prepare(Parse("SELECT 1 FROM app"))
    cache.prepare(Parse("SELECT 3 FROM app"))

    assert cache.prepare(Parse("SELECT 1 FROM app")) is first
    assert cache.prepare(Parse("SELECT 2 FROM app")) is not second


def test_long_statement_is_not_kept():
    cache = StatementCache()
    asked = Parse(f"SELECT '{'x' * statement_cache.LONGEST_BYTES}' FROM app")

    assert cache.prepare(asked) is not cache.prepare(asked)


def test_statement_is_bound_again_when_the_columns_changed():
    statement = StatementCache().prepare(Parse("SELECT x / 2 AS h FROM app"))
    first = statement.bind(INTEGERS, NOON)

    assert statement.bind(INTEGERS, NOON + timedelta(hours=1)) is first
    assert statement.bind(FLOATS, NOON).outputs != first.outputs
    assert statement.bind(INTEGERS, NOON).outputs == first.outputs


@pytest.mark.parametrize("asks", ["now()", "current_date"])
def test_statement_that_asks_for_the_time_is_bound_each_time(asks: str):
    statement: PreparedStatement = StatementCache().prepare(Parse(f"SELECT {asks} AS v FROM app"))

    assert statement.bind(INTEGERS, NOON) is not statement.bind(INTEGERS, NOON)
