"""Which columns the conditions of a statement name, before anything of their dataset is known."""

from typing import Final

from sqlglot import exp

from query.syntax.identifiers import fold

MOST_COLUMNS: Final = 16


def compared_columns(tree: exp.Expr) -> list[str]:
    """Names in the conditions of a statement: the columns whose statistics may be of use. Too many are none."""
    names = {fold(column.this) for where in tree.find_all(exp.Where) for column in where.find_all(exp.Column)}
    return sorted(names) if len(names) <= MOST_COLUMNS else []
