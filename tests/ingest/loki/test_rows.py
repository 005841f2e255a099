"""Metadata added by columns is what metadata added entry by entry is: names depend on their own row alone."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ingest.loki.decoding import _metadata
from ingest.loki.rows import Rows

NAMES = st.sampled_from(["a", "b", "env", "message", "time", "metadata_env", "metadata_message", "label_env"])
ENTRIES = st.lists(st.dictionaries(NAMES, st.sampled_from(["", "x", "y"]), max_size=4), min_size=1, max_size=6)
ALIKE = st.lists(NAMES, unique=True, max_size=5).flatmap(
    lambda names: st.lists(st.fixed_dictionaries({name: st.sampled_from(["x", "y"]) for name in names}), min_size=1)
)
LABELS = st.dictionaries(st.sampled_from(["env", "app", "message"]), st.sampled_from(["", "prod"]), max_size=3)
STREAMS = st.lists(st.tuples(LABELS, st.one_of(ENTRIES, ALIKE)), min_size=1, max_size=3)


def rows_of(streams: list[tuple[dict[str, str], list[dict[str, str]]]], add: Any) -> list[dict[str, Any]]:
    """What each row holds, without its nulls."""
    rows = Rows(1000)
    for labels, entries in streams:
        first = rows.add_stream(labels, [1] * len(entries), ["line"] * len(entries))
        add(rows, first, entries)
    batch = rows.finish()
    names = [field.name for field in batch.fields]
    found = zip(*(column.to_list() for column in batch.columns), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in found]


def one_by_one(rows: Rows, first: int, entries: list[dict[str, str]]) -> None:
    for row, pairs in enumerate(entries, first):
        rows.add_metadata(row, pairs)


def by_columns(rows: Rows, first: int, entries: list[dict[str, str]]) -> None:
    rows.add_metadata_columns(first, _metadata(entries))


@given(STREAMS)
def test_columns_of_metadata_are_the_same_rows(streams: Any):
    assert rows_of(streams, by_columns) == rows_of(streams, one_by_one)
