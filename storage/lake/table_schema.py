"""What an Iceberg table says of a dataset's columns and of the order of its rows. Pure.

Apache Iceberg table spec, version 2: "Schemas and Data Types", "Column Projection", "Partitioning", "Sorting",
and "Appendix D: Single-value serialization" of bounds.
"""

import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from columns import ColumnType
from metric_columns import METRIC_NAME, METRICS
from models.stored_name import is_plain
from models.values.column import TIMESTAMP, Column, Schema
from models.values.dataset import Dataset
from models.values.file import HOUR_NS, Value
from storage.files.file_schema import ELEMENT_IDS
from storage.files.statistics import MOST_CHARACTERS

PARTITION_FIELD_ID: Final = 1000
# The ids of specifications and orders of a table that has but one of each; 0 is the order of the unsorted.
SPEC_ID: Final = 0
SORT_ORDER_ID: Final = 1
# Bounds of texts are cut; whoever answers min(text) from metadata has to know.
PROPERTIES: Final = MappingProxyType(
    {
        "write.metadata.metrics.default": f"truncate({MOST_CHARACTERS})",
        "write.format.default": "parquet",
        "weir.read-only": "true",
    }
)

# Nanoseconds are integers in files, and Iceberg has no such timestamps that Spark reads (docs/decisions/open-files.md).
_TYPES: Final[Mapping[ColumnType, str]] = MappingProxyType(
    {
        ColumnType.BOOL: "boolean",
        ColumnType.INT64: "long",
        ColumnType.FLOAT64: "double",
        ColumnType.UTF8: "string",
        ColumnType.JSON: "string",
        ColumnType.DATE: "date",
        ColumnType.TIMESTAMP_US: "timestamptz",
        ColumnType.TIMESTAMP_NS: "long",
    }
)
_ELEMENTS: Final[Mapping[ColumnType, str]] = MappingProxyType(
    {
        ColumnType.LIST_BOOL: "boolean",
        ColumnType.LIST_INT64: "long",
        ColumnType.LIST_FLOAT64: "double",
        ColumnType.LIST_UTF8: "string",
    }
)
_DOCS: Final[Mapping[ColumnType, str]] = MappingProxyType(
    {ColumnType.JSON: "a JSON document", ColumnType.TIMESTAMP_NS: "nanoseconds since 1970-01-01 00:00 UTC"}
)

Json = dict[str, Any]


def public_name(column: Column) -> str:
    """What other engines call the column: its name, or what files call it if the name would confuse them."""
    return column.name if is_plain(column.name) else column.stored


def schema_fields(schema: Schema) -> list[Json]:
    """The columns in the order in which Weir shows them."""
    return [_field(each) for each in schema.columns]


def _field(column: Column) -> Json:
    described: Json = {"id": column.id, "name": public_name(column), "required": False, "type": _type(column)}
    return described | ({"doc": _DOCS[column.type]} if column.type in _DOCS else {})


def _type(column: Column) -> str | Json:
    if column.type in _TYPES:
        return _TYPES[column.type]
    return {
        "type": "list",
        "element-id": column.id + ELEMENT_IDS,
        "element": _ELEMENTS[column.type],
        "element-required": False,
    }


def last_column_id(schema: Schema) -> int:
    """The highest field id; those of elements count."""
    ids = [each.id + (ELEMENT_IDS if each.type in _ELEMENTS else 0) for each in schema.columns]
    return max(ids, default=0)


def name_mapping(schema: Schema, dropped: Mapping[int, str]) -> list[Json]:
    """The ids of columns by the names that files without ids have for them; also of columns that are dropped.

    PyIceberg refuses a file without ids with a column that is not here.
    """
    present = [_mapped(each.id, each.stored, each.type in _ELEMENTS) for each in schema.columns]
    return present + [_mapped(number, stored, True) for number, stored in sorted(dropped.items())]


def _mapped(number: int, stored: str, may_be_list: bool) -> Json:
    elements = [{"field-id": number + ELEMENT_IDS, "names": ["element", "item"]}] if may_be_list else []
    return {"field-id": number, "names": [stored]} | ({"fields": elements} if elements else {})


def partition_fields(target: Dataset, schema: Schema) -> list[Json]:
    """Hours of arrival, since no file spans two. Tables of datasets with a time of their own have no partitions:
    their times are integers, of which Iceberg makes no hours; the bounds of files serve as well."""
    if target.time_column != TIMESTAMP:
        return []
    source = schema.by_name[TIMESTAMP].id
    return [
        {"source-id": source, "field-id": PARTITION_FIELD_ID, "transform": "hour", "name": f"{TIMESTAMP}_hour"},
    ]


def partition_value(fields: Sequence[Json], tmin: int) -> Json:
    """The partition of a file whose first time is this."""
    return {each["name"]: tmin // HOUR_NS for each in fields}


def sort_fields(target: Dataset, schema: Schema) -> list[Json]:
    """The order of rows within files: of samples by metric, of all else by time. Empty: they have none."""
    column = schema.by_name.get(METRIC_NAME if target.telemetry_type == METRICS else target.time_column)
    if column is None:
        return []
    return [{"transform": "identity", "source-id": column.id, "direction": "asc", "null-order": "nulls-first"}]


# "Binary single-value serialization" of the table spec; all other types are longs.
_PACKED: Final = {
    ColumnType.BOOL: struct.Struct("<?").pack,
    ColumnType.FLOAT64: struct.Struct("<d").pack,
    ColumnType.DATE: struct.Struct("<i").pack,
}
_LONG: Final = struct.Struct("<q").pack


def bound(kind: ColumnType, value: Value) -> bytes | None:
    """A least or greatest value in the form of the table's metadata. None: unknown.

    >>> bound(ColumnType.INT64, 1), bound(ColumnType.UTF8, "ü"), bound(ColumnType.FLOAT64, None)
    (b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00', b'\\xc3\\xbc', None)
    """
    if value is None or kind in _ELEMENTS:
        return None
    return value.encode() if isinstance(value, str) else _PACKED.get(kind, _LONG)(value)
