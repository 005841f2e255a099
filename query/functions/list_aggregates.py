"""Aggregates that gather their values: arrays, joined texts, JSON arrays and objects."""

from typing import Final

import polars as pl

from query import fault
from query.expr.aggregate_inputs import AggregateInputs
from query.expr.aggregate_plans import Plan
from query.expr.call_context import CallContext
from query.expr.dimensions import shape
from query.expr.json_values import json_string as quoted_text
from query.expr.json_values import to_json
from query.expr.row_errors import declare_row_error, fail_where
from query.expr.sort_keys import sort_key
from query.expr.text_output import to_text
from query.functions.registry import aggregate
from query.pg.json_text import normalise
from query.pg.types import TEXT, PgType, is_keyed
from query.plan.tree import SortKey

declare_row_error("null_jsonb_name", fault.INVALID_PARAMETER, "field name must not be null")
declare_row_error("null_array", "22004", "cannot accumulate null arrays")
declare_row_error("empty_array", "2202E", "cannot accumulate empty arrays")
declare_row_error("array_dimensions", "2202E", "cannot accumulate arrays of different dimensionality")


def _sorted_values(value: pl.Expr, inputs: AggregateInputs) -> tuple[tuple[pl.Expr, ...], pl.Expr]:
    """The argument's values in the call's order; with DISTINCT each once, sorted as PostgreSQL leaves them."""
    call = inputs.call
    if call.distinct:
        key = call.order[0] if call.order else SortKey(call.args[0], False, False)
        return (), _sorted_once(value, key)
    if not call.order:
        return (), value
    names = [inputs.name(f"o{index}") for index in range(len(call.order))]
    columns = tuple(inputs.sort_value(key.value).alias(name) for key, name in zip(call.order, names, strict=True))
    keys = [pl.col(name) for name in names]
    if call.where is not None:
        keys = [key.filter(pl.col(inputs.name("w"))) for key in keys]
    ordered = value.sort_by(
        keys,
        descending=[key.descending for key in call.order],
        nulls_last=[not key.nulls_first for key in call.order],
        maintain_order=True,
    )
    return columns, ordered


def _sorted_once(value: pl.Expr, key: SortKey) -> pl.Expr:
    """Each value once, in order. What is equal has an equal key: '1 mon' and '30 days' are one value."""
    if not is_keyed(key.value.type):
        return value.unique().sort(descending=key.descending, nulls_last=not key.nulls_first)
    by = sort_key(value, key.value.type)
    first = by.is_first_distinct()
    return value.filter(first).sort_by(by.filter(first), descending=key.descending, nulls_last=not key.nulls_first)


def _list(inputs: AggregateInputs, argument: pl.Expr) -> tuple[tuple[pl.Expr, ...], pl.Expr]:
    """Columns and the values of `argument` in order, rows that FILTER drops left out."""
    name, holds = inputs.name("a0"), inputs.holds()
    columns = [argument.alias(name)]
    value = pl.col(name)
    if holds is not None:
        columns.append(holds.alias(inputs.name("w")))
        value = value.filter(pl.col(inputs.name("w")))
    more, ordered = _sorted_values(value, inputs)
    return (*columns, *more), ordered


@aggregate("array_agg(any) -> anyarray", "The values as an array, NULLs included.")
def _array_agg(inputs: AggregateInputs) -> Plan:
    call, output = inputs.call, inputs.output
    columns, values = _list(inputs, inputs.value(call.args[0]))
    gathered = pl.when(pl.col(output.id).list.len() > 0).then(pl.col(output.id))
    result = gathered if inputs.type.element is None else _of_one_shape(gathered, inputs.type, call.position)
    return Plan(columns, (values.implode().alias(output.id),), result)


def _of_one_shape(arrays: pl.Expr, pg_type: PgType, position: int | None) -> pl.Expr:
    """The arrays as one of a dimension more. Fails for one that is NULL, empty or of another shape (array_agg)."""
    shapes = arrays.list.eval(shape(pl.element(), pg_type))
    has_null = arrays.list.eval(pl.element().is_null()).list.any()
    has_empty = shapes.list.eval(pl.element().is_null()).list.any() & ~has_null
    several = shapes.list.drop_nulls().list.n_unique() > 1
    arrays = fail_where(arrays, has_null, "null_array", position)
    arrays = fail_where(arrays, has_empty, "empty_array", position)
    return fail_where(arrays, several & ~has_empty & ~has_null, "array_dimensions", position)


@aggregate("string_agg(text, text) -> text", "The values that are not NULL, joined.")
def _string_agg(inputs: AggregateInputs) -> Plan:
    call, output = inputs.call, inputs.output
    delimiter = getattr(call.args[1], "value", None)
    if not isinstance(delimiter, str):
        raise fault.unsupported("string_agg with a delimiter that is not a constant", call.position)
    columns, values = _list(inputs, inputs.value(call.args[0]))
    present = values.drop_nulls()
    text = pl.when(present.count() > 0).then(present.str.join(delimiter)).alias(output.id)
    return Plan(columns, (text,), pl.col(output.id))


_NEW_LINE: Final = "\n "
"""What stands in JSON before a row or an array that follows other values (json_agg_transfn)."""


@aggregate("json_agg(any) -> json; jsonb_agg(any) -> jsonb", "The values as a JSON array.")
def _json_list(inputs: AggregateInputs) -> Plan:
    call, output = inputs.call, inputs.output
    pg_type = call.args[0].type
    context = CallContext((pg_type,), output.type, call.position)
    columns, values = _list(inputs, inputs.value(call.args[0]))
    binary = output.type.name == "jsonb"
    texts = to_json(context, values, pg_type, binary)
    if not binary and (pg_type.name == "record" or pg_type.element is not None):
        texts = pl.lit(_NEW_LINE) + texts
    items = pl.col(output.id).str.strip_prefix(_NEW_LINE)
    result = pl.when(items.is_not_null()).then(pl.concat_str([pl.lit("["), items, pl.lit("]")]))
    document = pl.when(values.len() > 0).then(texts.fill_null("null").str.join(", ")).alias(output.id)
    return Plan(columns, (document,), result)


@aggregate(
    "json_object_agg(any, any) -> json; jsonb_object_agg(any, any) -> jsonb", "Keys and values as a JSON object."
)
def _json_object(inputs: AggregateInputs) -> Plan:
    """An object of jsonb keeps only the last value of a key."""
    call, output = inputs.call, inputs.output
    if call.distinct:
        raise fault.unsupported(f"DISTINCT in {call.function}", call.position)
    binary = output.type.name == "jsonb"
    key_site = CallContext((call.args[0].type,), TEXT, call.position)
    item_site = CallContext((call.args[1].type,), output.type, call.position)
    name_text = to_text(key_site, inputs.value(call.args[0]), call.args[0].type)
    missing = (
        name_text.is_null() if call.where is None else name_text.is_null() & inputs.value(call.where).fill_null(False)
    )
    name_text = key_site.fail_where(name_text, missing, "null_jsonb_name" if binary else "null_json_key")
    key = key_site.rowwise(quoted_text, name_text)
    item = to_json(item_site, inputs.value(call.args[1]), call.args[1].type, binary).fill_null("null")
    columns, members = _list(inputs, pl.concat_str([key, pl.lit(" : "), item]))
    document = pl.when(members.len() > 0).then(members.str.join(", ")).alias(output.id)
    whole = pl.concat_str([pl.lit("{ "), pl.col(output.id), pl.lit(" }")])
    return Plan(columns, (document,), item_site.rowwise(normalise, whole) if binary else whole)
