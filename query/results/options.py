"""The formats of a result, and what a client may ask of them; without the renderers, which web workers do not load."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Format(Enum):
    """A representation of a result; the value is its media type."""

    JSON = "application/json"
    NDJSON = "application/x-ndjson"
    CSV = "text/csv"
    ARROW = "application/vnd.apache.arrow.stream"
    PARQUET = "application/vnd.apache.parquet"
    # Rows as the PostgreSQL protocol sends them, and no rows at all: no media types, and not for HTTP.
    DATA_ROWS = "data rows"
    COPY = "copy"
    DESCRIPTION = "description"


MEDIA_FORMATS: Final = tuple(each for each in Format if "/" in each.value)


@dataclass(frozen=True, slots=True)
class Copy:
    """The options of `COPY ... TO STDOUT`, as PostgreSQL names them. `quoted`: columns of FORCE_QUOTE, `*` for all."""

    format: str = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """How a client wants its rows.

    `fields` adds the column names (JSON: `{"fields": [...], "records": [...]}`; NDJSON: a first line);
    `send_null` keeps members that are null; `escape_formulas` makes CSV cells harmless to spreadsheets. Of data rows,
    `binary` says which columns are binary: nothing for none, one value for all. `copy` is for the format COPY alone.
    """

    format: Format = Format.JSON
    fields: bool = False
    send_null: bool = True
    escape_formulas: bool = False
    binary: tuple[bool, ...] = ()
    copy: Copy | None = None
