"""SQL text: parsed, checked and, if it names no dataset that is not there, compiled."""

from contextlib import suppress
from datetime import UTC, datetime

import polars as pl

from errors import WeirError
from query.engine import Table, prepare
from query.syntax.parse import parse

WORDS = (
    b"SELECT ",
    b" FROM t",
    b"(",
    b")",
    b"'",
    b'"',
    b"--",
    b"/*",
    b"::int",
    b" WHERE ",
    b"$$",
    b"NULL",
    b", ",
    b'"*"',
)
TABLES = {"t": Table(pl.LazyFrame({"a": [1], "*": ["x"], "^.*$": [0.5], "": [True]}))}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def feed(data: bytes) -> None:
    """Nothing is raised but a refusal."""
    with suppress(WeirError):
        prepare(parse(data.decode("utf-8", "replace")), TABLES, now=NOW)
