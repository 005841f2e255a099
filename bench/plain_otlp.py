"""OTLP logs the plain way: a dict per record, written straight from docs/ingestion-otlp.md.

The yardstick of bench/otlp_decode.py, and the oracle of tests/ingest/otlp/test_logs.py.
"""

from base64 import b64encode
from typing import Any

import orjson
import polars as pl
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from ingest.otlp.logs import COLUMNS, SEVERITIES

LAST = 2**63 - 1


def nested(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [nested(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        members: dict[str, Any] = {}
        for pair in value.kvlist_value.values:
            members.setdefault(pair.key, nested(pair.value))
        return members
    if kind == "bytes_value":
        return b64encode(value.bytes_value).decode()
    return getattr(value, kind) if kind else None


def plain(value: Any) -> tuple[str, Any]:
    """The type and the value of a column."""
    kind = value.WhichOneof("value")
    if kind in ("array_value", "kvlist_value"):
        return "json", orjson.dumps(nested(value)).decode()
    types = {"string_value": "utf8", "bytes_value": "utf8", "bool_value": "bool", "int_value": "int64"}
    return types.get(kind, "float64"), nested(value)


def time(number: int) -> tuple[str, Any]:
    if number > LAST:
        return "utf8", str(number)
    return "timestamp_ns", number or None


def place(row: dict[str, Any], prefix: str, pairs: Any) -> None:
    own: dict[str, Any] = {}
    for pair in pairs:
        value = plain(pair.value)
        if value[1] is not None:
            own.setdefault(pair.key, value)
    while own:
        left = {prefix + name: value for name, value in own.items() if name in COLUMNS or name in row}
        row |= {name: value for name, value in own.items() if prefix + name not in left}
        own = left


def rows(body: bytes) -> list[dict[str, tuple[str, Any]]]:
    """A dict per log record: column name to type and value."""
    found = []
    for resource_logs in LogsData.FromString(body).resource_logs:
        for scope_logs in resource_logs.scope_logs:
            for record in scope_logs.log_records:
                number = record.severity_number
                row: dict[str, tuple[str, Any]] = {
                    "time_unix_nano": time(record.time_unix_nano or record.observed_time_unix_nano),
                    "observed_time_unix_nano": time(record.observed_time_unix_nano),
                    "severity_number": ("int64", number),
                    "severity_text": ("utf8", record.severity_text or SEVERITIES.get(number)),
                    "body": plain(record.body),
                    "log_record_dropped_attributes_count": ("int64", record.dropped_attributes_count),
                    "flags": ("int64", record.flags),
                    "trace_id": ("utf8", record.trace_id.hex() or None),
                    "span_id": ("utf8", record.span_id.hex() or None),
                    "event_name": ("utf8", record.event_name or None),
                    "scope_name": ("utf8", scope_logs.scope.name or None),
                    "scope_version": ("utf8", scope_logs.scope.version or None),
                    "scope_log_schema_url": ("utf8", scope_logs.schema_url or None),
                    "schema_url": ("utf8", resource_logs.schema_url or None),
                }
                if scope_logs.HasField("scope"):
                    dropped = scope_logs.scope.dropped_attributes_count
                    row["scope_dropped_attributes_count"] = ("int64", dropped)
                if resource_logs.HasField("resource"):
                    dropped = resource_logs.resource.dropped_attributes_count
                    row["resource_dropped_attributes_count"] = ("int64", dropped)
                place(row, "attribute_", record.attributes)
                place(row, "scope_", scope_logs.scope.attributes)
                place(row, "resource_", resource_logs.resource.attributes)
                found.append({name: value for name, value in row.items() if value[1] is not None})
    return found


def frame(body: bytes) -> pl.DataFrame:
    """The frame that rows of dicts become."""
    return pl.DataFrame(
        [{name: value for name, (_, value) in row.items()} for row in rows(body)], infer_schema_length=None
    )
