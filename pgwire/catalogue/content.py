"""What a database of the catalogue holds: a table for each dataset, typed as clients are told, brought up to date."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Final

import psycopg

from pgwire.catalogue.template import READER
from pgwire.sql_text import quoted

Columns = Mapping[str, Sequence[Sequence[str]]]
# One round trip for so many: of 1,000 datasets each has two statements.
AT_ONCE: Final = 200


@dataclass(frozen=True)
class Tables:
    """Columns, names and types (`timestamptz`, `_text`), of each table in order."""

    columns: Columns

    @cached_property
    def text(self) -> str:
        return json.dumps({name: [list(column) for column in self.columns[name]] for name in sorted(self.columns)})

    @cached_property
    def digest(self) -> str:
        """The same for the same tables."""
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


def bring_up_to_date(connection: psycopg.Connection, tables: Tables) -> None:
    """Make the tables of this database the wanted ones, in one transaction, whoever else is at it."""
    with connection.transaction():
        connection.execute("SET LOCAL allow_system_table_mods = on")
        row = connection.execute("SELECT hash, tables FROM pg_catalog.weir_content FOR UPDATE").fetchone()
        if row is None or row[0] == tables.digest:
            return
        statements = changes(row[1], tables.columns)
        while some := "; ".join(islice(statements, AT_ONCE)):
            connection.execute(some.encode())
        told = (tables.digest, tables.text)
        connection.execute("UPDATE pg_catalog.weir_content SET hash = %s, tables = %s::jsonb", told)


def changes(before: Columns, tables: Columns) -> Iterator[str]:
    """The statements that make the one of the other. A table that only has new columns at its end keeps its number."""
    for name in sorted(before.keys() - tables.keys()):
        yield f"DROP TABLE public.{quoted(name)}"
    for name, columns in sorted(tables.items()):
        known = [tuple(each) for each in before.get(name, [])]
        if name not in before:
            yield from _create(name, columns)
        elif [tuple(each) for each in columns[: len(known)]] != known:
            yield f"DROP TABLE public.{quoted(name)}"
            yield from _create(name, columns)
        elif len(columns) > len(known):
            added = ", ".join(f"ADD COLUMN {_column(*each)}" for each in columns[len(known) :])
            yield f"ALTER TABLE public.{quoted(name)} {added}"


def _create(name: str, columns: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"CREATE TABLE public.{quoted(name)} ({', '.join(_column(*each) for each in columns)})"
    yield f"GRANT REFERENCES ON public.{quoted(name)} TO {READER}"


def _column(name: str, kind: str) -> str:
    type_name = f"{quoted(kind[1:])}[]" if kind.startswith("_") else quoted(kind)
    return f"{quoted(name)} pg_catalog.{type_name}"
