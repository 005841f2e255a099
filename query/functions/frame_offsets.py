"""Offsets of window frames that a subquery gives."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define

declare_row_error("starting_offset_null", "22004", "frame starting offset must not be null")
declare_row_error("starting_offset_negative", "22013", "frame starting offset must not be negative")
declare_row_error("ending_offset_null", "22004", "frame ending offset must not be null")
declare_row_error("ending_offset_negative", "22013", "frame ending offset must not be negative")

_FAMILY = "Rows"


def _rows(context: CallContext, offset: pl.Expr, if_null: str, if_negative: str) -> pl.Expr:
    present = context.fail_where(offset, offset.is_null(), if_null)
    return context.fail_where(present, offset < 0, if_negative)


@define("starting offset of ROWS(int8) -> int8", "A computed start.", family=_FAMILY, strict=False)
def check_starting_rows(context: CallContext, offset: pl.Expr) -> pl.Expr:
    return _rows(context, offset, "starting_offset_null", "starting_offset_negative")


@define("ending offset of ROWS(int8) -> int8", "A computed end.", family=_FAMILY, strict=False)
def check_ending_rows(context: CallContext, offset: pl.Expr) -> pl.Expr:
    return _rows(context, offset, "ending_offset_null", "ending_offset_negative")


@define("starting offset of RANGE(any) -> anyelement", "A computed start of any type.", family=_FAMILY, strict=False)
def check_starting_range(context: CallContext, offset: pl.Expr) -> pl.Expr:
    return context.fail_where(offset, offset.is_null(), "starting_offset_null")


@define("ending offset of RANGE(any) -> anyelement", "A computed end of any type.", family=_FAMILY, strict=False)
def check_ending_range(context: CallContext, offset: pl.Expr) -> pl.Expr:
    return context.fail_where(offset, offset.is_null(), "ending_offset_null")
