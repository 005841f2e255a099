"""JSON: members by key, index and path. Values travel as JSON text; jsonb's is normalised, json's as written."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.flat_documents import flat_member
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
from query.pg.json_text import Json, jsonb_text, number_text, parse_binary, parse_json, raw_members, require_characters

_FAMILY = "JSON"
_MISSING = object()
_INDEX: Final = re.compile(r"[ \t\n\r\v\f]*[-+]?[0-9]+")


def _binary(context: CallContext) -> bool:
    return context.types[0].name == "jsonb"


def _member(text: str, key: str | int) -> str | None:
    """The JSON text of a member, None if there is none. Of json it is as written."""
    require_characters(text)
    if (isinstance(key, str) and text[:1] != "{") or (isinstance(key, int) and text[:1] != "["):
        stripped = text.lstrip(" \t\n\r")
        if stripped[:1] != ("{" if isinstance(key, str) else "["):
            return None
    json_type, members = raw_members(text)
    if isinstance(key, str):
        values = [item for name, item in members if name == key] if json_type == "object" else []
        return values[-1] if values else None
    if json_type != "array" or not -len(members) <= key < len(members):
        return None
    return members[key][1]


def _binary_member(text: str, key: str | int) -> object:
    value = parse_json(text)
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key, _MISSING)
    if isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    if not isinstance(value, dict | list) and key in (0, -1):
        return value
    return _MISSING


def _member_text(value: object) -> str | None:
    """A member as ->> gives it."""
    if value is _MISSING or value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | Decimal) else jsonb_text(value)  # type: ignore[arg-type]


def text_of(text: str | None) -> str | None:
    """A JSON text as ->> gives it: strings bare, null as NULL."""
    if text is None or text == "null":
        return None
    if text[:1] == '"':
        value = parse_binary(text)
        return value if isinstance(value, str) else None
    return text


def _get(context: CallContext, text: str, key: str | int) -> str | None:
    if not _binary(context):
        return _member(text, key)
    value = _binary_member(text, key)
    return None if value is _MISSING else jsonb_text(value)  # type: ignore[arg-type]


@define(
    "->(json, text) -> json; ->(json, int4) -> json; ->(jsonb, text) -> jsonb; ->(jsonb, int4) -> jsonb",
    "Member by key or index as JSON.",
    family=_FAMILY,
)
def member(context: CallContext, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    by_key = partial(_by_key, context, lambda text, one: _get(context, text, one))
    return flat_member(value, context.constant(1), by_key, key, as_text=False)


@define(
    "->>(json, text) -> text; ->>(json, int4) -> text; ->>(jsonb, text) -> text; ->>(jsonb, int4) -> text",
    "Member by key or index as text.",
    family=_FAMILY,
)
def member_text(context: CallContext, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    def read(text: str, name: Any) -> str | None:
        return _member_text(_binary_member(text, name)) if _binary(context) else text_of(_member(text, name))

    return flat_member(value, context.constant(1), partial(_by_key, context, read), key, as_text=True)


@define("jsonb subscript(jsonb, text) -> jsonb", "`a['key']`, `a[0]`: a member of jsonb.", family=_FAMILY)
def subscript(context: CallContext, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    """A key is read as an index where the document is an array; a scalar has no members (jsonb_get_element)."""

    def read(text: str, key: str) -> str | None:
        member = _walk(text, [key])
        return None if member is _MISSING else jsonb_text(member)  # type: ignore[arg-type]

    return _by_key(context, read, value, key)


def _by_key(context: CallContext, read: Callable[[str, Any], str | None], value: pl.Expr, key: pl.Expr) -> pl.Expr:
    """`read` over documents and keys; a constant key leaves the documents as the only thing that varies."""
    constant = context.constant(1)
    return (
        context.rowwise(read, value, key)
        if constant is None
        else context.rowwise(lambda text: read(text, constant), value)
    )


def _walk(text: str, path: list[str | None]) -> object:
    value: object = parse_json(text)
    for step in path:
        if step is None:
            return _MISSING
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _walk_raw(text: str, path: list[str | None]) -> str | None:
    require_characters(text)
    current: str | None = text.strip(" \t\n\r")
    for step in path:
        if current is None or step is None:
            return None
        is_index = current[:1] == "[" and _INDEX.fullmatch(step)
        current = _member(current, int(step) if is_index else step)
    return current


def _path_json(context: CallContext, text: str, path: list[str | None]) -> str | None:
    if not _binary(context):
        return _walk_raw(text, path)
    value = _walk(text, path)
    return None if value is _MISSING else jsonb_text(value)  # type: ignore[arg-type]


def _path_text(context: CallContext, text: str, path: list[str | None]) -> str | None:
    return _member_text(_walk(text, path)) if _binary(context) else text_of(_walk_raw(text, path))


@define("#>(json, text[]) -> json; #>(jsonb, text[]) -> jsonb", "Member by path as JSON.", family=_FAMILY)
def at_path(context: CallContext, value: pl.Expr, path: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, steps: _path_json(context, text, steps), value, path)


@define("#>>(json, text[]) -> text; #>>(jsonb, text[]) -> text", "Member by path as text.", family=_FAMILY)
def at_path_text(context: CallContext, value: pl.Expr, path: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, steps: _path_text(context, text, steps), value, path)


@define(
    "json_extract_path(json, text...) -> json; jsonb_extract_path(jsonb, text...) -> jsonb",
    "Member by path as JSON.",
    family=_FAMILY,
)
def extract_path(context: CallContext, value: pl.Expr, *path: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, *steps: _path_json(context, text, list(steps)), value, *path)


@define(
    "json_extract_path_text(json, text...) -> text; jsonb_extract_path_text(jsonb, text...) -> text",
    "Member by path as text.",
    family=_FAMILY,
)
def extract_path_text(context: CallContext, value: pl.Expr, *path: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, *steps: _path_text(context, text, list(steps)), value, *path)


def _type_of(text: str) -> str:
    value = parse_json(text)
    names: list[tuple[type, str]] = [(dict, "object"), (list, "array"), (str, "string"), (bool, "boolean")]
    if value is None:
        return "null"
    return next((name for kind, name in names if isinstance(value, kind)), "number")


@define(
    "json_typeof(json) -> text; jsonb_typeof(jsonb) -> text",
    "object, array, string, number, boolean or null.",
    family=_FAMILY,
)
def typeof(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(_type_of, value)


def _array(text: str) -> list[Json]:
    value = parse_json(text)
    if isinstance(value, dict):
        raise BadLiteral(fault.INVALID_PARAMETER, "cannot get array length of a non-array")
    if not isinstance(value, list):
        raise BadLiteral(fault.INVALID_PARAMETER, "cannot get array length of a scalar")
    return value


@define("json_array_length(json) -> int4; jsonb_array_length(jsonb) -> int4", "Number of elements.", family=_FAMILY)
def array_length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: len(_array(text)), value)
