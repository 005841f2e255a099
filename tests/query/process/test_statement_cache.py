"""StatementCache that are kept: the same text is the same statement, bound anew when its columns or its moment count."""

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
    kept = StatementCache()
    first = kept.prepared(Parse("SELECT $1 FROM app", (1,)))

    assert kept.prepared(Parse("SELECT $1 FROM app", (1,))) is first
    assert kept.prepared(Parse("SELECT $1 FROM app", (True,))) is not first
    assert kept.prepared(Parse("SELECT $1  FROM app", (1,))) is not first


def test_the_longest_unused_go_when_there_is_too_much_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statement_cache, "MOST_BYTES", 40)
    kept = StatementCache()
    first, second = (kept.prepared(Parse(f"SELECT {n} FROM app")) for n in (1, 2))
    kept.prepared(Parse("SELECT 1 FROM app"))
    kept.prepared(Parse("SELECT 3 FROM app"))

    assert kept.prepared(Parse("SELECT 1 FROM app")) is first
    assert kept.prepared(Parse("SELECT 2 FROM app")) is not second


def test_long_statement_is_not_kept():
    kept = StatementCache()
    asked = Parse(f"SELECT '{'x' * statement_cache.LONGEST_BYTES}' FROM app")

    assert kept.prepared(asked) is not kept.prepared(asked)


def test_statement_is_bound_again_when_the_columns_changed():
    statement = StatementCache().prepared(Parse("SELECT x / 2 AS h FROM app"))
    first = statement.bound(INTEGERS, NOON)

    assert statement.bound(INTEGERS, NOON + timedelta(hours=1)) is first
    assert statement.bound(FLOATS, NOON).outputs != first.outputs
    assert statement.bound(INTEGERS, NOON).outputs == first.outputs


@pytest.mark.parametrize("asks", ["now()", "current_date"])
def test_statement_that_asks_for_the_time_is_bound_each_time(asks: str):
    statement: PreparedStatement = StatementCache().prepared(Parse(f"SELECT {asks} AS v FROM app"))

    assert statement.bound(INTEGERS, NOON) is not statement.bound(INTEGERS, NOON)
