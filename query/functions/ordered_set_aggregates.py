"""Aggregates over values in order: percentiles and the most frequent value."""

from collections.abc import Callable, Sequence

import polars as pl

from query import fault
from query.expr.aggregate_inputs import AggregateInputs
from query.expr.aggregate_plans import Plan
from query.expr.call_context import CallContext
from query.expr.intervals import scaled_interval, sum_of_intervals
from query.expr.percentiles import continuous_places, discrete_place, interpolated
from query.expr.row_errors import declare_row_error
from query.expr.sort_keys import sort_key
from query.functions.registry import aggregate, define
from query.pg.types import FLOAT8, INTERVAL_TYPE, PgType, is_keyed
from query.plan.tree import ArrayOf, Constant

declare_row_error("percentile_range", fault.NUMERIC_OUT_OF_RANGE, "percentile value is not between 0 and 1")


@define("percentile fraction(float8) -> float8", "A fraction that is computed.", family="Rows")
def check_fraction(context: CallContext, fraction: pl.Expr) -> pl.Expr:
    outside = (fraction < 0) | (fraction > 1) | fraction.is_nan()
    return context.fail_where(fraction, outside, "percentile_range")


def _sort_values(inputs: AggregateInputs) -> tuple[pl.Expr, pl.Expr]:
    """The column of the ordering value, and its present values in order."""
    key = inputs.call.order[0]
    name = inputs.name("a0")
    value = pl.col(name).drop_nulls()
    if is_keyed(key.value.type):
        ordered = value.sort_by(sort_key(value, key.value.type), descending=key.descending)
    else:
        ordered = value.sort(descending=key.descending)
    return inputs.mask(key.value).alias(name), ordered


@aggregate(
    "percentile_disc(float8) WITHIN GROUP (ORDER BY any) -> anyelement",
    "First value at or beyond a percentile.",
    shares_values=True,
)
def _percentile_disc(inputs: AggregateInputs) -> Plan:
    def pick(values: pl.Expr, count: pl.Expr, fraction: float | pl.Expr) -> pl.Expr:
        return values.list.get(discrete_place(count, fraction), null_on_oob=True)

    return _fractions(inputs, pick)


@aggregate(
    "percentile_cont(float8) WITHIN GROUP (ORDER BY float8) -> float8;"
    "percentile_cont(float8) WITHIN GROUP (ORDER BY interval) -> interval",
    "Interpolated percentile.",
    shares_values=True,
)
def _percentile_cont(inputs: AggregateInputs) -> Plan:
    """Between the two nearest values in proportion."""
    call = inputs.call
    spans = call.order[0].value.type.name == "interval"

    def pick(values: pl.Expr, count: pl.Expr, fraction: float | pl.Expr) -> pl.Expr:
        low, high, share = continuous_places(count, fraction)
        first, second = (values.list.get(place, null_on_oob=True) for place in (low, high))
        if not spans:
            return interpolated(first, second, share)
        context = CallContext((INTERVAL_TYPE,), INTERVAL_TYPE, call.position)
        difference = sum_of_intervals(context, second, first, -1)
        between = sum_of_intervals(context, scaled_interval(context, difference, share), first)
        return pl.when(share == 0).then(first).otherwise(between)

    return _fractions(inputs, pick)


Pick = Callable[[pl.Expr, pl.Expr, float | pl.Expr], pl.Expr]
"""The value at a fraction, of a list of values and their number."""


def _fractions(inputs: AggregateInputs, pick: Pick) -> Plan:
    """Each group's values are sorted once, into a list; the fractions are read from it after grouping."""
    call, output = inputs.call, inputs.output
    column, ordered = _sort_values(inputs)
    name, direct = inputs.name("l"), call.direct[0]
    values, count = pl.col(name), pl.col(name).list.len().cast(pl.Int64)
    aggregates = (ordered.implode().alias(name),)
    if not isinstance(direct, Constant):
        return _computed_fractions(inputs, pick, Plan((column,), aggregates, values))
    fractions = direct.value
    if fractions is None:
        return Plan((column,), aggregates, pl.lit(None, dtype=output.type.polars))
    if not isinstance(fractions, tuple):
        value = pick(values, count, float(fractions))  # type: ignore[arg-type]
        return Plan((column,), aggregates, _checked(inputs, value, [fractions], count >= 0))
    nothing = pl.lit(None, dtype=output.type.element.polars if output.type.element else pl.Null())
    parts = [nothing if fraction is None else pick(values, count, float(fraction)) for fraction in fractions]
    return Plan((column,), aggregates, _checked(inputs, _listed(parts, count, output.type), fractions, count > 0))


def _checked(inputs: AggregateInputs, value: pl.Expr, fractions: Sequence[object], is_looked_at: pl.Expr) -> pl.Expr:
    """The value, which fails for groups that look at constants of which one is no fraction: a group without values
    does not look at an array of them, and groups that do not exist at none."""
    if all(fraction is None or 0 <= float(fraction) <= 1 for fraction in fractions):  # type: ignore[arg-type]
        return value
    context = CallContext((FLOAT8,), inputs.output.type, inputs.call.position)
    return context.fail_where(value, is_looked_at, "percentile_range")


def _listed(parts: list[pl.Expr], count: pl.Expr, pg_type: PgType) -> pl.Expr:
    return pl.when(count > 0).then(pl.concat_list(parts).cast(pg_type.polars))


def _computed_fractions(inputs: AggregateInputs, pick: Pick, lists: Plan) -> Plan:
    """Fractions that are one in each group are computed for its rows, and the first is taken."""
    direct = inputs.call.direct[0]
    items = direct.items if isinstance(direct, ArrayOf) else (direct,)
    names = [inputs.name(f"f{index}") for index in range(len(items))]
    columns = (inputs.value(item).alias(name) for item, name in zip(items, names, strict=True))
    count = lists.result.list.len().cast(pl.Int64)
    parts = [pick(lists.result, count, pl.col(name)) for name in names]
    result = _listed(parts, count, inputs.output.type) if isinstance(direct, ArrayOf) else parts[0]
    firsts = (pl.col(name).first() for name in names)
    return Plan((*lists.columns, *columns), (*lists.aggregates, *firsts), result)


@aggregate("mode() WITHIN GROUP (ORDER BY any) -> anyelement", "Most frequent value.")
def _mode(inputs: AggregateInputs) -> Plan:
    """The most frequent value; of several the first in the order."""
    call, output = inputs.call, inputs.output
    column, ordered = _sort_values(inputs)
    pg_type = call.order[0].value.type
    if is_keyed(pg_type):
        runs = sort_key(ordered, pg_type).rle().struct.field("len")
        last = (runs.cum_sum().cast(pl.Int64) - 1).filter(runs == runs.max()).first()
        return Plan((column,), (ordered.get(last, null_on_oob=True).alias(output.id),), pl.col(output.id))
    mode = ordered.mode().sort(descending=call.order[0].descending).first()
    return Plan((column,), (mode.alias(output.id),), pl.col(output.id))
