"""Whether texts are what the input functions of types read."""

import polars as pl

from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
from query.pg.text_input import read, read_endless, read_numeric
from query.pg.types import SIMPLE, array_of


@define("input is valid(text, text!) -> bool", "Whether a text could be cast to a type.", family="Text")
def input_is_valid(context: CallContext, text: pl.Expr, named: object) -> pl.Expr:
    """A text that PostgreSQL may read and we do not is refused: it is neither."""
    element = SIMPLE[str(named).removesuffix("[]")]
    target = array_of(element) if str(named).endswith("[]") else element

    def is_valid(value: str) -> bool:
        if read_endless(value, target) is not None:
            return True
        try:
            if target.name == "numeric":
                read_numeric(value, target)
            else:
                read(value, target)
        except BadLiteral:
            return False
        return True

    return context.rowwise(is_valid, text)
