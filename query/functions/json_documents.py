"""JSON documents made of arrays of texts, shown in lines, and with values put in."""

import polars as pl

from query.expr.call_context import CallContext
from query.expr.json_values import json_string
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
from query.pg.json_text import Json, jsonb_text, members_within, parse_json, stored_order

_FAMILY = "JSON"


def _lines(value: Json, depth: int) -> str:
    """A document with a line for each member, four blanks deeper than what holds it."""
    inner, outer = "    " * (depth + 1), "    " * depth
    if isinstance(value, dict) and value:
        items = [f"{json_string(key)}: {_lines(item, depth + 1)}" for key, item in stored_order(value)]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{outer}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + _lines(item, depth + 1) for item in value) + f"\n{outer}]"
    if isinstance(value, dict | list):
        return f"{'{' if isinstance(value, dict) else '['}\n{outer}{'}' if isinstance(value, dict) else ']'}"
    return jsonb_text(value)


@define("jsonb_pretty(jsonb) -> text", "The document with a line for each member.", family=_FAMILY)
def pretty(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: _lines(parse_json(text), 0), value)


def _without_nulls(text: str, in_arrays: bool) -> str:
    """json without members that are null, spaces gone, all else as it was written."""
    kind, members = members_within(text)
    if kind == "scalar":
        return text.strip()
    kept = [(key, _without_nulls(item, in_arrays)) for key, item in members if item.strip() != "null"]
    if kind == "object":
        return "{" + ",".join(f"{json_string(str(key))}:{item}" for key, item in kept) + "}"
    if in_arrays:
        return "[" + ",".join(item for _, item in kept) + "]"
    return "[" + ",".join(_without_nulls(item, in_arrays) for _, item in members) + "]"


@define("json_strip_nulls(json) -> json", "Without members that are null.", family=_FAMILY)
def json_strip_nulls(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: _without_nulls(text, False), value)


def _object(pairs: list[tuple[str | None, str | None]], is_binary: bool) -> str:
    if any(key is None for key, _ in pairs):
        raise BadLiteral("22004", "null value not allowed for object key")
    if is_binary:
        return jsonb_text({str(key): item for key, item in pairs})
    texts = (f"{json_string(str(key))} : {'null' if item is None else json_string(item)}" for key, item in pairs)
    return "{" + ", ".join(texts) + "}"


@define(
    "json_object(text[]) -> json; jsonb_object(text[]) -> jsonb",
    "An object of an array of keys and values in turn.",
    family=_FAMILY,
)
def object_of_pairs(context: CallContext, items: pl.Expr) -> pl.Expr:
    is_binary = context.result.name == "jsonb"

    def build(texts: list[str | None]) -> str:
        if len(texts) % 2:
            raise BadLiteral("2202E", "array must have even number of elements")
        return _object(list(zip(texts[::2], texts[1::2], strict=True)), is_binary)

    return context.rowwise(build, items)


@define(
    "json_object(text[], text[]) -> json; jsonb_object(text[], text[]) -> jsonb",
    "An object of an array of keys and one of values.",
    family=_FAMILY,
)
def object_of_two(context: CallContext, keys: pl.Expr, values: pl.Expr) -> pl.Expr:
    is_binary = context.result.name == "jsonb"

    def build(names: list[str | None], texts: list[str | None]) -> str:
        if len(names) != len(texts):
            raise BadLiteral("2202E", "mismatched array dimensions")
        return _object(list(zip(names, texts, strict=True)), is_binary)

    return context.rowwise(build, keys, values)
