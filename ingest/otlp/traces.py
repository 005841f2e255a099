"""OTLP traces: one row per span, its events and links as JSON arrays. Columns: docs/ingestion-otlp.md."""

from typing import Final

from columns import ColumnType
from ingest.decoded import Decoded
from ingest.gc_pause import uncollected
from ingest.otlp.messages import INT32, UINT32, UINT64, Messages, Reader
from ingest.otlp.reading import RESOURCE_COLUMNS, SCOPE_COLUMNS, Groups, Signal, open_request
from ingest.otlp.table import Table
from ingest.otlp.times import LAST, texts
from ingest.otlp.values import JsonText, json_arrays
from ingest.proto.otlp import TracesData

SIGNAL: Final = Signal(TracesData, "resource_spans", "scope_spans", "scope_schema_url", "resource_schema_url")

COLUMNS: Final = (
    "span_trace_id",
    "span_span_id",
    "span_parent_span_id",
    "span_trace_state",
    "span_flags",
    "span_name",
    "span_kind",
    "span_kind_description",
    "span_start_time_unix_nano",
    "span_end_time_unix_nano",
    "span_duration_ns",
    "span_dropped_attributes_count",
    "span_dropped_events_count",
    "span_dropped_links_count",
    "span_status_code",
    "span_status_description",
    "span_status_message",
    "events",
    "links",
    *SCOPE_COLUMNS,
    "scope_schema_url",
    *RESOURCE_COLUMNS,
    "resource_schema_url",
)

KINDS: Final = dict(enumerate(("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")))
STATUSES: Final = dict(enumerate(("UNSET", "OK", "ERROR")))


@uncollected
def decode(body: bytes, media_type: str, *, max_columns: int = 1000) -> Decoded:
    """One row per span of an ExportTraceServiceRequest.

    Raises UnsupportedMedia, InvalidBody and, for more than `max_columns` attribute names, TooManyColumns.
    """
    reader, request = open_request(body, media_type, SIGNAL)
    groups = Groups(reader, request, SIGNAL)
    spans = reader.children(groups.scope_groups, "spans")
    table = Table(len(spans), COLUMNS, max_columns)
    _add_identity(table, reader, spans)
    _add_times(table, reader, spans)
    _add_status(table, reader, spans)
    table.add("events", ColumnType.JSON, _events(reader, reader.children(spans, "events")))
    table.add("links", ColumnType.JSON, _links(reader, reader.children(spans, "links")))
    table.add_attributes("attribute_", reader.attributes(spans, "attributes"))
    groups.add_to(table, spans.owners())
    return table.finish()


def _add_identity(table: Table, reader: Reader, spans: Messages) -> None:
    table.add_texts("span_trace_id", reader.ids(spans, "trace_id"))
    table.add_texts("span_span_id", reader.ids(spans, "span_id"))
    table.add_texts("span_parent_span_id", reader.ids(spans, "parent_span_id"))
    table.add_texts("span_trace_state", reader.strings(spans, "trace_state"))
    table.add_integers("span_flags", reader.integers(spans, "flags", UINT32))
    table.add_texts("span_name", reader.strings(spans, "name"))
    kinds = reader.integers(spans, "kind", INT32)
    table.add_integers("span_kind", kinds)
    table.add_texts("span_kind_description", [KINDS.get(kind) for kind in kinds])
    for what in ("attributes", "events", "links"):
        counts = reader.integers(spans, f"dropped_{what}_count", UINT32)
        table.add_integers(f"span_dropped_{what}_count", counts)


def _add_times(table: Table, reader: Reader, spans: Messages) -> None:
    starts = reader.integers(spans, "start_time_unix_nano", UINT64)
    ends = reader.integers(spans, "end_time_unix_nano", UINT64)
    table.add_times("span_start_time_unix_nano", starts)
    table.add_times("span_end_time_unix_nano", ends)
    table.add_integers("span_duration_ns", [_duration(*times) for times in zip(starts, ends, strict=True)])


def _duration(start: int, end: int) -> int | None:
    """Null where a time is unknown. Clocks that went back give a negative one."""
    return end - start if 0 < start <= LAST and 0 < end <= LAST else None


def _add_status(table: Table, reader: Reader, spans: Messages) -> None:
    """A span without a status has neither code nor message."""
    statuses = reader.child(spans, "status")
    present = reader.present(spans, "status")
    codes = [
        code if is_set else None for code, is_set in zip(reader.integers(statuses, "code", INT32), present, strict=True)
    ]
    table.add_integers("span_status_code", codes)
    table.add_texts("span_status_description", [None if code is None else STATUSES.get(code) for code in codes])
    table.add_texts("span_status_message", reader.strings(statuses, "message"))


def _events(reader: Reader, events: Messages) -> list[JsonText]:
    times = texts(reader.integers(events, "time_unix_nano", UINT64))
    names = reader.strings(events, "name")
    attributes = reader.attribute_objects(events, "attributes")
    dropped = reader.integers(events, "dropped_attributes_count", UINT32)
    return json_arrays(
        events.counts or [],
        [
            {"time_unix_nano": time, "name": name, "attributes": members, "dropped_attributes_count": count}
            for time, name, members, count in zip(times, names, attributes, dropped, strict=True)
        ],
    )


def _links(reader: Reader, links: Messages) -> list[JsonText]:
    columns = (
        reader.ids(links, "trace_id"),
        reader.ids(links, "span_id"),
        reader.strings(links, "trace_state"),
        reader.attribute_objects(links, "attributes"),
        reader.integers(links, "dropped_attributes_count", UINT32),
        reader.integers(links, "flags", UINT32),
    )
    return json_arrays(
        links.counts or [],
        [
            {
                "trace_id": trace_id or None,
                "span_id": span_id or None,
                "trace_state": trace_state or None,
                "attributes": members,
                "dropped_attributes_count": count,
                "flags": flags,
            }
            for trace_id, span_id, trace_state, members, count, flags in zip(*columns, strict=True)
        ],
    )
