"""Points a statement about the catalogue at what stands in for relations and values of the whole server. Pure."""

import re
from typing import Any, Final

from pgwire.catalogue.allowed import REPLACED_RELATIONS, VALUES
from pgwire.syntax_tree import located

_NAME: Final = re.compile(rb'(?:"?pg_catalog"?\s*\.\s*)?"?(\w+)"?', re.IGNORECASE)
_SCHEMA: Final = re.compile(rb'"?pg_catalog"?\s*\.\s*', re.IGNORECASE)
_WORD: Final = re.compile(rb"\w+")


def rewritten(sql: str, node: Any, offset: int = 0) -> str:
    """The statement, whose places of names in the tree count bytes from `offset`.

    >>> from pgwire.syntax_tree import split
    >>> statement = split("SELECT current_user FROM pg_catalog.pg_database d")[0]
    >>> rewritten(statement.sql, statement.node)
    'SELECT pg_catalog."current_user"() FROM pg_catalog.weir_pg_database d'
    """
    raw = sql.encode()
    changes = [*_relations(node, offset, raw), *_columns(node, offset, raw), *_values(node, offset, raw)]
    for start, end, text in sorted(changes, reverse=True):
        raw = raw[:start] + text + raw[end:]
    return raw.decode()


def _relations(node: Any, offset: int, raw: bytes) -> list[tuple[int, int, bytes]]:
    found = []
    for relation in located(node, "RangeVar"):
        if relation["relname"] in REPLACED_RELATIONS and relation.get("schemaname") in (None, "pg_catalog"):
            match = _NAME.match(raw, relation.get("location", 0) - offset)
            if match is not None and match[1].decode().lower() == relation["relname"]:
                found.append((match.start(), match.end(), _stand_in(relation)))
    return found


def _columns(node: Any, offset: int, raw: bytes) -> list[tuple[int, int, bytes]]:
    """`pg_catalog.pg_database.datname` without the schema: the stand-in has the name only as an alias."""
    found = []
    for column in located(node, "ColumnRef"):
        names = [each.get("String", {}).get("sval") for each in column["fields"]]
        match = _SCHEMA.match(raw, column.get("location", 0) - offset)
        if len(names) > 2 and names[0] == "pg_catalog" and names[1] in REPLACED_RELATIONS and match is not None:
            found.append((match.start(), match.end(), b""))
    return found


def _stand_in(relation: Any) -> bytes:
    """Under the name that the statement knows it by."""
    name = str(relation["relname"])
    return f"pg_catalog.weir_{name}{'' if 'alias' in relation else f' AS {name}'}".encode()


def _values(node: Any, offset: int, raw: bytes) -> list[tuple[int, int, bytes]]:
    found = []
    for value in located(node, "SQLValueFunction"):
        match = _WORD.match(raw, value.get("location", 0) - offset)
        if value["op"] in VALUES and value["op"] != "SVFOP_CURRENT_SCHEMA" and match is not None:
            found.append((match.start(), match.end(), b'pg_catalog."' + match[0].lower() + b'"()'))
    return found
