"""Names as PostgreSQL reads them."""

from string import ascii_lowercase, ascii_uppercase
from typing import Final

from sqlglot import exp

from query.pg.catalogue_names import DATABASE, SCHEMA

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


def fold(identifier: exp.Expr) -> str:
    """The name that PostgreSQL gives an identifier: unquoted ones with the letters A to Z in lower case."""
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.translate(_LOWER)


def is_of_public(node: exp.Expr) -> bool:
    """Whether a table or column is named with the schema of datasets, as in `public.app` and `weir.public.app`."""
    schema, database = node.args.get("db"), node.args.get("catalog")
    return schema is not None and fold(schema) == SCHEMA and (database is None or fold(database) == DATABASE)


def qualified_name(table: exp.Expr) -> str | None:
    """`schema.name` of a table that is named with its schema; None for one that is not, and for a dataset."""
    schema = table.args.get("db")
    return None if schema is None or is_of_public(table) else f"{fold(schema)}.{fold(table.this)}"


def unqualify_columns(tree: exp.Expr) -> None:
    """Shorten `public.app.level` to `app.level`: of no two schemas there are datasets."""
    for column in tree.find_all(exp.Column):
        if is_of_public(column):
            column.set("db", None)
            column.set("catalog", None)
