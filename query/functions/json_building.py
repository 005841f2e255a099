"""JSON built from values."""

import polars as pl

from query import fault
from query.expr.json_values import quoted, to_json
from query.functions.registry import Site, define
from query.pg.json_text import jsonb_text, parse_json

_FAMILY = "JSON"


@define(
    "to_json(any) -> json; to_jsonb(any) -> jsonb; array_to_json(anyarray) -> json",
    "The value as JSON.",
    family=_FAMILY,
)
def as_json(site: Site, value: pl.Expr) -> pl.Expr:
    return to_json(site, value, site.types[0], site.result.name == "jsonb")


def _item(site: Site, index: int, value: pl.Expr) -> pl.Expr:
    return to_json(site, value, site.types[index], site.result.name == "jsonb").fill_null("null")


def _normalised(site: Site, text: pl.Expr) -> pl.Expr:
    if site.result.name != "jsonb":
        return text
    return site.rowwise(lambda written: jsonb_text(parse_json(written)), text)


def _built(parts: list[pl.Expr], opening: str, closing: str) -> pl.Expr:
    return pl.concat_str([pl.lit(opening), *parts, pl.lit(closing)])


@define(
    "json_build_array() -> json; jsonb_build_array() -> jsonb; "
    "json_build_array(any...) -> json; jsonb_build_array(any...) -> jsonb",
    "Array of the arguments.",
    family=_FAMILY,
    strict=False,
)
def build_array(site: Site, *values: pl.Expr) -> pl.Expr:
    parts: list[pl.Expr] = []
    for index, value in enumerate(values):
        parts += [pl.lit(", ")] if index else []
        parts.append(_item(site, index, value))
    return _normalised(site, _built(parts, "[", "]"))


@define(
    "json_build_object() -> json; jsonb_build_object() -> jsonb; "
    "json_build_object(any...) -> json; jsonb_build_object(any...) -> jsonb",
    "Object of keys and values.",
    family=_FAMILY,
    strict=False,
)
def build_object(site: Site, *values: pl.Expr) -> pl.Expr:
    if len(values) % 2:
        message = "argument list must have even number of elements"
        raise fault.invalid(fault.INVALID_PARAMETER, message, site.position)
    parts: list[pl.Expr] = []
    for index in range(0, len(values), 2):
        if site.types[index].name != "text":
            raise fault.unsupported("a key that is not text", site.position)
        parts += [pl.lit(", ")] if index else []
        key = site.trap(values[index], values[index].is_null(), f"null_{site.result.name}_key")
        parts += [site.rowwise(quoted, key), pl.lit(" : "), _item(site, index + 1, values[index + 1])]
    return _normalised(site, _built(parts, "{", "}"))
