"""Arithmetic with a constant operand answers, and fails, exactly as the same arithmetic over two columns."""

import itertools
import math
from datetime import UTC, datetime
from typing import Final

import polars as pl
import pytest

from errors import InvalidSQL
from query import engine
from query.expr.constant_arithmetic import factor_bounds, finite_limit, shift_bounds
from query.pg.types import FLOAT8

LEAST: Final = -(2**63)
MOST: Final = 2**63 - 1
VALUES: Final = [LEAST, LEAST + 1, -(2**62), -1001, -1000, -7, -1, 0, 1, 7, 999, 1000, 2**31, 2**62, MOST - 1, MOST]
CONSTANTS: Final = [LEAST, LEAST + 1, -(2**40), -1000, -3, -2, -1, 0, 1, 2, 3, 1000, 2**40, MOST]
FLOATS: Final = [-1.7976931348623157e308, -1.0, -0.0, 0.0, 5e-324, 0.1, 3.0, 1e300, 1.7976931348623157e308]
NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)


def outcome(sql: str, frame: pl.DataFrame) -> object:
    """The single value, or the message of the error."""
    try:
        compiled = engine.compile(sql, {"t": frame.lazy()}, now=NOW)
        return compiled.collect().item()
    except InvalidSQL as error:
        return error.message
    except pl.exceptions.PolarsError as error:
        return engine.translate(error).message


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_bigint_with_a_constant_is_bigint_with_a_column(operator: str) -> None:
    for value, constant in itertools.product(VALUES, CONSTANTS):
        frame = pl.DataFrame({"a": [value], "b": [constant]}, schema={"a": pl.Int64, "b": pl.Int64})
        expected = outcome(f"SELECT a {operator} b AS r FROM t", frame)
        literal = f"('{constant}'::int8)"
        assert outcome(f"SELECT a {operator} {literal} AS r FROM t", frame) == expected, (value, operator, constant)
        if operator in "+*":
            assert outcome(f"SELECT {literal} {operator} a AS r FROM t", frame) == expected, (constant, value)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_double_with_a_constant_is_double_with_a_column(operator: str) -> None:
    for value, constant in itertools.product(FLOATS, [*FLOATS, 1e291, -1e292, 0.5]):
        frame = pl.DataFrame({"a": [value], "b": [constant]})
        expected = outcome(f"SELECT a {operator} b AS r FROM t", frame)
        literal = f"('{constant!r}'::float8)"
        found = outcome(f"SELECT a {operator} {literal} AS r FROM t", frame)
        assert repr(found) == repr(expected), (value, operator, constant)


@pytest.mark.parametrize("operator", ["*", "/"])
@pytest.mark.parametrize("constant", [50.0, -3.0, 1.1, 0.7, -1e-300, 5e-324, 1e308, 1.0000000000000002])
def test_overflow_begins_where_a_column_s_begins(operator: str, constant: float) -> None:
    limit = finite_limit(operator, (None, constant), FLOAT8) if (operator == "*") == (abs(constant) > 1) else None
    for value in [] if limit is None else [math.nextafter(limit, 0), limit, math.nextafter(limit, math.inf)]:
        for signed in (value, -value):
            frame = pl.DataFrame({"a": [signed], "b": [constant]})
            expected = outcome(f"SELECT a {operator} b AS r FROM t", frame)
            assert outcome(f"SELECT a {operator} ('{constant!r}'::float8) AS r FROM t", frame) == expected


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, None])
def test_what_is_infinite_already_is_no_overflow(value: float | None) -> None:
    frame = pl.DataFrame({"a": [value]}, schema={"a": pl.Float64})
    expected = None if value is None else value * 50
    assert repr(outcome("SELECT a * 50 AS r FROM t", frame)) == repr(expected)


def test_a_value_that_is_not_needed_does_not_overflow() -> None:
    """PostgreSQL section 4.2.14: a CASE evaluates the branch that is taken."""
    frame = pl.DataFrame({"a": [MOST, 1]})
    sql = "SELECT CASE WHEN a > 10 THEN 0 ELSE a * 8 END AS r FROM t ORDER BY 1"
    assert engine.compile(sql, {"t": frame.lazy()}, now=NOW).collect()["r"].to_list() == [0, 8]


def test_bounds_are_the_last_values_that_fit() -> None:
    for constant in (each for each in CONSTANTS if each):
        least, most = factor_bounds(constant)
        products = [LEAST <= value * constant <= MOST for value in (least, most, least - 1, most + 1)]
        assert products == [True, True, False, False]
        least, most = shift_bounds(constant)
        assert (least + constant, most + constant) == (LEAST, MOST)
