"""What values sort by: PostgreSQL documentation, "Array Functions" and "jsonb Indexing" (api.md section 5)."""

import datetime as dt

import polars as pl
import pytest

from query.expr.sort_keys import sort_key
from query.pg.types import BOOL, DATE, FLOAT8, INT8, TEXT, PgType, array_of, numeric

SMALLEST, GREATEST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("element", "ordered"),
    [
        (INT8, [[], [SMALLEST], [-1], [-1, 5], [0], [1, 2], [1, 2, 0], [1, 10], [1, None], [GREATEST], [None]]),
        (TEXT, [[], [""], ["", "a"], ["\0"], ["a"], ["a", ""], ["a", "b"], ["a\0"], ["a\1"], ["ab"], ["é"], [None]]),
        (FLOAT8, [[float("-inf")], [-2.5], [-1e-300], [0.0], [1e-300], [2.5], [1e308], [float("inf")], [float("nan")]]),
        (BOOL, [[False], [False, True], [True], [None]]),
        (DATE, [[dt.date(1900, 1, 1)], [dt.date(1970, 1, 1)], [dt.date(1970, 1, 1), None], [dt.date(2024, 2, 29)]]),
        (numeric(2), [[-(10**37)], [-150], [-125], [0], [1], [150], [10**37], [None]]),
    ],
    ids=lambda value: value.name if isinstance(value, PgType) else "",
)
def test_arrays_sort_by_element_then_by_length_with_null_last(element: PgType, ordered: list[list[object]]) -> None:
    kind = array_of(element)
    values = pl.Series("a", ordered, dtype=kind.polars, strict=False)

    keys = pl.select(sort_key(pl.lit(values), kind)).to_series().to_list()

    assert keys == sorted(keys)
    assert len(set(keys)) == len(ordered)


def test_negative_zero_has_the_key_of_zero() -> None:
    values = pl.Series("a", [[0.0], [-0.0]])

    first, second = pl.select(sort_key(pl.lit(values), array_of(FLOAT8))).to_series()

    assert first == second


def test_null_array_has_no_key() -> None:
    values = pl.Series("a", [None], dtype=pl.List(pl.Int64))

    assert pl.select(sort_key(pl.lit(values), array_of(INT8))).item() is None
