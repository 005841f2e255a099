"""Attributes read place by place are those that the protobuf library reads one by one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import InvalidBody
from ingest.encoded_pairs import columns_of
from ingest.otlp import protobuf_reader
from ingest.proto.otlp import AnyValue, KeyValue

TEXTS = st.one_of(st.sampled_from(["", "a", "b", "service.name", "ä", "x" * 121, "x" * 122, "x" * 200]), st.text())
VALUES = st.one_of(
    st.none(),
    st.builds(lambda value: AnyValue(string_value=value), TEXTS),
    st.builds(lambda value: AnyValue(int_value=value), st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda value: AnyValue(bool_value=value), st.booleans()),
    st.builds(lambda value: AnyValue(bytes_value=value), st.binary(max_size=9)),
    st.just(AnyValue()),
)
PAIRS = st.builds(lambda key, value: KeyValue(key=key, value=value).SerializeToString(), TEXTS, VALUES)
# What no library writes, and every parser takes or refuses: a byte changed, doubled or left out.
SPOILT = st.builds(
    lambda pair, at, byte: pair[: at % (len(pair) + 1)] + byte + pair[at % (len(pair) + 1) + 1 :],
    PAIRS,
    st.integers(0, 300),
    st.binary(max_size=2),
)


def plainly(encoded: list[list[bytes]]) -> dict[str, dict[int, Any]]:
    """The same by the library alone. Raises InvalidBody."""
    columns: dict[str, dict[int, Any]] = {}
    for row, pairs in enumerate(encoded):
        for each in pairs:
            pair = protobuf_reader._parsed(KeyValue, each)
            value = protobuf_reader._value(pair.value)
            if value is not None:
                columns.setdefault(pair.key, {}).setdefault(row, value)
    return columns


def outcome(read: Any, encoded: list[list[bytes]]) -> Any:
    try:
        return list(read(encoded).items())
    except InvalidBody:
        return "refused"


def by_place(encoded: list[list[bytes]]) -> dict[str, dict[int, Any]]:
    return {
        name: column.by_row()
        for name, column in columns_of(encoded, protobuf_reader._pair, protobuf_reader._TEXT_TAGS).items()
    }


@given(st.lists(st.lists(PAIRS, max_size=4), max_size=8))
def test_rows_of_any_shape_are_read_as_the_library_reads_them(encoded: list[list[bytes]]):
    assert outcome(by_place, encoded) == outcome(plainly, encoded)


@given(st.lists(st.lists(st.one_of(PAIRS, SPOILT, st.binary(max_size=12)), max_size=3), max_size=4))
def test_broken_pairs_are_refused_as_the_library_refuses_them(encoded: list[list[bytes]]):
    assert outcome(by_place, encoded) == outcome(plainly, encoded)


@pytest.mark.parametrize("size", [0, 1, 120, 121, 122, 127, 128, 300])
def test_texts_of_every_length_are_read(size: int):
    pair = KeyValue(key="k", value=AnyValue(string_value="v" * size)).SerializeToString()

    assert protobuf_reader._pair(pair) == ("k", "v" * size)


def test_a_row_that_has_a_name_twice_keeps_the_first_value():
    pairs = [KeyValue(key="k", value=AnyValue(int_value=n)).SerializeToString() for n in (1, 2)]

    assert by_place([pairs, pairs[::-1]]) == {"k": {0: 1, 1: 2}}
