"""What a result is to look like."""

from dataclasses import dataclass
from enum import Enum


class Format(Enum):
    """A representation of a result; the value is its media type."""

    JSON = "application/json"
    NDJSON = "application/x-ndjson"
    CSV = "text/csv"
    ARROW = "application/vnd.apache.arrow.stream"
    PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Options:
    """How a client wants its rows.

    `fields` adds the column names (JSON: `{"fields": [...], "records": [...]}`; NDJSON: a first line);
    `send_null` keeps members that are null; `escape_formulas` makes CSV cells harmless to spreadsheets.
    """

    format: Format = Format.JSON
    fields: bool = False
    send_null: bool = True
    escape_formulas: bool = False
