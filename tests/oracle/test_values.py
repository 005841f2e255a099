"""The judge itself: what it takes for the same value, and what it does not."""

import datetime as dt
from decimal import Decimal

import pytest

from tests.oracle.harness.answer import Answer, Failure
from tests.oracle.harness.values import read_ours, read_theirs, same
from tests.oracle.harness.verdict import Verdict, judge, unique_names

SAME = {
    "numeric": ("numeric", "2.50", Decimal("2.5")),
    "further digits of a quotient": ("numeric", "0.33333333333333333333", Decimal("0.333333333333333333333333")),
    "sum of cut quotients": ("numeric", "5.33333333333333330001", Decimal("5.33333333333333333334")),
    "float noise": ("float8", "0.30000000000000004", 0.3),
    "NaN": ("float8", "NaN", float("nan")),
    "timestamp with a fraction": ("timestamp", "2024-01-01 00:00:00.5", dt.datetime(2024, 1, 1, microsecond=500_000)),
    "instant": ("timestamptz", "2024-01-01 00:00:00+00", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    "interval": ("interval", "1 year 2 mons -3 days +04:05:06.5", {"m": 14, "d": -3, "us": 14_706_500_000}),
    "negative interval": ("interval", "-00:00:00.000001", {"m": 0, "d": 0, "us": -1}),
    "array": ("text[]", '{a,NULL,"NULL","x \\"y\\"",""}', ["a", None, "NULL", 'x "y"', ""]),
    "nested array": ("int4[]", "{{1,2},{3,NULL}}", [[1, 2], [3, None]]),
    "JSON": ("jsonb", '{"a": [1, 2.50, null], "b": {}}', '{"b":{},"a":[1,2.5,null]}'),
    "record": ("record", '(1,"a b",,t)', {"a": 1, "b": "a b", "c": None, "d": True}),
    "NULL": ("int4", None, None),
}
DIFFERENT = {
    "integer for a boolean": ("bool", "t", 1),
    "float for a numeric": ("numeric", "2.5", 2.5),
    "float for an integer": ("int8", "2", 2.0),
    "numeric that is not rounded": ("numeric", "3", Decimal("2.7")),
    "numeric that lost digits": ("numeric", "0.33333333333333333333", Decimal("0.3333333333")),
    "numeric off by one": ("numeric", "92233720368547758070", Decimal("92233720368547758071")),
    "numeric off in its last digit": ("numeric", "8255678452116.8108", Decimal("8255678452116.8118")),
    "naive time for an instant": ("timestamptz", "2024-01-01 00:00:00+00", dt.datetime(2024, 1, 1)),
    "day for a month": ("interval", "1 mon", {"m": 0, "d": 30, "us": 0}),
    "text for its NULL": ("text", None, ""),
    "JSON null for NULL": ("jsonb", None, "null"),
    "NULL in an array": ("text[]", "{NULL}", ["NULL"]),
    "another key": ("jsonb", '{"a": 1}', '{"A": 1}'),
}


@pytest.mark.parametrize(("kind", "theirs", "ours"), SAME.values(), ids=SAME)
def test_values_are_the_same(kind: str, theirs: str | None, ours: object) -> None:
    assert same(read_theirs(theirs, kind), read_ours(ours, kind))


@pytest.mark.parametrize(("kind", "theirs", "ours"), DIFFERENT.values(), ids=DIFFERENT)
def test_values_differ(kind: str, theirs: str | None, ours: object) -> None:
    assert not same(read_theirs(theirs, kind), read_ours(ours, kind))


def _answer(*rows: object, name: str = "x", kind: str = "int4") -> Answer:
    return Answer((name,), (kind,), [(row,) for row in rows])


def test_row_order_counts_only_where_the_query_orders() -> None:
    theirs, ours = _answer("1", "2"), _answer(2, 1)

    assert judge(theirs, ours, ordered=False).verdict is Verdict.PASS
    assert judge(theirs, ours, ordered=True).verdict is Verdict.WRONG


def test_repeated_rows_are_counted() -> None:
    assert judge(_answer("1", "1", "2"), _answer(1, 2, 2), ordered=False).verdict is Verdict.WRONG


def test_another_name_or_type_is_wrong() -> None:
    assert judge(_answer("1"), _answer(1, name="y"), ordered=False).verdict is Verdict.WRONG
    assert judge(_answer("1"), _answer(1, kind="int8"), ordered=False).verdict is Verdict.WRONG


def test_verdicts_on_errors() -> None:
    """An answer instead of an error, another SQLSTATE, a refusal, and a crash are told apart."""
    zero = Failure("division by zero", "22012")

    assert judge(zero, _answer(1), ordered=False).verdict is Verdict.MISSED_ERROR
    assert judge(zero, zero, ordered=False).verdict is Verdict.PASS
    assert judge(zero, Failure("bad", "42601"), ordered=False).verdict is Verdict.WRONG_ERROR
    assert judge(zero, Failure("panic", crash=True), ordered=False).verdict is Verdict.WRONG_ERROR
    assert judge(_answer("1"), Failure("no", "0A000", refusal=True), ordered=False).verdict is Verdict.REFUSED
    assert judge(_answer("1"), Failure("no", "42601"), ordered=False).verdict is Verdict.WRONG_ERROR


def test_repeated_names_are_numbered() -> None:
    assert unique_names(["a", "a", "b", "a"]) == ["a", "a_1", "b", "a_2"]
