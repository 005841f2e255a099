"""Aggregates over window frames: by running totals where those are exact, else over the frame's rows written out."""

from typing import Final

import polars as pl

from query.expr.aggregate_inputs import mean
from query.expr.checked_arithmetic import LARGEST
from query.expr.row_errors import fail_where
from query.expr.window_columns import END, FIRST, PEER, ROW, START, argument
from query.lower.aggregates import plan
from query.lower.window_specs import WHOLE
from query.pg.types import FLOATS, INT8, INTEGERS, is_keyed
from query.plan.tree import AggregateCall, Field, Frame, WindowCall

_REDUCTIONS: Final = ("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every")


def is_total(call: WindowCall) -> bool:
    """True for an aggregate of all rows, `OVER ()`, that is one value."""
    if call.partition or call.order or not _is_whole(call.frame or WHOLE):
        return False
    return call.function in _REDUCTIONS and not any(is_keyed(arg.type) for arg in call.args)


def total(frame: pl.LazyFrame, call: WindowCall, output: Field) -> pl.LazyFrame:
    """The frame with an aggregate of all its rows: nothing has to be sorted or numbered for it."""
    entry = plan(_as_aggregate(call), output)
    return frame.with_columns(entry.columns).with_columns(entry.aggregates).with_columns(entry.result.alias(output.id))


def aggregate_over_frame(frame: pl.LazyFrame, call: WindowCall, output: Field, bounds: Frame) -> pl.LazyFrame:
    if _is_whole(bounds):
        return _over_partition(frame, call, output)
    if call.function == "count" and not bounds.exclude:
        return frame.with_columns(_running(_count_mask(call)).alias(output.id))
    exact = call.args and call.args[0].type.name in (*INTEGERS, "numeric")
    if call.function in ("sum", "avg") and exact and not bounds.exclude:
        return _exact(frame, call, output)
    grows = bounds.start.kind == "unbounded_preceding" and not bounds.exclude
    if grows and call.function in ("sum", "avg", "min", "max") and not is_keyed(call.args[0].type):
        return _growing(frame, call, output)
    return _over_lists(frame, call, output, bounds)


def _is_whole(bounds: Frame) -> bool:
    """True for frames that are their whole partition."""
    ends = bounds.start.kind, bounds.end.kind
    return ends == ("unbounded_preceding", "unbounded_following") and not bounds.exclude


def _value_where(call: WindowCall) -> pl.Expr:
    value = argument(0)
    return value if call.where is None else pl.when(pl.col("w_where")).then(value)


def _count_mask(call: WindowCall) -> pl.Expr:
    if call.args:
        return _value_where(call).is_not_null()
    if call.where is not None:
        return pl.col("w_where")
    return pl.col(ROW).is_not_null()


def _running(flags: pl.Expr) -> pl.Expr:
    """How many flags are set in the frame: a difference of running totals."""
    return _difference(flags.cast(pl.Int64).cum_sum())


def _difference(total: pl.Expr) -> pl.Expr:
    upto = pl.when(pl.col(END) > 0).then(pl.col(END) - 1)
    before = pl.when(pl.col(START) > 0).then(pl.col(START) - 1)
    return total.gather(upto).fill_null(0) - total.gather(before).fill_null(0)


def _exact(frame: pl.LazyFrame, call: WindowCall, output: Field) -> pl.LazyFrame:
    """Sums of whole numbers, by differences of running totals, which lose nothing."""
    value = _value_where(call)
    total = _difference(value.cast(pl.Int128).fill_null(0).cum_sum())
    frame = frame.with_columns(total.alias("w_total"), _running(value.is_not_null()).alias("w_count"))
    total, count = pl.col("w_total"), pl.col("w_count")
    if call.args[0].type.name == "numeric":
        size = _difference(value.cast(pl.Float64).fill_null(0).cum_sum())
        total = fail_where(total, size.abs() >= LARGEST, "numeric_range", call.position)
    if call.function == "sum":
        return frame.with_columns(pl.when(count > 0).then(total).cast(call.type.polars).alias(output.id))
    average = mean(total, count, call.args[0].type, call.type.scale, position=call.position)
    return frame.with_columns(average.alias(output.id))


def _growing(frame: pl.LazyFrame, call: WindowCall, output: Field) -> pl.LazyFrame:
    """Frames that start with the partition: running values, read at the frame's last row."""
    frame = frame.with_columns(_value_where(call).alias("w_value"))
    source = pl.col("w_value")
    ranked = call.function in ("min", "max") and call.args[0].type.name in _RANKED
    if ranked:
        frame = frame.with_columns(source.rank("ordinal").cast(pl.Int64).alias("w_rank"))
        source = pl.col("w_rank")
    if call.function in ("min", "max"):
        running = source.cum_min() if call.function == "min" else source.cum_max()
    else:
        running = source.fill_null(0).cum_sum()
    frame = frame.with_columns(running.forward_fill().over(FIRST).alias("w_running"))
    frame = frame.with_columns(_running(pl.col("w_value").is_not_null()).alias("w_count"))
    last = pl.when(pl.col("w_count") > 0).then(pl.col(END) - 1)
    result = pl.col("w_running").gather(last)
    if call.function == "avg":
        result = result / pl.col("w_count")
    if ranked:
        result = pl.col("w_value").sort_by("w_rank", nulls_last=True).gather(result - 1)
    return frame.with_columns(result.cast(call.type.polars).alias(output.id))


_RANKED: Final = (*FLOATS, "text", "bytea")
"""Types of which Polars has no running extremes, or leaves out NaN; their ranks have them."""


def _as_aggregate(call: WindowCall) -> AggregateCall:
    return AggregateCall(call.type, call.function, call.args, where=call.where, position=call.position)


def _over_partition(frame: pl.LazyFrame, call: WindowCall, output: Field) -> pl.LazyFrame:
    """One value per partition, repeated for its rows."""
    entry = plan(_as_aggregate(call), output)
    frame = frame.with_columns(entry.columns)
    frame = (
        frame.with_columns(item.over(FIRST) for item in entry.aggregates)
        if call.function != "array_agg"
        else (frame.with_columns(item.over(FIRST, mapping_strategy="join") for item in entry.aggregates))
    )
    return frame.with_columns(entry.result.alias(output.id))


def _over_lists(frame: pl.LazyFrame, call: WindowCall, output: Field, bounds: Frame) -> pl.LazyFrame:
    """Any aggregate over any frame: the frame's rows are written out and grouped by the row they belong to."""
    entry = plan(_as_aggregate(call), output)
    # Read three times, by row numbers: computed once, since rows that tie come in another order every time.
    frame = frame.with_columns(entry.columns).cache()
    names = [column.meta.output_name() for column in entry.columns]
    members = (
        frame.select(
            pl.col(ROW).alias("w_owner"),
            pl.col(PEER).alias("w_owner_peer"),
            pl.int_ranges(pl.col(START), pl.col(END)).alias("w_member"),
        )
        .explode("w_member")
        .filter(pl.col("w_member").is_not_null())
    )
    source = frame.select(pl.col(ROW).alias("w_member"), pl.col(PEER).alias("w_member_peer"), *names)
    members = members.join(source, on="w_member", how="left", maintain_order="left")
    if bounds.exclude:
        members = members.filter(_inclusion_mask(bounds.exclude))
    grouped = members.group_by("w_owner").agg(entry.aggregates)
    frame = frame.join(grouped, left_on=ROW, right_on="w_owner", how="left", maintain_order="left")
    result = entry.result
    if call.function in ("count", "regr_count"):
        result = result.fill_null(0).cast(INT8.polars)
    return frame.with_columns(result.alias(output.id))


def _inclusion_mask(exclude: str) -> pl.Expr:
    itself = pl.col("w_member") == pl.col("w_owner")
    peer = pl.col("w_member_peer") == pl.col("w_owner_peer")
    if exclude == "current row":
        return ~itself
    return ~peer if exclude == "group" else ~peer | itself
