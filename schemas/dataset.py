"""Datasets on the wire: schemas with Arrow's type names, static schemas, statistics, retention."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from columns import ColumnType, Field

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
# The type names of a static schema, as clients of Parseable write them.
DECLARED: Final = {
    "int": ColumnType.INT64,
    "double": ColumnType.FLOAT64,
    "float": ColumnType.FLOAT64,
    "boolean": ColumnType.BOOL,
    "string": ColumnType.UTF8,
    "datetime": ColumnType.TIMESTAMP_NS,
    "date": ColumnType.DATE,
    "string_list": ColumnType.LIST_UTF8,
    "int_list": ColumnType.LIST_INT64,
    "double_list": ColumnType.LIST_FLOAT64,
    "float_list": ColumnType.LIST_FLOAT64,
    "boolean_list": ColumnType.LIST_BOOL,
}
# About a hundred years: a longer retention is a mistake, or none.
MOST_RETENTION_DAYS: Final = 36_500
# For how long a repeated body is recognised, unless a request says another time: forwarders repeat one after seconds or
# minutes. A receipt is kept for a day at the most.
DEDUPLICATION_SECONDS: Final = 600
MOST_DEDUPLICATION_SECONDS: Final = 24 * 3600
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _FieldSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    name = fields.String(required=True, validate=validate.Length(1, 1000))
    data_type = fields.String(required=True, validate=validate.OneOf(sorted(DECLARED)))


class StaticSchemaSchema(Schema):
    """`{"fields": [{"name": "level", "data_type": "string"}]}`."""

    class Meta:
        unknown = EXCLUDE

    fields_ = fields.List(fields.Nested(_FieldSchema), required=True, data_key="fields")


class _Days(fields.Field[int]):
    """`20d`."""

    def _serialize(self, value: int | None, attr: str | None, obj: object, **_: object) -> str:
        return f"{value}d"

    def _deserialize(self, value: object, attr: str | None, data: Mapping[str, object] | None, **_: object) -> int:
        found = re.fullmatch(r"([0-9]{1,6})d", value) if isinstance(value, str) else None
        if found is None or not 1 <= int(found[1]) <= MOST_RETENTION_DAYS:
            raise ValidationError(f"a duration in whole days, from 1d to {MOST_RETENTION_DAYS}d")
        return int(found[1])


class TextIndexSchema(Schema):
    """`{"columns": ["trace_id", "message"]}`; null: the columns are chosen by their texts."""

    columns = fields.List(
        fields.String(validate=validate.Length(1, 1000)),
        required=True,
        allow_none=True,
        validate=validate.Length(max=1000),
    )


class RetentionSchema(Schema):
    """One task of a retention: `{"description": "...", "action": "delete", "duration": "20d"}`."""

    class Meta:
        unknown = EXCLUDE

    description = fields.String(load_default="", validate=validate.Length(max=1000))
    action = fields.String(required=True, validate=validate.OneOf(["delete"]))
    days = _Days(required=True, data_key="duration")


class DeduplicationSchema(Schema):
    """`{"enabled": true, "windowSeconds": 600}`."""

    enabled = fields.Boolean(required=True, truthy={True}, falsy={False})
    window_seconds = fields.Integer(
        load_default=DEDUPLICATION_SECONDS,
        data_key="windowSeconds",
        strict=True,
        validate=validate.Range(1, MOST_DEDUPLICATION_SECONDS),
    )


class EventTimeSchema(Schema):
    """The field that a dataset is to go by: `{"field": "created"}`."""

    field = fields.String(required=True, validate=validate.Length(min=1, max=1000))


def declared_fields(loaded: Mapping[str, object]) -> tuple[Field, ...]:
    """The columns of a loaded StaticSchemaSchema."""
    named = cast(list[Mapping[str, str]], loaded["fields_"])
    return tuple(Field(each["name"], DECLARED[each["data_type"]]) for each in named)


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


def rfc3339_of_ns(ns: int | None) -> str | None:
    """Nanoseconds since 1970 as text, exactly.

    >>> rfc3339_of_ns(1_500_000_000_000_000_001)
    '2017-07-14T02:40:00.000000001Z'
    """
    if ns is None:
        return None
    seconds, fraction = divmod(ns, 10**9)
    return f"{EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
