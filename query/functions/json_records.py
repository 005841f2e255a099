"""The objects of JSON documents that become rows: jsonb_to_recordset and its kin."""

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
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
