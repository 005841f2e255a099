"""The manifest as a query reads it: segments, columns and files of one moment, in one statement.

Each query reads it, and a round trip to PostgreSQL costs more than what it is asked there
(docs/decisions/query-processes.md).
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from columns import ColumnType
from models.base import connection, database
from models.column import Column, Schema, arrange
from models.file import File, Selection

# What there is once stands in a row of its own, ahead of those of files, as it has no times.
STATEMENT: Final = """
SELECT chosen.*, NULL::timestamptz, NULL::text[], NULL::text, NULL::boolean FROM ({files}) AS chosen
UNION ALL
SELECT {nothing}, clock_timestamp(), ARRAY(SELECT name FROM segment WHERE name = ANY(%s)),
    (SELECT json_agg(json_build_array(name, type, holds_large, stored, id, added_by, widened) ORDER BY id)::text
     FROM dataset_column WHERE dataset_id = %s),
    EXISTS (SELECT FROM file WHERE dataset_id = %s AND removed_at IS NULL)
ORDER BY tmin NULLS FIRST, path
"""
# A thousand columns take a few milliseconds to make of their text, and hardly ever differ from those of the last query.
MOST_SCHEMAS: Final = 32
# A statement may name more columns than there are, and than PostgreSQL selects at once (1,664).
MOST_GUESSED: Final = 32


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the manifest says of a dataset at one moment. `converted`: of the segments that were asked about those that
    are in files. `columns`: as stored, those whose statistics the files have. `has_files`: of whatever time.
    `read_at`: after that moment, by the database's clock."""

    read_at: datetime
    converted: frozenset[str]
    schema: Schema
    files: tuple[File, ...]
    has_files: bool
    columns: frozenset[str] = frozenset()


def read(
    segments: Iterable[str],
    dataset_id: int,
    start: int | None,
    end: int | None,
    columns: Collection[str] = (),
    lacking: str | None = None,
) -> Manifest:
    """The manifest for the dataset's events of `[start, end)`, as `models.file.Selection` says, and of these segments.

    One statement sees the database as of one moment (PostgreSQL, "Read Committed Isolation Level"), so an event that
    a conversion moves is in exactly one of the segments that are not converted and the files.

    `columns` are named as people call them, and files have them under their stored names. Only the answer tells
    these, but nearly all are the same: a few are taken for that, and the statement is repeated when they are not.
    """
    names, segments = set(columns), list(segments)
    asked = names if len(names) <= MOST_GUESSED else set()
    if lacking is not None:
        asked = asked | {lacking}
    while True:
        found = _read(segments, Selection(dataset_id, start, end, sorted(asked), lacking))
        stored = {each.stored for each in found.schema.columns if each.name in names}
        if lacking is not None:
            stored.add(lacking)
        if stored <= asked:
            return replace(found, columns=frozenset(stored))
        asked = stored


def _read(segments: list[str], wanted: Selection) -> Manifest:
    files, values = wanted.statement
    nothing = ", ".join(["NULL"] * wanted.width)
    with connection():
        rows = database.execute_sql(
            STATEMENT.format(files=files, nothing=nothing), [*values, segments, wanted.dataset_id, wanted.dataset_id]
        ).fetchall()
    read_at, converted, columns, has_files = rows[0][wanted.width :]
    return Manifest(
        read_at=read_at,
        converted=frozenset(converted),
        schema=_schema(wanted.dataset_id, columns or "[]"),
        files=tuple(map(wanted.from_row, rows[1:])),
        has_files=has_files,
    )


@lru_cache(MOST_SCHEMAS)
def _schema(dataset_id: int, columns: str) -> Schema:
    """The schema of a JSON text. The same text is the same schema, so what is kept needs no other proof."""
    found = (Column(name, ColumnType(kind), *rest) for name, kind, *rest in json.loads(columns))
    return Schema(dataset_id, arrange(found))
