"""Flat rows of Python values become typed columns."""

from datetime import UTC, datetime

import pytest

from columns import POLARS_TYPES, ColumnType, Field
from errors import InvalidEvent, TooLarge, TooManyColumns
from ingest.rows import build


def test_columns_stand_in_the_order_of_first_appearance():
    batch = build([{"b": 1, "a": "x"}, {"c": True, "b": 0.5}])

    assert batch.fields == (
        Field("b", ColumnType.INT64),
        Field("b", ColumnType.FLOAT64),
        Field("a", ColumnType.UTF8),
        Field("c", ColumnType.BOOL),
    )
    assert [column.to_list() for column in batch.columns] == [[1, None], [None, 0.5], ["x", None], [None, True]]


@pytest.mark.parametrize("height", [1, 32, 33, 1000])
def test_few_rows_and_many_rows_give_the_same_columns(height):
    rows = [
        {"i": -(2**63), "f": -0.0, "s": "\0é", "b": False, "l": ["x"], "big": 2**63, "n": None} for _ in range(height)
    ]

    batch = build(rows)

    assert {
        field: (str(column[0]), column.dtype) for field, column in zip(batch.fields, batch.columns, strict=True)
    } == {
        Field("i", ColumnType.INT64): ("-9223372036854775808", POLARS_TYPES[ColumnType.INT64]),
        Field("f", ColumnType.FLOAT64): ("-0.0", POLARS_TYPES[ColumnType.FLOAT64]),
        Field("s", ColumnType.UTF8): ("\0é", POLARS_TYPES[ColumnType.UTF8]),
        Field("b", ColumnType.BOOL): ("False", POLARS_TYPES[ColumnType.BOOL]),
        Field("l", ColumnType.LIST_UTF8): (str(batch.columns[4][0]), POLARS_TYPES[ColumnType.LIST_UTF8]),
        Field("big", ColumnType.UTF8): ("9223372036854775808", POLARS_TYPES[ColumnType.UTF8]),
    }


def test_type_of_a_column_can_be_given():
    types = {
        "time": ColumnType.TIMESTAMP_NS,
        "events": ColumnType.JSON,
        "value": ColumnType.FLOAT64,
        "unset": ColumnType.UTF8,
    }

    batch = build(
        [{"time": 1_000, "events": [], "value": 1}, {"events": "x", "value": None, "unset": None}], types=types
    )

    assert [(field.name, field.type) for field in batch.fields] == list(types.items())[:3]
    assert [column.dtype for column in batch.columns] == [POLARS_TYPES[field.type] for field in batch.fields]
    assert batch.columns[0].to_list() == [datetime(1970, 1, 1, 0, 0, 0, 1, UTC), None]
    assert batch.columns[1].to_list() == ["[]", '"x"']
    assert batch.columns[2].to_list() == [1.0, None]


def test_no_rows_are_an_empty_batch():
    assert build([]).height == 0


def test_more_columns_than_allowed_are_refused():
    with pytest.raises(TooManyColumns):
        build([{"a": 1, "b": 2}], max_columns=1)


def test_mostly_empty_cells_are_refused_before_they_are_allocated():
    with pytest.raises(TooLarge):
        build([{f"k{number}": 1} for number in range(5000)])


def test_name_with_a_nul_is_refused_with_the_row():
    with pytest.raises(InvalidEvent) as refused:
        build([{"a": 1}, {"a": 1}, {"\0": 1}])

    assert refused.value.details["index"] == 2
