"""OTLP logs: one row per log record. Columns: docs/ingestion-otlp.md."""

from collections.abc import Sequence
from typing import Final

from ingest.decoded import Decoded
from ingest.gc_pause import uncollected
from ingest.otlp.messages import INT32, UINT32, UINT64
from ingest.otlp.reading import RESOURCE_COLUMNS, SCOPE_COLUMNS, Groups, Signal, open_request
from ingest.otlp.table import Table
from ingest.proto.otlp import LogsData

SIGNAL: Final = Signal(LogsData, "resource_logs", "scope_logs", "scope_log_schema_url", "schema_url")

COLUMNS: Final = (
    "time_unix_nano",
    "observed_time_unix_nano",
    "severity_number",
    "severity_text",
    "body",
    "log_record_dropped_attributes_count",
    "flags",
    "trace_id",
    "span_id",
    "event_name",
    *SCOPE_COLUMNS,
    "scope_log_schema_url",
    *RESOURCE_COLUMNS,
    "schema_url",
)

# OTLP log data model, "Displaying Severity": the short names of the numbers 1 to 24.
SEVERITIES: Final = {
    first + step: f"{name}{step + 1 if step else ''}"
    for first, name in zip(range(1, 25, 4), ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"), strict=True)
    for step in range(4)
}


@uncollected
def decode(body: bytes, media_type: str, *, max_columns: int = 1000) -> Decoded:
    """One row per log record of an ExportLogsServiceRequest.

    Raises UnsupportedMedia, InvalidBody and, for more than `max_columns` attribute names, TooManyColumns.
    """
    reader, request = open_request(body, media_type, SIGNAL)
    groups = Groups(reader, request, SIGNAL)
    records = reader.children(groups.scope_groups, "log_records")
    table = Table(len(records), COLUMNS, max_columns)
    times = reader.integers(records, "time_unix_nano", UINT64)
    observed = reader.integers(records, "observed_time_unix_nano", UINT64)
    table.add_times("time_unix_nano", _known_times(times, observed))
    table.add_times("observed_time_unix_nano", observed)
    numbers = reader.integers(records, "severity_number", INT32)
    table.add_integers("severity_number", numbers)
    table.add_texts("severity_text", _severity_texts(reader.strings(records, "severity_text"), numbers))
    table.add_values("body", reader.values(records, "body"))
    dropped = reader.integers(records, "dropped_attributes_count", UINT32)
    table.add_integers("log_record_dropped_attributes_count", dropped)
    table.add_integers("flags", reader.integers(records, "flags", UINT32))
    table.add_texts("trace_id", reader.ids(records, "trace_id"))
    table.add_texts("span_id", reader.ids(records, "span_id"))
    table.add_texts("event_name", reader.strings(records, "event_name"))
    table.add_attributes("attribute_", reader.attributes(records, "attributes"))
    groups.add_to(table, records.owners())
    return table.finish()


def _known_times(times: Sequence[int], observed: Sequence[int]) -> Sequence[int]:
    """OTLP log data model: a record without time happened when it was observed."""
    if all(times):
        return times
    return [time or other for time, other in zip(times, observed, strict=True)]


def _severity_texts(texts: Sequence[str], numbers: Sequence[int]) -> Sequence[str | None]:
    """The client's text, or else the name of its number."""
    if all(texts):
        return texts
    return [text or SEVERITIES.get(number) for text, number in zip(texts, numbers, strict=True)]
