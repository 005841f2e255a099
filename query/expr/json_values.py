"""SQL values -> JSON texts."""

import json
from dataclasses import replace

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.special_numbers import names, ordinary
from query.expr.text_output import float_text, numeric_digits, output_text, to_text
from query.pg.json_text import normalise
from query.pg.types import PgType


def json_string(text: str) -> str:
    """A JSON string literal."""
    return json.dumps(text, ensure_ascii=False)


def to_json(context: CallContext, value: pl.Expr, pg_type: PgType, binary: bool) -> pl.Expr:
    """The result of to_json (`binary`: to_jsonb): SQL NULL stays NULL."""
    if pg_type.element is not None:
        return _array(context, value, pg_type.element, binary)
    match pg_type.name:
        case "record":
            return _record(context, value, pg_type, binary)
        case "json":
            return context.rowwise(normalise, value) if binary else value
        case "jsonb":
            return value
        case "bool" | "int2" | "int4" | "int8":
            return to_text(context, value, pg_type)
        case "float8":
            return _float(context, value, binary)
        case "numeric" if pg_type.special:
            number = to_json(context, ordinary(value), replace(pg_type, special=False), binary)
            return pl.coalesce(pl.lit('"') + names(value) + pl.lit('"'), number)
        case "numeric":
            if pg_type.exact:
                return numeric_digits(value, pg_type.scale) if pg_type.scale else value.cast(pl.String)
            raise fault.unsupported(
                "JSON of a numeric whose number of digits depends on the data", None, "round it, or cast to float8"
            )
        case "timestamp" | "timestamptz":
            text = to_text(context, value, pg_type).str.replace(" ", "T", literal=True)
            text = text + pl.lit(":00") if pg_type.name == "timestamptz" else text
            return pl.lit('"') + text + pl.lit('"')
        case _:
            return context.rowwise(json_string, output_text(context, value, pg_type))


def _record(context: CallContext, value: pl.Expr, pg_type: PgType, binary: bool) -> pl.Expr:
    """A row as an object; columns without a name are f1, f2."""
    parts: list[pl.Expr] = [pl.lit("{")]
    for index, part in enumerate(pg_type.fields):
        name = pg_type.names[index] if pg_type.names else f"f{index + 1}"
        item = to_json(context, value.struct.field(f"f{index}"), part, binary).fill_null("null")
        parts += [pl.lit(f"{',' if index else ''}{json_string(name)}:"), item]
    text = pl.when(value.is_not_null()).then(pl.concat_str([*parts, pl.lit("}")]))
    return context.rowwise(normalise, text) if binary else text


def _float(context: CallContext, value: pl.Expr, binary: bool) -> pl.Expr:
    if binary:
        return context.rowwise(_binary_number, value)
    text = to_text(context, value, PgType("float8"))
    return pl.when(value.is_finite()).then(text).otherwise(pl.lit('"') + text + pl.lit('"'))


def _binary_number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return json_string(float_text(value))
    return normalise(repr(value).removesuffix(".0"))


def _array(context: CallContext, value: pl.Expr, element: PgType, binary: bool) -> pl.Expr:
    inner = CallContext((element,), context.result, context.position)
    items = value.list.eval(to_json(inner, pl.element(), element, binary).fill_null("null"))
    return pl.lit("[") + items.list.join(", " if binary else ",") + pl.lit("]")
