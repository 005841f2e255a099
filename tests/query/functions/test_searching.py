"""Searching arrays: PostgreSQL documentation, "Array Functions and Operators" (api.md section 5)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from query.engine import compile


def value(expression: str) -> object:
    return compile(f"SELECT {expression}", {}, now=datetime(2025, 1, 1, tzinfo=UTC)).collect().item()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("array_remove(ARRAY[1, NULL, 2], NULL)", [1, 2]),
        ("array_replace(ARRAY[1, NULL], NULL, 5)", [1, 5]),
        ("array_positions(ARRAY[1, NULL, NULL], NULL)", [2, 3]),
        ("array_remove(ARRAY['NaN'::float8, 1], 'NaN')", [1.0]),
    ],
)
def test_null_and_nan_are_found(expression: str, expected: list[object]) -> None:
    assert pl.Series(value(expression)).to_list() == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ARRAY['NaN'::float8] @> ARRAY['NaN'::float8]", True),
        ("ARRAY[interval '1 mon'] @> ARRAY[interval '30 days']", True),
        ("ARRAY['{\"a\": 1}'::jsonb] && ARRAY['{\"a\": 1.0}'::jsonb]", True),
        ("ARRAY[NULL::int] @> ARRAY[NULL::int]", False),
        ("array_position(ARRAY[1, 2, 1], 1, 2)", 3),
    ],
)
def test_elements_are_equal_as_the_operator_says(expression: str, expected: object) -> None:
    assert value(expression) == expected
