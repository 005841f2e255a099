"""Requests of both versions, and batches as rows."""

import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from columns import POLARS_TYPES, Batch
from ingest.proto.remote_write import Request, WriteRequest

STALE_NAN = struct.unpack("<d", bytes.fromhex("020000000000f07f"))[0]
NOW_MS = 1_795_000_000_000


def build(*all_series: dict[str, Any], metadata: tuple[dict[str, Any], ...] = ()) -> bytes:
    """A 1.0 request. A series: `labels` as a dict or pairs, `samples` as (value, ms) pairs, and messages as dicts."""
    request = WriteRequest()
    for given in all_series:
        series = request.timeseries.add()
        labels = given.get("labels", {})
        for name, value in labels.items() if isinstance(labels, dict) else labels:
            series.labels.add(name=name, value=value)
        for value, timestamp in given.get("samples", ()):
            series.samples.add(value=value, timestamp=timestamp)
        for exemplar in given.get("exemplars", ()):
            series.exemplars.add(**exemplar)
        for histogram in given.get("histograms", ()):
            series.histograms.add(**histogram)
    for family in metadata:
        request.metadata.add(**family)
    return request.SerializeToString()


class Version2:
    """Builds a 2.0 request and its table of symbols."""

    def __init__(self) -> None:
        self.request = Request(symbols=[""])

    def symbol(self, text: str) -> int:
        if text not in self.request.symbols:
            self.request.symbols.append(text)
        return list(self.request.symbols).index(text)

    def references(self, labels: dict[str, str]) -> list[int]:
        return [self.symbol(text) for pair in labels.items() for text in pair]

    def add(self, labels: dict[str, str], **fields: Any) -> "Version2":
        self.request.timeseries.add(labels_refs=self.references(labels), **fields)
        return self

    def body(self) -> bytes:
        return self.request.SerializeToString()


def rows_of(batch: Batch) -> list[dict[str, Any]]:
    """The rows without their nulls."""
    listed: list[dict[str, Any]] = [{} for _ in range(batch.height)]
    for field, column in zip(batch.fields, batch.columns, strict=True):
        assert column.dtype == POLARS_TYPES[field.type]
        assert column.name == field.name
        assert column.null_count() < batch.height
        for row, value in zip(listed, column.to_list(), strict=True):
            if value is not None:
                assert field.name not in row
                row[field.name] = value
    return listed


@pytest.fixture(scope="session")
def write_request() -> Callable[..., bytes]:
    return build


@pytest.fixture
def version_2() -> Version2:
    return Version2()


@pytest.fixture(scope="session")
def rows() -> Callable[[Batch], list[dict[str, Any]]]:
    return rows_of


_names = st.sampled_from(
    ("__name__", "job", "instance", "is_stale", "label_is_stale", "metric_name", "p_timestamp", "le", "")
)
_labels = st.lists(st.tuples(_names, st.sampled_from(("", "a", "b", "ü"))), max_size=4)
_values = st.one_of(st.just(0.0), st.just(-0.0), st.just(STALE_NAN), st.just(math.nan), st.floats(width=64))
_times = st.one_of(
    st.integers(NOW_MS, NOW_MS + 3),
    st.sampled_from((0, 1, -1, 2**35 - 1, 2**35, 2**42 - 1, 2**42, 2**63 - 1, -(2**63), 9223372036854, 9223372036855)),
)
_samples = st.one_of(
    st.tuples(st.tuples(_values, _times)),
    st.lists(st.tuples(_values, _times), max_size=2),
)
_series = st.fixed_dictionaries({"labels": _labels, "samples": _samples})
# Mostly what the short way takes, so that it is taken.
_usual = st.fixed_dictionaries(
    {
        "labels": st.dictionaries(
            st.sampled_from(("__name__", "job", "le", "is_stale", "instance")), st.sampled_from(("a", "b")), min_size=1
        ),
        "samples": st.tuples(st.tuples(_values, st.integers(2**35, 2**42 - 1))),
    }
)


@pytest.fixture(scope="session")
def requests() -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.one_of(st.lists(_usual, max_size=8), st.lists(st.one_of(_usual, _series), max_size=6))
