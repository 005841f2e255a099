"""Numbers of rows that LIMIT and OFFSET take from a subquery."""

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define

declare_row_error("limit_negative", fault.INVALID_LIMIT, "LIMIT must not be negative")
declare_row_error("offset_negative", fault.INVALID_OFFSET, "OFFSET must not be negative")

_FAMILY = "Rows"


@define("rows of LIMIT(int8) -> int8", "A computed count: NULL is all rows, a negative one fails.", family=_FAMILY)
def check_limit(context: CallContext, count: pl.Expr) -> pl.Expr:
    return context.fail_where(count, count < 0, "limit_negative")


@define("rows of OFFSET(int8) -> int8", "A computed count: NULL is none, a negative one fails.", family=_FAMILY)
def check_offset(context: CallContext, count: pl.Expr) -> pl.Expr:
    return context.fail_where(count, count < 0, "offset_negative").fill_null(0)
