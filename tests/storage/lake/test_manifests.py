"""Manifests are Avro, as an independent reader of it understands them. Iceberg table spec, "Manifests"."""

import io
from typing import Any

import fastavro
import pytest

from columns import ColumnType
from models.lake import TableFile
from models.values.column import Column, Schema
from models.values.file import Bounds, File
from storage.lake import avro
from storage.lake.manifests import Entry, Layout, Status, entry_schema, manifest

HOUR_NS = 3_600 * 10**9
PARTITION = [{"name": "hour", "field-id": 1000, "source-id": 1, "transform": "hour"}]
COLUMNS = [
    Column("n", ColumnType.INT64, stored="n", id=1),
    Column("text", ColumnType.UTF8, stored="text", id=70),
    Column("x", ColumnType.FLOAT64, stored="x_stored", id=9_000),
    Column("tags", ColumnType.LIST_UTF8, stored="tags", id=4),
]
STATS: dict[str, Bounds] = {
    "n": (-(2**63), 2**63 - 1, 0),
    "text": ("", "ü" * 300, 12),
    "x_stored": (None, None, 100),
    "tags": ("a", "b", 2**40),
    "dropped": (1, 2, 0),
}


def entry(number: int, stats: dict[str, Bounds]) -> Entry:
    file = File(f"default/app/ü-{number}.parquet", 1, -number * HOUR_NS - 1, 0, 10**number, 2**31 + number, stats=stats)
    return Entry(list(Status)[number % 3], TableFile(file), 2**62 + number, number)


def read(entries: list[Entry]) -> list[dict[str, Any]]:
    layout = Layout(Schema(1, tuple(COLUMNS)), {"schema-id": 3}, PARTITION, "file:///data")
    return [dict(each) for each in fastavro.reader(io.BytesIO(manifest(entries, layout)))]


def test_entries_are_read_by_another_reader() -> None:
    found = read([entry(number, STATS if number % 2 else {}) for number in range(5)])

    assert [each["status"] for each in found] == [0, 1, 2, 0, 1]
    assert [each["snapshot_id"] - 2**62 for each in found] == [0, 1, 2, 3, 4]
    assert [(each["sequence_number"], each["file_sequence_number"]) for each in found] == [(n, n) for n in range(5)]
    files = [each["data_file"] for each in found]
    assert [each["file_path"] for each in files] == [f"file:///data/default/app/ü-{n}.parquet" for n in range(5)]
    assert [each["partition"]["hour"] for each in files] == [-1, -2, -3, -4, -5]
    assert [each["record_count"] for each in files] == [1, 10, 100, 1000, 10_000]
    assert [each["file_size_in_bytes"] - 2**31 for each in files] == [0, 1, 2, 3, 4]
    assert {(each["content"], each["file_format"]) for each in files} == {(0, "PARQUET")}


def test_statistics_are_those_of_the_columns_that_there_are() -> None:
    """By the ids of columns; bounds that are not known, and those of lists, are left out."""
    (found,) = read([entry(1, STATS)])
    maps = {
        name: {pair["key"]: pair["value"] for pair in found["data_file"][name]}
        for name in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds")
    }

    assert maps == {
        "value_counts": {1: 10, 70: 10, 9_000: 10, 4: 10},
        "null_value_counts": {1: 0, 70: 12, 9_000: 100, 4: 2**40},
        "lower_bounds": {1: (-(2**63)).to_bytes(8, "little", signed=True), 70: b""},
        "upper_bounds": {1: (2**63 - 1).to_bytes(8, "little"), 70: ("ü" * 300).encode()},
    }


def test_a_manifest_may_have_no_entry() -> None:
    assert read([]) == []


@pytest.mark.parametrize("value", [0, 1, -1, 63, 64, -64, -65, 2**31, 2**62, 2**63 - 1, -(2**63)])
def test_longs_are_encoded_as_by_another_writer(value: int) -> None:
    content = io.BytesIO()
    fastavro.schemaless_writer(content, {"type": "long"}, value)

    assert avro.encode_long(value) == content.getvalue()


def test_the_file_has_the_schema_of_its_entries() -> None:
    layout = Layout(Schema(1, tuple(COLUMNS)), {"schema-id": 3}, PARTITION, "file:///data")

    reader = fastavro.reader(io.BytesIO(manifest([entry(1, STATS)], layout)))

    assert reader.metadata["schema-id"] == "3"
    assert fastavro.parse_schema(reader.writer_schema) == fastavro.parse_schema(entry_schema(PARTITION))
