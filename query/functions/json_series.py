"""JSON: the elements and members of a document as rows."""

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.json_members import text_of
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
from query.pg.json_text import members_within, raw_members, require_characters
from query.pg.types import TEXT, PgType, array_of

_FAMILY = "JSON"


def _array_of_first(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


def _elements(context: CallContext, text: str) -> list[str]:
    json_type, members = raw_members(text)
    if json_type != "array":
        noun = "a scalar" if json_type == "scalar" else "an object"
        raise BadLiteral(fault.INVALID_PARAMETER, f"cannot extract elements from {noun}")
    return [item for _, item in members]


@define(
    "json_array_elements(json) -> json[]; jsonb_array_elements(jsonb) -> jsonb[]",
    "Elements as rows.",
    family=_FAMILY,
    result=_array_of_first,
)
def elements(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: _elements(context, text), value)


def _texts(types: tuple[PgType, ...]) -> PgType:
    return array_of(TEXT)


def _texts_within(context: CallContext, text: str) -> list[str]:
    """The elements; a bad escape in one of them is an error, even if that is not text."""
    require_characters(text)
    return _elements(context, text)


@define(
    "json_array_elements_text(json) -> text[]; jsonb_array_elements_text(jsonb) -> text[]",
    "Elements as rows of text.",
    family=_FAMILY,
    result=_texts,
)
def elements_text(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: [text_of(item) for item in _texts_within(context, text)], value)


def _members(context: CallContext, text: str, function: str) -> list[tuple[str, str]]:
    json_type, members = members_within(text)
    if json_type != "object":
        noun = "a scalar" if json_type == "scalar" else "an array"
        raise BadLiteral(fault.INVALID_PARAMETER, f"cannot call {function} on {noun}")
    return [(str(name), item) for name, item in members]


@define(
    "json_object_keys(json) -> text[]; jsonb_object_keys(jsonb) -> text[]",
    "Keys as rows.",
    family=_FAMILY,
    result=_texts,
)
def object_keys(context: CallContext, value: pl.Expr) -> pl.Expr:
    name = f"{context.types[0].name}_object_keys"
    return context.rowwise(lambda text: [key for key, _ in _members(context, text, name)], value)


@define(
    "json_each values(json) -> json[]; jsonb_each values(jsonb) -> jsonb[]",
    "The values of json_each and jsonb_each.",
    family=_FAMILY,
    result=_array_of_first,
)
def each_values(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: [item for _, item in _members(context, text, "each")], value)


@define(
    "json_each_text values(json) -> text[]; jsonb_each_text values(jsonb) -> text[]",
    "The values of json_each_text and jsonb_each_text.",
    family=_FAMILY,
    result=_texts,
)
def each_text_values(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: [text_of(item) for _, item in _members(context, text, "each_text")], value)
