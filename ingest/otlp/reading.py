"""Picks the reader that a media type asks for, and reads what every signal has: its resources and scopes."""

from typing import Any, Final, NamedTuple

from errors import UnsupportedMedia
from ingest.otlp import json_reader, protobuf_reader
from ingest.otlp.messages import UINT32, Messages, Reader
from ingest.otlp.table import Level, Table

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"


class Signal(NamedTuple):
    """What distinguishes the requests of one signal."""

    message_class: Any
    resources: str
    scopes: str
    scope_schema_url: str
    resource_schema_url: str


SCOPE_COLUMNS: Final = ("scope_name", "scope_version", "scope_dropped_attributes_count")
RESOURCE_COLUMNS: Final = ("resource_dropped_attributes_count",)


def open_request(body: bytes, media_type: str, signal: Signal) -> tuple[Reader, Messages]:
    """The reader and the request. Raises UnsupportedMedia for a type that OTLP does not have, InvalidBody."""
    require_media_type(media_type)
    if media_type == PROTOBUF:
        return protobuf_reader.ProtobufReader(), protobuf_reader.parse(body, signal.message_class)
    return json_reader.JsonReader(), json_reader.parse(body, signal.resources)


def require_media_type(media_type: str) -> None:
    """Raises UnsupportedMedia for a type that OTLP does not have."""
    if media_type not in (PROTOBUF, JSON):
        raise UnsupportedMedia(f"{media_type[:100] or 'no media type'} is not OTLP: expected {PROTOBUF} or {JSON}")


class Groups:
    """The resources and scopes of a request. Rows find theirs through the scope that they belong to."""

    def __init__(self, reader: Reader, request: Messages, signal: Signal) -> None:
        self._reader = reader
        self._signal = signal
        self.resource_groups = reader.children(request, signal.resources)
        self.scope_groups = reader.children(self.resource_groups, signal.scopes)

    def add_to(self, table: Table, scope_of_row: list[int]) -> None:
        """Adds the columns and attributes of scope and resource."""
        resource_of_scope = self.scope_groups.owners()
        resource_of_row = [resource_of_scope[scope] for scope in scope_of_row]
        self._add_scopes(table, Level(scope_of_row, len(self.scope_groups)))
        self._add_resources(table, Level(resource_of_row, len(self.resource_groups)))

    def _add_scopes(self, table: Table, level: Level) -> None:
        reader, groups = self._reader, self.scope_groups
        scopes = reader.child(groups, "scope")
        table.add_texts("scope_name", reader.strings(scopes, "name"), level)
        table.add_texts("scope_version", reader.strings(scopes, "version"), level)
        table.add_integers("scope_dropped_attributes_count", self._dropped(groups, scopes, "scope"), level)
        table.add_texts(self._signal.scope_schema_url, reader.strings(groups, "schema_url"), level)
        table.add_attributes("scope_", reader.attributes(scopes, "attributes"), level)

    def _add_resources(self, table: Table, level: Level) -> None:
        reader, groups = self._reader, self.resource_groups
        resources = reader.child(groups, "resource")
        table.add_integers("resource_dropped_attributes_count", self._dropped(groups, resources, "resource"), level)
        table.add_texts(self._signal.resource_schema_url, reader.strings(groups, "schema_url"), level)
        table.add_attributes("resource_", reader.attributes(resources, "attributes"), level)

    def _dropped(self, groups: Messages, members: Messages, name: str) -> list[int | None]:
        """Null where there is no scope or resource at all."""
        counts = self._reader.integers(members, "dropped_attributes_count", UINT32)
        return [
            count if present else None
            for count, present in zip(counts, self._reader.present(groups, name), strict=True)
        ]
