"""Aggregation: the plain aggregates in a generated GROUP BY statement, the others as compiled expressions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from query import fault
from query.expr.checked_arithmetic import LARGEST
from query.expr.common_subexpressions import Stage
from query.expr.row_errors import trap
from query.expr.sort_keys import is_keyed, sort_key
from query.lower.aggregate_plans import Plan, argument, quotient
from query.lower.grouping_keys import groups_of, match_key
from query.lower.list_aggregates import LISTS
from query.lower.ordered_set_aggregates import ORDERED, PERCENTILES
from query.lower.scalars import expression
from query.lower.statements import Statements, listed, quoted
from query.lower.statistical_aggregates import interval_sum, pairs, spread
from query.pg.types import BOOL, FLOATS, INTEGERS, NUMERIC_DIGITS
from query.plan.tree import Aggregate, AggregateCall, Column, Constant, Field, Scalar

_SQL_NAMES: Final = {"count": "COUNT", "sum": "SUM", "min": "MIN", "max": "MAX", "avg": "AVG"}


def aggregate(relation: Aggregate, frame: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """One row per group; without keys exactly one row."""
    keys = [key.id for key in relation.keys]
    made = relation.fields[len(keys) :]
    stage = Stage()
    plans = _plans([_staged(call, stage) for call in relation.calls], made)
    frame = stage.before(frame).with_columns(column for entry in plans for column in entry.columns)
    groups = groups_of(frame, relation.keys)
    if groups.firsts:
        statements.note("aggregation by intervals")
        aggregates = (item for entry in plans for item in entry.aggregates)
        grouped = groups.frame.group_by(groups.names).agg(*groups.firsts, *aggregates)
    elif all(entry.sql for entry in plans) or not plans:
        grouped = _statement(frame, keys, plans, statements)
    else:
        grouped = _compiled(frame, keys, plans, statements)
    results = [entry.result.alias(field.id) for entry, field in zip(plans, made, strict=True)]
    if not relation.fields:
        return grouped
    return grouped.select(*keys, *results)


def _plans(calls: Sequence[AggregateCall], made: Sequence[Field]) -> list[Plan]:
    """A plan per call. Percentiles of the same values read one list, which is sorted once."""
    first: dict[object, Field] = {}
    plans = []
    for call, field in zip(calls, made, strict=True):
        source = first.setdefault((call.order, call.where), field) if call.function in PERCENTILES else field
        entry = plan(call, replace(field, id=source.id))
        plans.append(entry if source is field else Plan((), (), entry.result))
    return plans


def _staged(call: AggregateCall, stage: Stage) -> AggregateCall:
    """The call with its condition and its deeper arguments computed ahead."""
    where = call.where
    if where is not None and not isinstance(where, Column | Constant):
        where = Column(BOOL, stage.keep(expression(where, stage)).meta.output_name())
    holds = None if where is None else expression(where).fill_null(False)

    def ahead(value: Scalar) -> Scalar:
        if not stage.is_nested(value):
            return value
        return Column(value.type, stage.keep(expression(value, stage, holds)).meta.output_name())

    order = tuple(replace(key, value=ahead(key.value)) for key in call.order)
    return replace(call, args=tuple(ahead(arg) for arg in call.args), order=order, where=where)


def _statement(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    name = statements.name(frame)
    if not plans:
        if not keys:
            return frame.select(pl.len().alias(""))
        return statements.run(f"SELECT DISTINCT {listed(keys)} FROM {name}")
    items = ", ".join([*(quoted(key) for key in keys), *(text for entry in plans for text in entry.sql)])
    group = f" GROUP BY {listed(keys)}" if keys else ""
    return statements.run(f"SELECT {items} FROM {name}{group}")


def _compiled(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    statements.note("aggregation")
    aggregates = [item for entry in plans for item in entry.aggregates]
    return frame.group_by(keys).agg(aggregates) if keys else frame.select(aggregates)


def plan(call: AggregateCall, made: Field) -> Plan:
    """How to compute one call."""
    name = call.function
    if name == "count" and not call.args:
        return _count_rows(call, made)
    if name in LISTS:
        return LISTS[name](call, made)
    if name in ORDERED:
        return ORDERED[name](call, made)
    builder = _PLANS.get(name)
    if builder is None:
        raise fault.unsupported(f"aggregate {name}", call.position)
    return builder(call, made)


def _count_rows(call: AggregateCall, made: Field) -> Plan:
    if call.where is None:
        return Plan((), (pl.len().cast(pl.Int64).alias(made.id),), pl.col(made.id), (f'COUNT(*) AS "{made.id}"',))
    name = f"{made.id}a0"
    column = expression(call.where).alias(name)
    total = pl.col(name).sum().alias(made.id)
    result = pl.col(made.id).cast(pl.Int64).fill_null(0)
    return Plan((column,), (total,), result, (f'SUM("{name}") AS "{made.id}"',))


def _count(call: AggregateCall, made: Field) -> Plan:
    column, _ = argument(made, call)
    name = f"{made.id}a0"
    if call.distinct:
        kind = call.args[0].type
        values = match_key(pl.col(name), kind)
        present = values if kind.name == "record" and call.where is None else values.drop_nulls()
        plain = not is_keyed(kind) and kind.name != "record"
        sql: tuple[str, ...] = (f'COUNT(DISTINCT "{name}") AS "{made.id}"',) if plain else ()
        distinct = present.n_unique().cast(pl.Int64).alias(made.id)
        return Plan((column,), (distinct,), pl.col(made.id).cast(pl.Int64), sql)
    if call.args[0].type.name == "record" and call.where is None:
        return Plan((column,), (pl.len().cast(pl.Int64).alias(made.id),), pl.col(made.id))
    counted = pl.col(name).count().cast(pl.Int64).alias(made.id)
    return Plan((column,), (counted,), pl.col(made.id).cast(pl.Int64), (f'COUNT("{name}") AS "{made.id}"',))


def _sum(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    if kind.name == "interval":
        return interval_sum(call, made, average=False)
    column, value = argument(made, call)
    name = f"{made.id}a0"
    wide = made.type.polars
    column = column.cast(wide) if kind.name in INTEGERS else column
    total = pl.when(value.count() > 0).then(value.sum()).alias(made.id)
    sql = () if call.distinct else (f'SUM("{name}") AS "{made.id}"', f'COUNT("{name}") AS "{made.id}n"')
    counted = value.count().alias(f"{made.id}n")
    result = pl.when(pl.col(f"{made.id}n") > 0).then(pl.col(made.id)).cast(wide)
    if kind.name != "numeric":
        return Plan((column,), (total, counted), result, sql)
    size, text = _size(value, made)
    result = trap(result, pl.col(f"{made.id}f").abs() >= LARGEST, "numeric_range", call.position)
    return Plan((column,), (total, counted, size), result, (*sql, text) if sql else ())


def _size(value: pl.Expr, made: Field) -> tuple[pl.Expr, str]:
    """About the sum of the values, as an aggregate and as text: the exact one wraps around beyond 128 bits."""
    name = f"{made.id}f"
    return value.cast(pl.Float64).sum().alias(name), f'SUM(CAST("{made.id}a0" AS DOUBLE)) AS "{name}"'


def _avg(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    if kind.name == "interval":
        return interval_sum(call, made, average=True)
    column, value = argument(made, call)
    name, total, count = f"{made.id}a0", f"{made.id}s", f"{made.id}n"
    if kind.name in FLOATS:
        mean = value.cast(pl.Float64).mean().alias(made.id)
        sql = () if call.distinct else (f'AVG("{name}") AS "{made.id}"',)
        return Plan((column.cast(pl.Float64),), (mean,), pl.col(made.id), sql)
    size, text = _size(value, made)
    aggregates: tuple[pl.Expr, ...] = (value.sum().alias(total), value.count().cast(pl.Int64).alias(count))
    sums: tuple[str, ...] = () if call.distinct else (f'SUM("{name}") AS "{total}"', f'COUNT("{name}") AS "{count}"')
    result = quotient(pl.col(total).cast(pl.Int128), pl.col(count), made.type.scale - kind.scale)
    whole = pl.col(total).cast(pl.Float64)
    if kind.name == "numeric":
        aggregates, sums, whole = (*aggregates, size), (*sums, text) if sums else (), pl.col(f"{made.id}f")
    if kind.name in ("numeric", "int8"):
        most = 10.0 ** (NUMERIC_DIGITS - made.type.scale + kind.scale)
        beyond = (whole.abs() / pl.col(count).cast(pl.Float64) >= most) | (whole.abs() >= LARGEST)
        result = trap(result, (pl.col(count) > 0) & beyond, "numeric_range", None)
    return Plan((column.cast(pl.Int128),), aggregates, result, sums)


def _extreme(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    column, _ = argument(made, call)
    name = f"{made.id}a0"
    value = pl.col(name)
    smallest = call.function == "min"
    if is_keyed(kind):
        present = value.drop_nulls()
        key = sort_key(present, kind)
        chosen = present.get(key.arg_min() if smallest else key.arg_max(), null_on_oob=True)
        return Plan((column,), (chosen.alias(made.id),), pl.col(made.id))
    if kind.name in FLOATS:
        return _float_extreme(column, value, made, smallest)
    found = (value.min() if smallest else value.max()).alias(made.id)
    return Plan((column,), (found,), pl.col(made.id), (f'{_SQL_NAMES[call.function]}("{name}") AS "{made.id}"',))


def _float_extreme(column: pl.Expr, value: pl.Expr, made: Field, smallest: bool) -> Plan:
    """NaN is the greatest float: max finds it, min only when there is nothing else."""
    if smallest:
        return Plan(
            (column,),
            (value.min().alias(made.id),),
            pl.col(made.id),
            (f'MIN({value.meta.output_name()!r}) AS "{made.id}"'.replace("'", '"'),),
        )
    nan = f"{made.id}x"
    aggregates = (value.max().alias(made.id), value.is_nan().any().alias(nan))
    return Plan((column,), aggregates, pl.when(pl.col(nan)).then(float("nan")).otherwise(pl.col(made.id)))


def _boolean(call: AggregateCall, made: Field) -> Plan:
    column, value = argument(made, call)
    found = value.min() if call.function in ("bool_and", "every") else value.max()
    return Plan((column,), (found.alias(made.id),), pl.col(made.id))


def _bits(call: AggregateCall, made: Field) -> Plan:
    column, value = argument(made, call)
    present = value.drop_nulls()
    methods = {"bit_and": present.bitwise_and, "bit_or": present.bitwise_or, "bit_xor": present.bitwise_xor}
    found = pl.when(value.count() > 0).then(methods[call.function]())
    return Plan((column,), (found.alias(made.id),), pl.col(made.id))


def _any_value(call: AggregateCall, made: Field) -> Plan:
    column, value = argument(made, call)
    return Plan((column,), (value.drop_nulls().first().alias(made.id),), pl.col(made.id))


def _approximate(call: AggregateCall, made: Field) -> Plan:
    column, _ = argument(made, call)
    estimated = pl.col(f"{made.id}a0").drop_nulls().approx_n_unique().cast(pl.Int64).alias(made.id)
    return Plan((column,), (estimated,), pl.col(made.id))


_PLANS: Final[dict[str, Callable[[AggregateCall, Field], Plan]]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme,
    "max": _extreme,
    "any_value": _any_value,
    "approx_count_distinct": _approximate,
    **dict.fromkeys(("bool_and", "bool_or", "every"), _boolean),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _bits),
    **dict.fromkeys(("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), spread),
    **dict.fromkeys(("corr", "covar_pop", "covar_samp", "regr_count", "regr_avgx", "regr_avgy"), pairs),
    **dict.fromkeys(("regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2"), pairs),
}
