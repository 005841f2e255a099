"""Names as PostgreSQL reads them."""

from string import ascii_lowercase, ascii_uppercase
from typing import Final

from sqlglot import exp

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


def fold(identifier: exp.Expr) -> str:
    """The name that PostgreSQL gives an identifier: unquoted ones with the letters A to Z in lower case."""
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.translate(_LOWER)


def qualified_name(table: exp.Expr) -> str | None:
    """`schema.name` of a table that is named with its schema; None for one that is not."""
    schema = table.args.get("db")
    return None if schema is None else f"{fold(schema)}.{fold(table.this)}"
