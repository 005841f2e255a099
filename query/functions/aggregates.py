"""Aggregates of values in any order: counts, sums, means, extremes, and what booleans and bits have in common."""

from typing import Final

import polars as pl

from query.expr.aggregate_inputs import AggregateInputs, mean
from query.expr.aggregate_plans import Plan
from query.expr.call_context import CallContext
from query.expr.checked_arithmetic import LARGEST
from query.expr.equality import match_key
from query.expr.row_errors import fail_where
from query.expr.sort_keys import sort_key
from query.functions.registry import aggregate, define
from query.pg.types import AVERAGE_SCALE, INTEGERS, PgType, is_keyed, numeric

_SUM: Final = "Sum; NULL for no values."
_MEAN: Final = "Mean; NULL for no values."
_SMALLEST: Final = "Smallest value; NULL for no values."
_GREATEST: Final = "Greatest value; NULL for no values."
_ORDERED: Final = (*INTEGERS, "numeric", "text", "bytea", "date", "time", "timestamp", "timestamptz", "inet")
_KEYED: Final = ("interval", "anyarray")
"""Types whose values are compared by a key."""


def _forms(name: str, *types: str) -> str:
    """Signatures of an aggregate whose result is of the argument's type."""
    return ";".join(f"{name}({pg_type}) -> {pg_type}" for pg_type in types)


def _argument(types: tuple[PgType, ...]) -> PgType:
    return types[0]


def _average(types: tuple[PgType, ...]) -> PgType:
    return numeric(max(types[0].scale, AVERAGE_SCALE), exact=False)


@aggregate("count() -> int8", "Number of rows.")
def _count_rows(inputs: AggregateInputs) -> Plan:
    output, name = inputs.output.id, inputs.name("a0")
    if inputs.call.where is None:
        return Plan((), (pl.len().cast(pl.Int64).alias(output),), pl.col(output), (f'COUNT(*) AS "{output}"',))
    column = inputs.value(inputs.call.where).alias(name)
    total = pl.col(name).sum().alias(output)
    return Plan((column,), (total,), pl.col(output).cast(pl.Int64).fill_null(0), (f'SUM("{name}") AS "{output}"',))


@aggregate("count(any) -> int8", "Number of rows where the argument is not NULL.")
def _count(inputs: AggregateInputs) -> Plan:
    call, output, name, pg_type = inputs.call, inputs.output.id, inputs.name("a0"), inputs.type
    column, result = inputs.mask(call.args[0]).alias(name), pl.col(output).cast(pl.Int64)
    every_row = pg_type.name == "record" and call.where is None
    if call.distinct:
        values = match_key(pl.col(name), pg_type)
        present = values if every_row else values.drop_nulls()
        plain = not is_keyed(pg_type) and pg_type.name != "record"
        sql = (f'COUNT(DISTINCT "{name}") AS "{output}"',) if plain else ()
        return Plan((column,), (present.n_unique().cast(pl.Int64).alias(output),), result, sql)
    if every_row:
        return Plan((column,), (pl.len().cast(pl.Int64).alias(output),), pl.col(output))
    counted = pl.col(name).count().cast(pl.Int64).alias(output)
    return Plan((column,), (counted,), result, (f'COUNT("{name}") AS "{output}"',))


@aggregate("sum(int2) -> int8; sum(int4) -> int8; sum(int8) -> numeric", _SUM)
def _integer_sum(inputs: AggregateInputs) -> Plan:
    """Summed in the type of the result, which has room for all of them."""
    return _total(inputs, inputs.output.type.polars)


@aggregate(_forms("sum", "float4", "float8"), _SUM)
def _float_sum(inputs: AggregateInputs) -> Plan:
    return _total(inputs)


@aggregate("sum(numeric) -> numeric", _SUM, result=_argument)
def _numeric_sum(inputs: AggregateInputs) -> Plan:
    plan, (size, text), float_name = _total(inputs), _size(inputs), inputs.name("f")
    result = fail_where(plan.result, pl.col(float_name).abs() >= LARGEST, "numeric_range", inputs.call.position)
    return Plan(plan.columns, (*plan.aggregates, size), result, (*plan.sql, text) if plan.sql else ())


def _total(inputs: AggregateInputs, wide: pl.DataType | None = None) -> Plan:
    """The sum and the number of values, without any of which it is NULL. Values are cast to `wide` first."""
    name, output, count = inputs.name("a0"), inputs.output.id, inputs.name("n")
    column, value = inputs.column(), inputs.values()
    column = column if wide is None else column.cast(wide)
    aggregates = (pl.when(value.count() > 0).then(value.sum()).alias(output), value.count().alias(count))
    sql = () if inputs.call.distinct else (f'SUM("{name}") AS "{output}"', f'COUNT("{name}") AS "{count}"')
    result = pl.when(pl.col(count) > 0).then(pl.col(output)).cast(inputs.output.type.polars)
    return Plan((column,), aggregates, result, sql)


def _size(inputs: AggregateInputs) -> tuple[pl.Expr, str]:
    """About the sum of the values, as an aggregate and as text: the exact one wraps around beyond 128 bits."""
    value = inputs.values()
    name = inputs.name("f")
    return value.cast(pl.Float64).sum().alias(name), f'SUM(CAST("{inputs.name("a0")}" AS DOUBLE)) AS "{name}"'


@aggregate("avg(float8) -> float8", _MEAN)
def _float_mean(inputs: AggregateInputs) -> Plan:
    column, value = inputs.column(), inputs.values()
    mean = value.cast(pl.Float64).mean().alias(inputs.output.id)
    sql = () if inputs.call.distinct else (f'AVG("{inputs.name("a0")}") AS "{inputs.output.id}"',)
    return Plan((column.cast(pl.Float64),), (mean,), pl.col(inputs.output.id), sql)


@aggregate("avg(int2) -> numeric; avg(int4) -> numeric; avg(int8) -> numeric", _MEAN, result=_average)
def _integer_mean(inputs: AggregateInputs) -> Plan:
    return _exact_mean(inputs)


@aggregate("avg(numeric) -> numeric", _MEAN, result=_average)
def _numeric_mean(inputs: AggregateInputs) -> Plan:
    size, text = _size(inputs)
    plan = _exact_mean(inputs, pl.col(inputs.name("f")))
    return Plan(plan.columns, (*plan.aggregates, size), plan.result, (*plan.sql, text) if plan.sql else ())


def _exact_mean(inputs: AggregateInputs, size: pl.Expr | None = None) -> Plan:
    """The exact sum divided by the number of values; `size` is about the sum, where that may wrap around."""
    name, total, count = inputs.name("a0"), inputs.name("s"), inputs.name("n")
    column, value = inputs.column(), inputs.values()
    aggregates = (value.sum().alias(total), value.count().cast(pl.Int64).alias(count))
    sql = () if inputs.call.distinct else (f'SUM("{name}") AS "{total}"', f'COUNT("{name}") AS "{count}"')
    result = mean(pl.col(total).cast(pl.Int128), pl.col(count), inputs.type, inputs.output.type.scale, size)
    return Plan((column.cast(pl.Int128),), aggregates, result, sql)


@define("mean of parts(numeric, int8) -> numeric", "The mean of so many values.", family="Arithmetic", result=_average)
def mean_of_parts(context: CallContext, total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return mean(total.cast(pl.Int128), count, context.types[0], context.result.scale)


@define("mean of parts(float8, int8) -> float8", "The mean of so many values.", family="Arithmetic")
def float_mean_of_parts(context: CallContext, total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return pl.when(count > 0).then(total / count)


@aggregate(_forms("min", *_ORDERED), _SMALLEST, result=_argument)
def _smallest(inputs: AggregateInputs) -> Plan:
    return _single_value_plan(inputs, pl.col(inputs.name("a0")).min(), "MIN")


@aggregate(_forms("min", "float4", "float8"), _SMALLEST)
def _smallest_float(inputs: AggregateInputs) -> Plan:
    """NaN is the greatest float: min finds it only when there is nothing else."""
    return _single_value_plan(inputs, pl.col(inputs.name("a0")).min(), "MIN")


@aggregate(_forms("min", *_KEYED), _SMALLEST, result=_argument)
def _smallest_by_key(inputs: AggregateInputs) -> Plan:
    present = pl.col(inputs.name("a0")).drop_nulls()
    return _single_value_plan(inputs, present.get(sort_key(present, inputs.type).arg_min(), null_on_oob=True))


@aggregate(_forms("max", *_ORDERED), _GREATEST, result=_argument)
def _greatest(inputs: AggregateInputs) -> Plan:
    return _single_value_plan(inputs, pl.col(inputs.name("a0")).max(), "MAX")


@aggregate(_forms("max", "float4", "float8"), _GREATEST)
def _greatest_float(inputs: AggregateInputs) -> Plan:
    """NaN is the greatest float, which Polars leaves out."""
    column = inputs.column()
    value, output, nan = pl.col(inputs.name("a0")), inputs.output.id, inputs.name("x")
    result = pl.when(pl.col(nan)).then(float("nan")).otherwise(pl.col(output))
    return Plan((column,), (value.max().alias(output), value.is_nan().any().alias(nan)), result)


@aggregate(_forms("max", *_KEYED), _GREATEST, result=_argument)
def _greatest_by_key(inputs: AggregateInputs) -> Plan:
    present = pl.col(inputs.name("a0")).drop_nulls()
    return _single_value_plan(inputs, present.get(sort_key(present, inputs.type).arg_max(), null_on_oob=True))


def _single_value_plan(inputs: AggregateInputs, value: pl.Expr, sql: str = "") -> Plan:
    """One value of the argument's column, by an aggregate that SQLContext calls `sql`, if it has it."""
    column = inputs.column()
    output = inputs.output.id
    text = (f'{sql}("{inputs.name("a0")}") AS "{output}"',) if sql else ()
    return Plan((column,), (value.alias(output),), pl.col(output), text)


@aggregate("bool_and(bool) -> bool; every(bool) -> bool", "True if every value is true.")
def _every(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, value.min())


@aggregate("bool_or(bool) -> bool", "True if some value is true.")
def _some(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, value.max())


@aggregate(_forms("bit_and", *INTEGERS), "Bitwise AND of the values.")
def _bit_and(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, pl.when(value.count() > 0).then(value.drop_nulls().bitwise_and()))


@aggregate(_forms("bit_or", *INTEGERS), "Bitwise OR of the values.")
def _bit_or(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, pl.when(value.count() > 0).then(value.drop_nulls().bitwise_or()))


@aggregate(_forms("bit_xor", *INTEGERS), "Bitwise XOR of the values.")
def _bit_xor(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, pl.when(value.count() > 0).then(value.drop_nulls().bitwise_xor()))


@aggregate("any_value(any) -> anyelement", "Any value that is not NULL.")
def _any_value(inputs: AggregateInputs) -> Plan:
    value = inputs.values()
    return _single_value_plan(inputs, value.drop_nulls().first())


@aggregate(
    "approx_count_distinct(any) -> int8", "The number of different values, exactly as count(DISTINCT ...). Extension."
)
def _distinct(inputs: AggregateInputs) -> Plan:
    value = pl.col(inputs.name("a0")).drop_nulls()
    return _single_value_plan(inputs, value.n_unique().cast(pl.Int64))
