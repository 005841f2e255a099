"""Reads docs/sql-cookbook.md and answers its questions over the sample events.

`python -m tests.cookbook` writes the answers into the page.
"""

import csv
import io
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from columns import POLARS_TYPES, ColumnType
from ingest.json import decoding
from query.engine import Table, prepare
from query.results import formats
from query.results.formats import Format, Options
from query.syntax.parse import parse
from tests.running import ROOT

PAGE: Final = ROOT / "docs" / "sql-cookbook.md"
TRANSLATIONS: Final = ROOT / "docs" / "coming-from.md"
SAMPLES: Final = ROOT / "tests" / "data" / "cookbook"
# When the page says that its questions were asked.
NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
# As `X-P-Time-Partition` would say when the dataset is created. The lookup dataset `owners` has none.
TIME_FIELDS: Final = {
    "access": "timestamp",
    "app_logs": "timestamp",
    "deploys": "timestamp",
    "samples": "time_unix_nano",
    "spans": "span_start_time_unix_nano",
}
QUESTION: Final = re.compile(r"^### (.+?)\n(?:(?!^#).*\n)*?```sql\n((?:.*\n)+?)```\n\n((?:\|.*\n)*)", re.MULTILINE)


class Question(NamedTuple):
    """A heading of the page, its statement, and the table that the page shows below it."""

    title: str
    sql: str
    shown: str


def questions() -> list[Question]:
    """Those of the page, in its order."""
    return [Question(*found) for found in QUESTION.findall(PAGE.read_text("utf-8"))]


def translations() -> list[str]:
    """The statements in the tables of docs/coming-from.md."""
    return re.findall(r"\| `(SELECT [^`]+)` \|$", TRANSLATIONS.read_text("utf-8"), re.MULTILINE)


def answer(sql: str) -> str:
    """The rows as a Markdown table, values in PostgreSQL's text form, NULL as an empty cell."""
    plan = prepare(parse(sql), tables(), now=NOW)
    pieces: list[bytes] = []
    formats.stream(plan.frame, plan.fields, Options(Format.CSV), pieces.append)
    header, *rows = csv.reader(io.StringIO(b"".join(pieces).decode()))
    return "".join(_line(cells) for cells in (header, ["---"] * len(header), *rows))


@cache
def tables() -> dict[str, Table]:
    """Each file of sample events as the dataset that the service would make of it."""
    return {path.stem: _table(path) for path in sorted(SAMPLES.glob("*.ndjson"))}


def _table(path: Path) -> Table:
    batch = decoding.decode(path.read_bytes())
    frame = pl.DataFrame({field.name: column for field, column in zip(batch.fields, batch.columns, strict=True)})
    if path.stem in TIME_FIELDS:
        time = pl.col(TIME_FIELDS[path.stem])
        frame = frame.with_columns(time.str.to_datetime(time_unit="ns", time_zone="UTC"))
        assert frame.schema[TIME_FIELDS[path.stem]] == POLARS_TYPES[ColumnType.TIMESTAMP_NS]
    return Table(frame.lazy(), frozenset(field.name for field in batch.fields if field.type is ColumnType.JSON))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _written(found: re.Match[str]) -> str:
    return found[0].removesuffix(found[3]) + answer(found[2])


if __name__ == "__main__":
    PAGE.write_text(QUESTION.sub(_written, PAGE.read_text("utf-8")), "utf-8")
