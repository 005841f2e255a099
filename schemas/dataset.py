"""Datasets on the wire: schemas with Arrow's type names, lists, statistics."""

from collections.abc import Iterable
from typing import Any, Final

from columns import ColumnType

SCALARS: Final = {
    ColumnType.BOOL: "Boolean",
    ColumnType.INT64: "Int64",
    ColumnType.FLOAT64: "Float64",
    ColumnType.UTF8: "Utf8",
    ColumnType.JSON: "Utf8",
    ColumnType.DATE: "Date32",
}
TIMESTAMPS: Final = {ColumnType.TIMESTAMP_US: "Microsecond", ColumnType.TIMESTAMP_NS: "Nanosecond"}
LISTS: Final = {
    ColumnType.LIST_BOOL: "Boolean",
    ColumnType.LIST_INT64: "Int64",
    ColumnType.LIST_FLOAT64: "Float64",
    ColumnType.LIST_UTF8: "Utf8",
}


def dump_schema(columns: Iterable[tuple[str, ColumnType]]) -> dict[str, Any]:
    """An Arrow schema as its JSON form, which is what clients of Parseable read."""
    return {"fields": [_field(name, _data_type(kind), kind) for name, kind in columns], "metadata": {}}


def _data_type(kind: ColumnType) -> str | dict[str, Any]:
    if kind in TIMESTAMPS:
        return {"Timestamp": [TIMESTAMPS[kind], "UTC"]}
    if kind in LISTS:
        return {"List": _field("item", LISTS[kind], kind)}
    return SCALARS[kind]


def _field(name: str, data_type: str | dict[str, Any], kind: ColumnType) -> dict[str, Any]:
    return {
        "name": name,
        "data_type": data_type,
        "nullable": True,
        "dict_id": 0,
        "dict_is_ordered": False,
        # The one type that Arrow has no name for: text whose every value is a JSON document.
        "metadata": {"type": "json"} if kind is ColumnType.JSON else {},
    }
