"""JSON built from values."""

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.json_values import json_string, to_json
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.pg.json_text import jsonb_text, parse_json, raw_members

declare_row_error("null_jsonb_key", fault.INVALID_PARAMETER, "key must not be null")

_FAMILY = "JSON"


@define(
    "to_json(any) -> json; to_jsonb(any) -> jsonb; array_to_json(anyarray) -> json",
    "The value as JSON.",
    family=_FAMILY,
)
def as_json(context: CallContext, value: pl.Expr) -> pl.Expr:
    return to_json(context, value, context.types[0], context.result.name == "jsonb")


@define("array_to_json(anyarray, bool!) -> json", "The array as JSON, with a line for each element.", family=_FAMILY)
def array_as_lines(context: CallContext, value: pl.Expr, in_lines: object) -> pl.Expr:
    return row_as_lines(context, value, in_lines)


@define("row to json(any, bool!) -> json", "The row as JSON, with a line for each field.", family=_FAMILY)
def row_as_lines(context: CallContext, value: pl.Expr, in_lines: object) -> pl.Expr:
    text = to_json(context, value, context.types[0], binary=False)
    return context.rowwise(_lines, text) if in_lines else text


def _lines(text: str) -> str:
    """A document with each of its members on a line."""
    json_type, members = raw_members(text)
    if json_type == "object":
        return "{" + ",\n ".join(f"{json_string(str(key))}:{value}" for key, value in members) + "}"
    return "[" + ",\n ".join(value for _, value in members) + "]"


def _item(context: CallContext, index: int, value: pl.Expr) -> pl.Expr:
    return to_json(context, value, context.types[index], context.result.name == "jsonb").fill_null("null")


def _normalise(context: CallContext, text: pl.Expr) -> pl.Expr:
    if context.result.name != "jsonb":
        return text
    return context.rowwise(lambda document: jsonb_text(parse_json(document)), text)


def _built(parts: list[pl.Expr], opening: str, closing: str) -> pl.Expr:
    return pl.concat_str([pl.lit(opening), *parts, pl.lit(closing)])


@define(
    "json_build_array() -> json; jsonb_build_array() -> jsonb; "
    "json_build_array(any...) -> json; jsonb_build_array(any...) -> jsonb",
    "Array of the arguments.",
    family=_FAMILY,
    strict=False,
)
def build_array(context: CallContext, *values: pl.Expr) -> pl.Expr:
    parts: list[pl.Expr] = []
    for index, value in enumerate(values):
        parts += [pl.lit(", ")] if index else []
        parts.append(_item(context, index, value))
    return _normalise(context, _built(parts, "[", "]"))


@define(
    "json_build_object() -> json; jsonb_build_object() -> jsonb; "
    "json_build_object(any...) -> json; jsonb_build_object(any...) -> jsonb",
    "Object of keys and values.",
    family=_FAMILY,
    strict=False,
)
def build_object(context: CallContext, *values: pl.Expr) -> pl.Expr:
    if len(values) % 2:
        message = "argument list must have even number of elements"
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    parts: list[pl.Expr] = []
    for index in range(0, len(values), 2):
        if context.types[index].name != "text":
            raise fault.unsupported("a key that is not text", context.position)
        parts += [pl.lit(", ")] if index else []
        error = "null_jsonb_key" if context.result.name == "jsonb" else "null_json_key"
        key = context.fail_where(values[index], values[index].is_null(), error)
        parts += [context.rowwise(json_string, key), pl.lit(" : "), _item(context, index + 1, values[index + 1])]
    return _normalise(context, _built(parts, "{", "}"))
