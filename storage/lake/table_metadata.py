"""The metadata of a published table, as table metadata files and the REST catalog have it. Pure.

Apache Iceberg table spec, version 2, "Table Metadata" and "Snapshots".
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from models.column import Schema
from models.dataset import Dataset
from models.lake import Snapshot
from storage.lake.manifests import VERSION
from storage.lake.table_schema import (
    PARTITION_FIELD_ID,
    PROPERTIES,
    SORT_ORDER_ID,
    SPEC_ID,
    Json,
    last_column_id,
    name_mapping,
    partition_fields,
    schema_fields,
    sort_fields,
)

# For time travel. A snapshot costs half a kilobyte of each answer.
MOST_SNAPSHOTS: Final = 25
AS_OF: Final = "weir.as-of"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a table is, whatever is in it: its dataset, the columns of now, those that were dropped, and where it is."""

    target: Dataset
    schema: Schema
    dropped: Mapping[int, str]
    location: str


def next_schemas(known: Sequence[Json], schema: Schema) -> list[Json]:
    """The schemas that the table has had, and that of now, which is the last."""
    fields = schema_fields(schema)
    if known and known[-1]["fields"] == fields:
        return list(known)
    number = known[-1]["schema-id"] + 1 if known else 0
    return [*known, {"type": "struct", "schema-id": number, "identifier-field-ids": [], "fields": fields}]


def needed_schemas(schemas: Sequence[Json], snapshots: Sequence[Snapshot]) -> list[Json]:
    """Those that a snapshot refers to, and that of now."""
    used = {each.snapshot["schema-id"] for each in snapshots}
    return [each for each in schemas[:-1] if each["schema-id"] in used] + list(schemas[-1:])


def kept(snapshots: Sequence[Snapshot], now: datetime, grace: timedelta) -> list[Snapshot]:
    """The snapshots, oldest first, whose every file is still on disk: a removed one stays for the grace."""
    result: list[Snapshot] = []
    for each in reversed(snapshots):
        result.append(each)
        if len(result) == MOST_SNAPSHOTS:
            break
        if each.first_removed_at is not None and each.first_removed_at <= now - grace:
            # What went with this snapshot is in those before it.
            break
    return result[::-1]


def snapshot_json(
    number: int, parent: int | None, at_ms: int, list_location: str, schema_id: int, summary: Json
) -> Json:
    """A snapshot as metadata list it, without its sequence number."""
    described: Json = {
        "snapshot-id": number,
        "timestamp-ms": at_ms,
        "manifest-list": list_location,
        "schema-id": schema_id,
        "summary": summary,
    }
    return described if parent is None else described | {"parent-snapshot-id": parent}


def table_uuid(target: Dataset) -> str:
    """The same for a dataset as long as it exists, and for no other."""
    return str(
        uuid5(NAMESPACE_URL, f"weir:{target.tenant}/{target.id}/{target.created_at.astimezone(UTC).isoformat()}")
    )


def document(definition: Definition, schemas: Sequence[Json], snapshots: Sequence[Snapshot], as_of: datetime) -> Json:
    """The table's metadata. Without snapshots it is that of an empty table."""
    target, schema = definition.target, definition.schema
    partitions, order = partition_fields(target, schema), sort_fields(target, schema)
    orders = [{"order-id": 0, "fields": []}] + ([{"order-id": SORT_ORDER_ID, "fields": order}] if order else [])
    listed = [{**each.snapshot, "sequence-number": each.sequence} for each in snapshots]
    metadata: Json = {
        "format-version": VERSION,
        "table-uuid": table_uuid(target),
        "location": definition.location,
        "last-sequence-number": snapshots[-1].sequence if snapshots else 0,
        "last-updated-ms": listed[-1]["timestamp-ms"] if listed else milliseconds(as_of),
        "last-column-id": last_column_id(schema),
        "current-schema-id": schemas[-1]["schema-id"],
        "schemas": list(schemas),
        "default-spec-id": SPEC_ID,
        "partition-specs": [{"spec-id": SPEC_ID, "fields": partitions}],
        "last-partition-id": PARTITION_FIELD_ID if partitions else PARTITION_FIELD_ID - 1,
        "default-sort-order-id": SORT_ORDER_ID if order else 0,
        "sort-orders": orders,
        "properties": properties(definition, as_of),
        "snapshots": listed,
        "snapshot-log": [{key: each[key] for key in ("snapshot-id", "timestamp-ms")} for each in listed],
        "metadata-log": [],
        "refs": {},
    }
    return metadata | (_current(listed[-1]["snapshot-id"]) if listed else {})


def _current(number: int) -> Json:
    return {"current-snapshot-id": number, "refs": {"main": {"snapshot-id": number, "type": "branch"}}}


def properties(definition: Definition, as_of: datetime) -> dict[str, str]:
    """What the table says besides its columns and files."""
    mapping = name_mapping(definition.schema, definition.dropped)
    return {
        **PROPERTIES,
        "schema.name-mapping.default": json.dumps(mapping, separators=(",", ":")),
        "weir.dataset": definition.target.name,
        AS_OF: rfc3339(as_of),
    }


def rfc3339(moment: datetime) -> str:
    """The moment in UTC, with microseconds."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def encoded(metadata: Mapping[str, Any]) -> bytes:
    """As a file has it."""
    return json.dumps(metadata, separators=(",", ":")).encode()
