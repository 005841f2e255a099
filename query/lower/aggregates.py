"""Aggregation: the plain aggregates in a generated GROUP BY statement, the others as compiled expressions."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from query import fault
from query.expr.aggregate_inputs import AggregateInputs
from query.expr.aggregate_plans import Plan
from query.expr.common_subexpressions import CommonSubexpressions
from query.functions.registry import aggregate_of, shares_values
from query.lower.grouping_keys import groups_of
from query.lower.scalars import expression
from query.lower.statements import Statements, quote, quote_all
from query.pg.types import BOOL
from query.plan.tree import Aggregate, AggregateCall, Column, Constant, Field, Scalar


def aggregate(relation: Aggregate, frame: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """One row per group; without keys exactly one row."""
    keys = [key.id for key in relation.keys]
    outputs = relation.fields[len(keys) :]
    subexpressions = CommonSubexpressions()
    plans = _plans([_with_argument_columns(call, subexpressions) for call in relation.calls], outputs)
    frame = subexpressions.add_to(frame).with_columns(column for entry in plans for column in entry.columns)
    groups = groups_of(frame, relation.keys)
    if groups.firsts:
        statements.note("aggregation by intervals")
        aggregates = (item for entry in plans for item in entry.aggregates)
        grouped = groups.frame.group_by(groups.names).agg(*groups.firsts, *aggregates)
    elif all(entry.sql for entry in plans) or not plans:
        grouped = _statement(frame, keys, plans, statements)
    else:
        grouped = _aggregate_frame(frame, keys, plans, statements)
    results = [entry.result.alias(field.id) for entry, field in zip(plans, outputs, strict=True)]
    if not relation.fields:
        return grouped
    return grouped.select(*keys, *results)


def _plans(calls: Sequence[AggregateCall], outputs: Sequence[Field]) -> list[Plan]:
    """A plan per call. Percentiles of the same values read one list, which is sorted once."""
    first: dict[object, Field] = {}
    plans = []
    for call, field in zip(calls, outputs, strict=True):
        shares = shares_values(call.function) and all(isinstance(value, Constant) for value in call.direct)
        source = first.setdefault((call.order, call.where), field) if shares else field
        entry = plan(call, replace(field, id=source.id))
        plans.append(entry if source is field else Plan((), (), entry.result))
    return plans


def _with_argument_columns(call: AggregateCall, subexpressions: CommonSubexpressions) -> AggregateCall:
    """The call with its condition and its deeper arguments computed ahead."""
    where = call.where
    if where is not None and not isinstance(where, Column | Constant):
        where = Column(BOOL, subexpressions.add_column(expression(where, subexpressions)).meta.output_name())
    holds = None if where is None else expression(where).fill_null(False)

    def ahead(value: Scalar) -> Scalar:
        if not subexpressions.is_nested(value):
            return value
        return Column(
            value.type, subexpressions.add_column(expression(value, subexpressions, holds)).meta.output_name()
        )

    order = tuple(replace(key, value=ahead(key.value)) for key in call.order)
    return replace(call, args=tuple(ahead(arg) for arg in call.args), order=order, where=where)


def _statement(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    name = statements.name(frame)
    if not plans:
        if not keys:
            return frame.select(pl.len().alias(""))
        return statements.run(f"SELECT DISTINCT {quote_all(keys)} FROM {name}")
    items = ", ".join([*(quote(key) for key in keys), *(text for entry in plans for text in entry.sql)])
    group = f" GROUP BY {quote_all(keys)}" if keys else ""
    return statements.run(f"SELECT {items} FROM {name}{group}")


def _aggregate_frame(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    statements.note("aggregation")
    aggregates = [item for entry in plans for item in entry.aggregates]
    return frame.group_by(keys).agg(aggregates) if keys else frame.select(aggregates)


def plan(call: AggregateCall, output: Field) -> Plan:
    """How to compute one call."""
    form = aggregate_of(call.function, [arg.type for arg in call.args])
    if form is None:
        raise fault.unsupported(f"aggregate {call.function}", call.position)
    return form.build(AggregateInputs(call, output, lambda value, holds: expression(value, where=holds)))
