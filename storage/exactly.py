"""Columns by their exact names: Polars reads `*` as all columns and `^...$` as a pattern over their names."""

import polars as pl
from polars import selectors


def exactly(name: str) -> pl.Expr:
    """The column of that name, whatever the name looks like."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return selectors.by_name(name).as_expr() if is_pattern else pl.col(name)
