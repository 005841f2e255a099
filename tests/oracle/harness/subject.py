"""The subject: our engine over the oracle's tables, and what it answers."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from errors import UnsupportedSQL, WeirError
from query import engine, parse
from tests.oracle.harness import tables
from tests.oracle.harness.answer import Answer, Failure, Outcome

NOW: Final = dt.datetime(2026, 1, 15, 12, 0, tzinfo=dt.UTC)


class Subject:
    """Our engine with every table registered as a lazy frame, as storage would hand it over."""

    def __init__(self, loaded: Sequence[tables.Table]) -> None:
        self._tables: Mapping[str, engine.Table] = {
            table.name: engine.Table(table.frame.lazy(), table.json_columns) for table in loaded
        }

    def run(self, query: str) -> Outcome:
        """Our answer, values as Polars hands them out."""
        try:
            compiled = engine.prepare(parse.parse(query), self._tables, now=NOW)
            frame = compiled.frame.collect(engine="streaming")
        except WeirError as error:
            return _failure(error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Polars' panics are no Exceptions, and a crash is a finding, not an end.
            return Failure(_first_line(error), crash=True)
        names = tuple(field.name for field in compiled.fields)
        return Answer(names, tuple(field.type for field in compiled.fields), _rows(frame))


def _failure(error: WeirError) -> Failure:
    state = error.details.get("sqlstate")
    return Failure(error.message, None if state is None else str(state), refusal=isinstance(error, UnsupportedSQL))


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _rows(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Rows as Python values; a frame without columns still has its rows."""
    return frame.rows() if frame.width else [()] * frame.height
