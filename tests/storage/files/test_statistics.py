"""Statistics rule out a file only if no row of it can match."""

from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.file import File
from storage.files.statistics import Condition, choose, summarize
from storage.read.snapshot import take_snapshot
from tests.storage.workbench import Bench


def file_of(rows: pl.DataFrame) -> File:
    return File("x", 1, 0, 0, rows.height, 0, stats=summarize(rows))


def test_summary_has_bounds_and_nulls_of_every_column() -> None:
    rows = pl.DataFrame(
        {
            "i": [3, None, 2**60],
            "f": [0.5, -1.5, None],
            "s": ["b", "a", None],
            "b": [True, None, None],
            "t": [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)] * 3,
            "d": [date(1970, 1, 3)] * 3,
            "l": [[1], [2], None],
            "n": pl.Series([None] * 3, dtype=pl.Int64),
        }
    )

    assert summarize(rows) == {
        "i": (3, 2**60, 1),
        "f": (-1.5, 0.5, 1),
        "s": ("a", "b", 1),
        "b": (True, True, 2),
        "t": (1_000_000, 1_000_000, 0),
        "d": (2, 2, 0),
        "l": (None, None, 1),
        "n": (None, None, 3),
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_has_not_are_unknown_bounds(value: float) -> None:
    found = file_of(pl.DataFrame({"x": [1.0, value]}))

    assert choose([found], [[Condition("x", ">", 5.0), Condition("x", "<", 9.0)]]) == [found] if value > 0 else True
    assert all(bound is None or bound == 1.0 for bound in found.stats["x"][:2])


def test_column_that_the_file_lacks_matches_nothing() -> None:
    assert choose([file_of(pl.DataFrame({"x": [1]}))], [[Condition("y", "=", 1)]]) == []


def test_value_of_another_kind_rules_nothing_out() -> None:
    found = file_of(pl.DataFrame({"x": [1]}))

    assert choose([found], [[Condition("x", "=", "text")]]) == [found]


OPERATIONS = {
    "=": lambda column, value: column == value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}
COLUMNS = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    pl.Float64: st.floats() | st.sampled_from([0.0, 1.0]),
    pl.String: st.text() | st.text("ab", min_size=30, max_size=40),
    pl.Boolean: st.booleans(),
}


@st.composite
def questions(draw: st.DrawFn) -> tuple[pl.DataFrame, Condition]:
    dtype = draw(st.sampled_from(list(COLUMNS)))
    values = draw(st.lists(st.none() | COLUMNS[dtype], min_size=1, max_size=5))
    value = draw(COLUMNS[dtype] | st.sampled_from([each for each in values if each is not None] or [None]))
    return pl.DataFrame({"x": pl.Series(values, dtype=dtype)}), Condition(
        "x", draw(st.sampled_from(list(OPERATIONS))), value
    )


@given(questions())
def test_file_with_a_matching_row_is_never_ruled_out(question: tuple[pl.DataFrame, Condition]) -> None:
    rows, condition = question
    found = file_of(rows)

    is_chosen = choose([found], [[condition]]) == [found]

    if condition.value is not None and not (isinstance(condition.value, float) and condition.value != condition.value):
        matching = rows.filter(OPERATIONS[condition.operation](pl.col("x"), pl.lit(condition.value, rows["x"].dtype)))
        assert is_chosen or matching.height == 0


def test_snapshot_leaves_out_files_that_cannot_match(bench: Bench) -> None:
    for value in range(3):
        bench.append(x=[value], s=["text\0" * 20], f=[float("inf")])
        bench.convert()
    bench.append(y=[1])
    bench.convert()

    whole = take_snapshot(bench.layout, bench.app, columns=["x", "s", "absent"])
    chosen = whole.relevant([[Condition("x", ">=", 1), Condition("s", ">", "a")]]).files

    assert [each.stats["x"][:2] for each in chosen] == [(1, 1), (2, 2)]
    assert len(take_snapshot(bench.layout, bench.app).files) == 4


def test_conditions_without_statistics_leave_out_nothing(bench: Bench) -> None:
    bench.append(x=[1])
    bench.convert()

    for whole in (take_snapshot(bench.layout, bench.app), take_snapshot(bench.layout, bench.app, columns=["y"])):
        assert whole.relevant([[Condition("x", "=", 2)]]) == whole


def test_a_file_is_needed_for_any_of_the_scans(bench: Bench) -> None:
    for value in range(3):
        bench.append(x=[value])
        bench.convert()
    whole = take_snapshot(bench.layout, bench.app, columns=["x"])

    assert len(whole.relevant([[Condition("x", "=", 0)], [Condition("x", "=", 2)]]).files) == 2
    assert len(whole.relevant([[Condition("x", "=", 0)], []]).files) == 3


@pytest.mark.parametrize("operation", ["=", ">", ">="])
def test_a_text_beyond_the_last_character_of_a_cut_bound_is_not_ruled_out(operation: str) -> None:
    text = "a" * 32 + "\U0010ffff" * 3
    found = file_of(pl.DataFrame({"x": ["a", text]}))

    sought = text if operation == "=" else text[:-1]
    assert choose([found], [[Condition("x", operation, sought)]]) == [found]
    assert choose([found], [[Condition("x", operation, "b")]]) == []


def test_an_integer_of_a_widened_column_is_the_float_it_is_read_as() -> None:
    found = file_of(pl.DataFrame({"x": [2**53 + 1]}))

    assert choose([found], [[Condition("x", "=", float(2**53))]]) == [found]
