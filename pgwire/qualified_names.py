"""Names that begin with the session's database, as PostgreSQL allows for the one that is connected to. Pure."""

import re
from collections.abc import Iterator
from typing import Any, Final

from pgwire.syntax_tree import located

_PART: Final = re.compile(rb'(?:"(?:[^"]|"")*"|[\w\x80-\xff$]+)\s*\.')
# Database, schema, table and column.
COLUMN_PARTS: Final = 4


def without_database(sql: str, node: Any, database: str, offset: int = 0) -> str:
    """The statement with blanks in place of the database's name, so that places of errors stay what they are.

    The tree's places count bytes from `offset`.

    >>> from pgwire.syntax_tree import split
    >>> statement = split('SELECT "acme".public.app.a FROM acme.public.app')[0]
    >>> without_database(statement.sql, statement.node, "acme")
    'SELECT        public.app.a FROM      public.app'
    """
    if database.lower() not in sql.lower() and '"' not in database:
        return sql
    raw = sql.encode()
    for place in sorted(_places(node, database), reverse=True):
        match = _PART.match(raw, place - offset)
        if match is not None:
            raw = raw[: match.start()] + b" " * len(match[0]) + raw[match.end() :]
    return raw.decode()


def _places(node: Any, database: str) -> Iterator[int]:
    for relation in located(node, "RangeVar"):
        if relation.get("catalogname") == database:
            yield int(relation.get("location", 0))
    for column in located(node, "ColumnRef"):
        fields = column["fields"]
        if len(fields) == COLUMN_PARTS and fields[0].get("String", {}).get("sval") == database:
            yield int(column.get("location", 0))
