"""Label sets out of the summaries of several files: each once, in the range, taken by a selector."""

import polars as pl
import pytest

from promql.tree import Matcher
from query.metrics.summaries import FIRST, LAST, label_sets

A = Matcher("__name__", "=", "a")
WITHOUT_JOB = Matcher("job", "=", "")


def summary(*rows: tuple[int, int, dict[str, str]]) -> pl.DataFrame:
    """As files have them: a column only for labels that one of its series has."""
    names = sorted({name for _, _, labels in rows for name in labels})
    columns = {name: [labels.get(name) for _, _, labels in rows] for name in names}
    times = {FIRST: [first for first, _, _ in rows], LAST: [last for _, last, _ in rows]}
    return pl.DataFrame(
        {**times, **columns}, schema={FIRST: pl.Int64, LAST: pl.Int64} | dict.fromkeys(names, pl.String)
    )


def found(*summaries: pl.DataFrame, start: int | None = None, end: int | None = None, selectors=()) -> list:
    rows = label_sets(summaries, start, end, selectors).to_dicts()
    return sorted(sorted((name, value) for name, value in row.items() if value) for row in rows)


FIRST_FILE = summary((1, 3, {"__name__": "a", "job": "x"}), (2, 4, {"__name__": "b"}))
SECOND_FILE = summary((5, 9, {"__name__": "b"}), (5, 6, {"__name__": "c"}))
OF_A, OF_B, OF_C = [("__name__", "a"), ("job", "x")], [("__name__", "b")], [("__name__", "c")]


def test_label_set_of_two_files_is_there_once():
    assert found(FIRST_FILE, SECOND_FILE, FIRST_FILE) == [OF_A, OF_B, OF_C]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"start": 4}, [OF_B, OF_C]), ({"end": 4}, [OF_A, OF_B]), ({"start": 5, "end": 5}, [OF_B, OF_C])],
)
def test_only_sets_with_a_sample_in_the_range_count(bounds, expected):
    assert found(FIRST_FILE, SECOND_FILE, **bounds) == expected


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [([(A,)], [OF_A]), ([(WITHOUT_JOB,)], [OF_B, OF_C]), ([(A,), (Matcher("__name__", "=", "c"),)], [OF_A, OF_C])],
)
def test_label_that_a_file_does_not_have_counts_as_empty(selectors, expected):
    assert found(FIRST_FILE, SECOND_FILE, selectors=selectors) == expected


@pytest.mark.parametrize("summaries", [(), (summary(),), (summary(), summary())])
def test_nothing_has_no_label_sets(summaries):
    assert found(*summaries) == found(*summaries, start=1, selectors=[(A,)]) == []


def test_empty_summary_beside_another_changes_nothing():
    assert found(summary(), FIRST_FILE, selectors=[(A,)]) == [OF_A]
