"""NaN and infinity as numeric: told from ordinary numbers, and refused where a function is not made for them."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.special_numbers import is_special, ordinary
from query.functions.registry import define
from query.pg.types import numeric

_FAMILY = "Mathematics"


@define("special number(numeric) -> bool", "Whether it is NaN or infinite.", family=_FAMILY)
def special_number(context: CallContext, value: pl.Expr) -> pl.Expr:
    return is_special(value)


@define(
    "finite number(numeric) -> numeric",
    "The number, which is neither NaN nor infinite.",
    family=_FAMILY,
    result=lambda types: numeric(types[0].scale, types[0].exact),
)
def finite_number(context: CallContext, value: pl.Expr) -> pl.Expr:
    # Polars does not look at the condition of a constant that is NULL.
    return ordinary(context.fail_where(value, is_special(value), "nan_numeric"))
