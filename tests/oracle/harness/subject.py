"""The subject: our engine over the oracle's tables, and what it answers."""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from errors import InternalError, UnsupportedSQL, WeirError
from query import engine
from query.syntax import parse
from tests.oracle.harness import tables
from tests.oracle.harness.answer import Answer, Failure, Outcome

ROWS_PER_GROUP: Final = 500
NOW: Final = dt.datetime(2026, 1, 15, 12, 0, tzinfo=dt.UTC)


class Subject:
    """Our engine with every table as storage hands it over: a scan of Parquet, whose statistics may skip row groups."""

    def __init__(self, loaded: Sequence[tables.Table], folder: Path) -> None:
        """Write the tables into `folder`, which has to outlive this."""
        self._tables: Mapping[str, engine.Table] = {
            table.name: engine.Table(_scan(table, folder), table.json_columns) for table in loaded
        }

    def run(self, query: str, zone: str = "") -> Outcome:
        """Our answer, values as Polars hands them out."""
        try:
            compiled = engine.prepare(parse.parse(query), self._tables, now=NOW, zone=zone, as_text=True)
            rows = _rows(_collected(compiled.frame))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Polars' panics are no Exceptions, and a crash is a finding, not the end.
            known = engine.translate(error)
            return Failure(_first_line(error), crash=True) if isinstance(known, InternalError) else _failure(known)
        names = tuple(field.name for field in compiled.fields)
        return Answer(names, tuple(field.type for field in compiled.fields), rows)


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    """The rows as query.results.formats runs a plan: by the streaming engine, and in memory if that one panics."""
    try:
        return frame.collect(engine="streaming")
    except pl.exceptions.PanicException:
        return frame.collect(engine="in-memory")


def _scan(table: tables.Table, folder: Path) -> pl.LazyFrame:
    path = folder / f"{table.name}.parquet"
    table.frame.write_parquet(path, row_group_size=ROWS_PER_GROUP)
    return pl.scan_parquet(path)


def _failure(error: WeirError) -> Failure:
    state, position = error.details.get("sqlstate"), error.details.get("position")
    return Failure(
        error.message,
        None if state is None else str(state),
        None if position is None else int(position),
        refusal=isinstance(error, UnsupportedSQL),
        crash=isinstance(error, InternalError),
    )


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _rows(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Rows as Python values; a frame without columns still has its rows."""
    return frame.rows() if frame.width else [()] * frame.height
