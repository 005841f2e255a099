"""Numerics with different digits after the point, some of them as untyped literals (api.md section 5)."""

from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from errors import UnsupportedSQL
from query.engine import compile, translate
from query.expr.row_errors import RowFault

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


@pytest.mark.parametrize(
    "total",
    ["max(x + x)", "max(-x - x)", "sum(x)", "sum(x) FILTER (WHERE x > 0)", "avg(x)", "sum(sum(x)) OVER (ORDER BY 1)"],
)
def test_sum_beyond_128_bits_is_refused(total: str) -> None:
    """It would wrap around: four times this number is less than zero."""
    table = {"t": pl.LazyFrame({"x": pl.Series(["9" * 38] * 4, dtype=pl.Decimal(38, 0))})}
    plan = compile(f"SELECT {total} FROM t", table, now=NOW)

    with pytest.raises(pl.exceptions.PolarsError) as raised:
        plan.collect()

    assert isinstance(translate(raised.value), UnsupportedSQL)


@pytest.mark.parametrize("mean", ["avg(x)", "avg(x) OVER ()", "avg(x) OVER (ORDER BY x ROWS 2 PRECEDING)"])
def test_mean_of_more_digits_than_a_number_has_is_refused(mean: str) -> None:
    """19 digits and 20 after the point: the mean over a frame was another number."""
    table = {"t": pl.LazyFrame({"x": [2**63 - 1, 2**63 - 2]})}
    plan = compile(f"SELECT {mean} FROM t", table, now=NOW)

    with pytest.raises(pl.exceptions.PolarsError) as raised:
        plan.collect()

    assert isinstance(translate(raised.value), UnsupportedSQL)


def test_variance_of_more_digits_than_a_number_has_is_refused() -> None:
    """It was NULL."""
    plan = compile("SELECT var_pop(x) FROM t", {"t": pl.LazyFrame({"x": [0, 9 * 10**13]})}, now=NOW)

    with pytest.raises(RowFault) as raised:
        plan.collect()

    assert isinstance(translate(raised.value), UnsupportedSQL)


def test_running_sum_beyond_128_bits_is_refused() -> None:
    table = {"t": pl.LazyFrame({"x": pl.Series(["9" * 38] * 4, dtype=pl.Decimal(38, 0))})}
    plan = compile("SELECT sum(x) OVER (ORDER BY x ROWS 2 PRECEDING) FROM t", table, now=NOW)

    with pytest.raises(pl.exceptions.PolarsError) as raised:
        plan.collect()

    assert isinstance(translate(raised.value), UnsupportedSQL)


def test_comparison_beyond_38_digits_is_refused() -> None:
    """n would need a scale of 80: more than a factor of 128 bits."""
    table = {"t": pl.LazyFrame({"n": pl.Series(["1.5"], dtype=pl.Decimal(18, 4))})}

    with pytest.raises(UnsupportedSQL, match="38 digits"):
        compile("SELECT n <> round(n, 80) FROM t", table, now=NOW)
