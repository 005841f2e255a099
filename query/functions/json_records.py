"""The objects of JSON documents that become rows: jsonb_to_recordset and its kin."""

from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.json_members import text_of
from query.functions.registry import define
from query.pg.array_input import array_items
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.json_text import members_within, parse_json
from query.pg.types import PgType, array_of

_FAMILY = "JSON"


def _objects(text: str) -> list[str]:
    """The elements of an array of objects, as they are written."""
    kind, members = members_within(text)
    if kind != "array":
        raise BadLiteral(fault.INVALID_PARAMETER, f"cannot make rows of a JSON {kind}")
    for _, item in members:
        if not isinstance(parse_json(item), dict):
            raise BadLiteral(fault.INVALID_PARAMETER, "rows are made of an array of objects")
    return [item for _, item in members]


def _rows(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


@define("json rows(json) -> json; json rows(jsonb) -> jsonb", "The objects of an array.", family=_FAMILY, result=_rows)
def rows(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(_objects, value)


@define("json row(json) -> json; json row(jsonb) -> jsonb", "The object itself.", family=_FAMILY, result=_rows)
def row(context: CallContext, value: pl.Expr) -> pl.Expr:
    def single(text: str) -> list[str]:
        if not isinstance(parse_json(text), dict):
            raise BadLiteral(fault.INVALID_PARAMETER, "a row is made of a JSON object")
        return [text]

    return context.rowwise(single, value)


def _literal(text: str, keeps_json: bool) -> str:
    """A JSON array as an array literal of texts; a string is one already (populate_array)."""
    kind, members = members_within(text)
    if kind == "array":
        return "{" + ",".join(_literal_item(item, keeps_json) for _, item in members) + "}"
    stripped = text.strip(" \t\n\r")
    if stripped[:1] != '"':
        raise BadLiteral(fault.INVALID_TEXT, "expected JSON array")
    return str(text_of(stripped))


def _literal_item(text: str, keeps_json: bool) -> str:
    if text[:1] == "[":
        return _literal(text, keeps_json)
    if text == "null":
        return "NULL"
    shown = text if keeps_json else str(text_of(text))
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


ITEMS: Final = {name: f"json items({name}, int4!, bool!)" for name in ("json", "jsonb")}


@define(
    "; ".join(f"{form} -> text[]" for form in ITEMS.values()),
    "The texts in an array of so many dimensions; the JSON of each, if the third argument is true.",
    family=_FAMILY,
)
def items(context: CallContext, value: pl.Expr, count: object, keeps_json: object) -> pl.Expr:
    def read(text: str) -> object:
        if text.strip(" \t\n\r") == "null":
            return None
        found = array_items(_literal(text, bool(keeps_json)))
        if found.items and len(found.sizes) != count:
            raise UnsupportedLiteral("a JSON array with another number of dimensions than the column")
        return found.items

    return context.rowwise(read, value)
