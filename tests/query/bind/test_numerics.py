"""Numerics with different digits after the point, some of them as untyped literals (api.md section 5)."""

from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from errors import UnsupportedSQL
from query.engine import compile

NOW = datetime(2025, 1, 1, tzinfo=UTC)
TABLE = {"t": pl.LazyFrame({"n": pl.Series(["1.5"], dtype=pl.Decimal(18, 4))})}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n > '1.49999'", True),
        ("n = '1.50'", True),
        ("coalesce(nullif(n, '1.5'), '2.123456')", Decimal("2.123456")),
        ("CASE WHEN n > 2 THEN n ELSE '0.00001' END", Decimal("0.00001")),
        ("greatest(n, '1.5000001')", Decimal("1.5000001")),
        ("(ARRAY[n, '2.255555'])[2]", Decimal("2.255555")),
        ("(SELECT max(x) FROM (VALUES (1.5), ('2.255')) v(x))", Decimal("2.255")),
        ("(SELECT max(x) FROM (SELECT 1.5 AS x UNION SELECT '2.255') v)", Decimal("2.255")),
        ("ARRAY[1.5] = '{1.25}'", False),
    ],
)
def test_literal_keeps_its_digits_beside_a_numeric(expression: str, expected: object) -> None:
    assert compile(f"SELECT {expression} FROM t", TABLE, now=NOW).collect().item() == expected


@pytest.mark.parametrize("value", ["CASE WHEN n > 1 THEN 1 ELSE 2.50 END", "coalesce(1, 2.50)", "(ARRAY[1, 2.5])[1]"])
def test_text_of_a_value_whose_digits_are_not_known_is_refused(value: str) -> None:
    with pytest.raises(UnsupportedSQL, match="digits"):
        compile(f"SELECT ({value})::text FROM t", TABLE, now=NOW)
