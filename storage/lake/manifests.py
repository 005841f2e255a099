"""Iceberg manifests and manifest lists as Avro. Pure: bytes out of values.

Apache Iceberg table spec, version 2, "Manifests" and "Manifest Lists": names, types and ids of all fields below.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from columns import ColumnType
from models.column import Schema
from models.file import File
from models.lake import TableFile
from storage.lake import avro
from storage.lake.table_schema import SORT_ORDER_ID, SPEC_ID, Json, bound, partition_value

VERSION: Final = 2
_CONTENT_DATA: Final = avro.encode_long(0)
_PARQUET: Final = avro.encode_bytes(b"PARQUET")
# By the name of a column as stored: its id, encoded, and its type.
_Columns = Mapping[str, tuple[bytes, ColumnType]]


class Status(IntEnum):
    """What a snapshot says of a file: that it was there before, came, or went."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a manifest, with the snapshot that it came with or, deleted, went with."""

    status: Status
    file: TableFile
    snapshot: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What all manifests of a table have: its columns, its partitions, and where its files are."""

    schema: Schema
    schema_json: Json
    partition_fields: Sequence[Json]
    data_location: str


def _map(name: str, key_id: int, value_id: int, value_type: str) -> Json:
    """Never null, which readers take as well: whether it is would cost fastavro half of the time to find out."""
    pair = {
        "type": "record",
        "name": name,
        "fields": [
            {"name": "key", "type": "int", "field-id": key_id},
            {"name": "value", "type": value_type, "field-id": value_id},
        ],
    }
    return {"type": "array", "items": pair, "logicalType": "map"}


def _optional(name: str, field_id: int, kind: Any) -> Json:
    return {"name": name, "field-id": field_id, "type": kind, "default": None}


def _required(name: str, field_id: int, kind: Any) -> Json:
    return {"name": name, "field-id": field_id, "type": kind}


def entry_schema(partition_fields: Sequence[Json]) -> Json:
    """The Avro schema of a manifest's entries."""
    partition = {
        "type": "record",
        "name": "r102",
        "fields": [_optional(each["name"], each["field-id"], ["null", "int"]) for each in partition_fields],
    }
    data_file = {
        "type": "record",
        "name": "r2",
        "fields": [
            _required("content", 134, "int"),
            _required("file_path", 100, "string"),
            _required("file_format", 101, "string"),
            _required("partition", 102, partition),
            _required("record_count", 103, "long"),
            _required("file_size_in_bytes", 104, "long"),
            _required("value_counts", 109, _map("k119_v120", 119, 120, "long")),
            _required("null_value_counts", 110, _map("k121_v122", 121, 122, "long")),
            _required("lower_bounds", 125, _map("k126_v127", 126, 127, "bytes")),
            _required("upper_bounds", 128, _map("k129_v130", 129, 130, "bytes")),
            _optional("sort_order_id", 140, ["null", "int"]),
        ],
    }
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _required("status", 0, "int"),
            _optional("snapshot_id", 1, ["null", "long"]),
            _optional("sequence_number", 3, ["null", "long"]),
            _optional("file_sequence_number", 4, ["null", "long"]),
            _required("data_file", 2, data_file),
        ],
    }


_SUMMARY: Final = {
    "type": "record",
    "name": "r508",
    "fields": [
        _required("contains_null", 509, "boolean"),
        _optional("contains_nan", 518, ["null", "boolean"]),
        _optional("lower_bound", 510, ["null", "bytes"]),
        _optional("upper_bound", 511, ["null", "bytes"]),
    ],
}
_LIST_SCHEMA: Final[Json] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _required("manifest_path", 500, "string"),
        _required("manifest_length", 501, "long"),
        _required("partition_spec_id", 502, "int"),
        _required("content", 517, "int"),
        _required("sequence_number", 515, "long"),
        _required("min_sequence_number", 516, "long"),
        _required("added_snapshot_id", 503, "long"),
        _required("added_files_count", 504, "int"),
        _required("existing_files_count", 505, "int"),
        _required("deleted_files_count", 506, "int"),
        _required("added_rows_count", 512, "long"),
        _required("existing_rows_count", 513, "long"),
        _required("deleted_rows_count", 514, "long"),
        _optional("partitions", 507, ["null", {"type": "array", "element-id": 508, "items": _SUMMARY}]),
    ],
}


def manifest(entries: Iterable[Entry], layout: Layout) -> bytes:
    """The manifest of these files."""
    columns = {each.stored: (avro.encode_long(each.id), each.type) for each in layout.schema.columns}
    records = [_record(each, layout, columns) for each in entries]
    metadata = {
        "schema": json.dumps(layout.schema_json),
        "schema-id": str(layout.schema_json["schema-id"]),
        "partition-spec": json.dumps(list(layout.partition_fields)),
        "partition-spec-id": str(SPEC_ID),
        "format-version": str(VERSION),
        "content": "data",
    }
    return avro.container(entry_schema(layout.partition_fields), records, metadata)


def _record(entry: Entry, layout: Layout, columns: _Columns) -> bytes:
    """An entry as `entry_schema` has it."""
    sequence = _optional_long(entry.sequence)
    head = avro.encode_long(entry.status) + _optional_long(entry.snapshot) + sequence + sequence
    return head + b"".join(_data_file(entry.file.file, layout, columns))


def _data_file(file: File, layout: Layout, columns: _Columns) -> Iterator[bytes]:
    """The fields of a file, in the order of `entry_schema`."""
    known = [(*columns[name], *bounds) for name, bounds in file.stats.items() if name in columns]
    rows = avro.encode_long(file.rows)
    yield _CONTENT_DATA + avro.encode_bytes(f"{layout.data_location}/{file.path}".encode()) + _PARQUET
    yield from map(_optional_long, partition_value(layout.partition_fields, file.tmin).values())
    yield rows + avro.encode_long(file.bytes)
    yield avro.encode_array([number + rows for number, *_ in known])
    yield avro.encode_array([number + avro.encode_long(nulls) for number, *_, nulls in known])
    yield _bounds((number, bound(kind, low)) for number, kind, low, _, _ in known)
    yield _bounds((number, bound(kind, high)) for number, kind, _, high, _ in known)
    yield _optional_long(SORT_ORDER_ID)


def _optional_long(value: int) -> bytes:
    return avro.NOT_NULL + avro.encode_long(value)


def _bounds(found: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    return avro.encode_array([number + avro.encode_bytes(value) for number, value in found if value is not None])


def list_entry(entries: Sequence[Entry], path: str, length: int, sequence: int, snapshot: int, layout: Layout) -> Json:
    """What manifest lists say of a manifest that the snapshot brings. JSON: the bounds of partitions are integers."""
    rows = {status: [each.file.file.rows for each in entries if each.status is status] for status in Status}
    live = [each.sequence for each in entries if each.status is not Status.DELETED]
    hours = [partition_value(layout.partition_fields, each.file.file.tmin) for each in entries]
    return {
        "manifest_path": path,
        "manifest_length": length,
        "partition_spec_id": SPEC_ID,
        "content": 0,
        "sequence_number": sequence,
        "min_sequence_number": min(live, default=sequence),
        "added_snapshot_id": snapshot,
        "added_files_count": len(rows[Status.ADDED]),
        "existing_files_count": len(rows[Status.EXISTING]),
        "deleted_files_count": len(rows[Status.DELETED]),
        "added_rows_count": sum(rows[Status.ADDED]),
        "existing_rows_count": sum(rows[Status.EXISTING]),
        "deleted_rows_count": sum(rows[Status.DELETED]),
        "partitions": [
            {"least": min(each[field["name"]] for each in hours), "most": max(each[field["name"]] for each in hours)}
            for field in layout.partition_fields
        ],
    }


def manifest_list(entries: Iterable[Json], snapshot: int, parent: int | None, sequence: int) -> bytes:
    """The list of a snapshot's manifests."""
    metadata = {
        "snapshot-id": str(snapshot),
        "parent-snapshot-id": "null" if parent is None else str(parent),
        "sequence-number": str(sequence),
        "format-version": str(VERSION),
    }
    return avro.write(_LIST_SCHEMA, [each | {"partitions": _summaries(each)} for each in entries], metadata)


def _summaries(entry: Json) -> list[Json]:
    return [
        {
            "contains_null": False,
            "contains_nan": False,
            "lower_bound": each["least"].to_bytes(4, "little", signed=True),
            "upper_bound": each["most"].to_bytes(4, "little", signed=True),
        }
        for each in entry["partitions"]
    ]
