"""jsonb: what a document contains, and documents changed."""

import re
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.registry import argument_names, define
from query.pg.bad_values import BadLiteral
from query.pg.json_text import Json, jsonb_text, parse_json

_FAMILY = "JSON"


def _contains(left: Json, right: Json, top: bool = True) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return all(key in left and _contains(left[key], item, False) for key, item in right.items())
    if isinstance(left, list) and isinstance(right, list):
        return all(any(_contains(mine, item, False) for mine in left) for item in right)
    if isinstance(left, list) and top and not isinstance(right, dict):
        return any(_same(mine, right) for mine in left)
    return _same(left, right)


def _same(left: Json, right: Json) -> bool:
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return False
    return isinstance(left, bool) == isinstance(right, bool) and left == right


@define("@>(jsonb, jsonb) -> bool", "Contains.", family=_FAMILY)
def contains(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda a, b: _contains(parse_json(a), parse_json(b)), left, right)


@define("<@(jsonb, jsonb) -> bool", "Is contained.", family=_FAMILY)
def is_contained(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return contains(context, right, left)


def _has(text: str, key: str) -> bool:
    value = parse_json(text)
    if isinstance(value, dict):
        return key in value
    if isinstance(value, list):
        return any(isinstance(item, str) and item == key for item in value)
    return isinstance(value, str) and value == key


@define("?(jsonb, text) -> bool; jsonb_exists(jsonb, text) -> bool", "Has a key.", family=_FAMILY)
def has_key(context: CallContext, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return context.rowwise(_has, value, key)


@define("?|(jsonb, text[]) -> bool", "Has any of the keys.", family=_FAMILY)
def has_any(context: CallContext, value: pl.Expr, keys: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, some: any(_has(text, key) for key in some if key is not None), value, keys)


@define("?&(jsonb, text[]) -> bool", "Has all of the keys.", family=_FAMILY)
def has_all(context: CallContext, value: pl.Expr, keys: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text, some: all(_has(text, key) for key in some if key is not None), value, keys)


def _merge(left: str, right: str) -> str:
    a, b = parse_json(left), parse_json(right)
    if isinstance(a, dict) and isinstance(b, dict):
        return jsonb_text({**a, **b})
    lists = [item if isinstance(item, list) else [item] for item in (a, b)]
    return jsonb_text([*lists[0], *lists[1]])


@define("||(jsonb, jsonb) -> jsonb", "Members of both; those of the right win.", family=_FAMILY)
def merge_objects(context: CallContext, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return context.rowwise(_merge, left, right)


def _without(text: str, key: str | int) -> str:
    value = parse_json(text)
    if isinstance(value, dict) and isinstance(key, str):
        return jsonb_text({name: item for name, item in value.items() if name != key})
    if isinstance(value, list) and isinstance(key, str):
        return jsonb_text([item for item in value if item != key])
    if isinstance(value, list) and isinstance(key, int):
        index = key if key >= 0 else len(value) + key
        return jsonb_text([item for position, item in enumerate(value) if position != index])
    noun = "object using integer index" if isinstance(value, dict) else "scalar"
    raise BadLiteral(fault.INVALID_PARAMETER, f"cannot delete from {noun}")


@define("-(jsonb, text) -> jsonb; -(jsonb, int4) -> jsonb", "Without a key or an element.", family=_FAMILY)
def without(context: CallContext, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return context.rowwise(_without, value, key)


@define("-(jsonb, text[]) -> jsonb", "Without any of the keys.", family=_FAMILY)
def without_keys(context: CallContext, value: pl.Expr, keys: pl.Expr) -> pl.Expr:
    def changed(text: str, some: list[str | None]) -> str:
        for key in some:
            text = text if key is None else _without(text, key)
        if not some and not isinstance(parse_json(text), dict | list):
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot delete from scalar")
        return text

    return context.rowwise(changed, value, keys)


def _strip_nulls(value: Json, in_arrays: bool) -> Json:
    if isinstance(value, dict):
        return {key: _strip_nulls(item, in_arrays) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_strip_nulls(item, in_arrays) for item in value if item is not None or not in_arrays]
    return value


@define(
    "jsonb_strip_nulls(jsonb) -> jsonb; jsonb_strip_nulls(jsonb, bool!) -> jsonb",
    "Without members that are null, and without such elements of arrays if the second argument is true.",
    family=_FAMILY,
)
def strip_nulls(context: CallContext, value: pl.Expr, in_arrays: object = False) -> pl.Expr:
    return context.rowwise(lambda text: jsonb_text(_strip_nulls(parse_json(text), bool(in_arrays))), value)


_INDEX: Final = re.compile(r"[ \t\n\r\v\f]*[-+]?[0-9]+")


def _set_at(value: Json, path: list[str | None], new: Json, create: bool, depth: int = 0) -> Json:
    """jsonb_set: the member at `path` replaced, or made if only the last step is missing."""
    step, last = path[depth], depth == len(path) - 1
    if step is None:
        raise BadLiteral("22004", f"path element at position {depth + 1} is null")
    if isinstance(value, dict):
        if step in value:
            return {**value, step: new if last else _set_at(value[step], path, new, create, depth + 1)}
        return {**value, step: new} if last and create else value
    if not isinstance(value, list):
        return value
    index = _index_of(step, len(value), depth)
    if 0 <= index < len(value):
        inner = new if last else _set_at(value[index], path, new, create, depth + 1)
        return [*value[:index], inner, *value[index + 1 :]]
    if not (last and create):
        return value
    return [new, *value] if index < 0 else [*value, new]


def _index_of(step: str, size: int, depth: int) -> int:
    """An index of an array of that size; negative ones count from the end."""
    if not _INDEX.fullmatch(step) or not -(2**31) <= int(step) < 2**31:
        raise BadLiteral(fault.INVALID_TEXT, f'path element at position {depth + 1} is not an integer: "{step[:60]}"')
    index = int(step)
    return index if index >= 0 else index + size


@define(
    "jsonb_set(jsonb, text[], jsonb) -> jsonb; jsonb_set(jsonb, text[], jsonb, bool) -> jsonb",
    "With the member at a path replaced, or added if it is missing, unless the fourth argument is false.",
    family=_FAMILY,
)
def set_member(context: CallContext, value: pl.Expr, path: pl.Expr, new: pl.Expr, *create: pl.Expr) -> pl.Expr:
    def changed(text: str, steps: list[str | None], item: str, makes: bool = True) -> str:
        document = parse_json(text)
        if not isinstance(document, dict | list):
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot set path in scalar")
        changes = bool(steps) and (makes or bool(document))
        return jsonb_text(_set_at(document, steps, parse_json(item), makes) if changes else document)

    return context.rowwise(changed, value, path, new, *create)


def _insert_at(value: Json, path: list[str | None], new: Json, after: bool, depth: int = 0) -> Json:
    """jsonb_insert: a new member at `path`, in an array before or after what is there."""
    step, last = path[depth], depth == len(path) - 1
    if step is None:
        raise BadLiteral("22004", f"path element at position {depth + 1} is null")
    if isinstance(value, dict):
        if not last:
            return {**value, step: _insert_at(value[step], path, new, after, depth + 1)} if step in value else value
        if step in value:
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot replace existing key")
        return {**value, step: new}
    if not isinstance(value, list):
        return value
    index = _index_of(step, len(value), depth)
    if last:
        place = min(max(index + (after and index >= 0), 0), len(value))
        return [*value[:place], new, *value[place:]]
    if not 0 <= index < len(value):
        return value
    return [*value[:index], _insert_at(value[index], path, new, after, depth + 1), *value[index + 1 :]]


@define(
    "jsonb_insert(jsonb, text[], jsonb) -> jsonb; jsonb_insert(jsonb, text[], jsonb, bool) -> jsonb",
    "With a value inserted at a path, in an array before what is there, or behind it if the fourth argument is true.",
    family=_FAMILY,
)
def insert_member(context: CallContext, value: pl.Expr, path: pl.Expr, new: pl.Expr, *after: pl.Expr) -> pl.Expr:
    def changed(text: str, steps: list[str | None], item: str, behind: bool = False) -> str:
        document = parse_json(text)
        if not isinstance(document, dict | list):
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot set path in scalar")
        return jsonb_text(_insert_at(document, steps, parse_json(item), behind) if steps else document)

    return context.rowwise(changed, value, path, new, *after)


def _delete(value: Json, path: list[str | None], depth: int = 0) -> Json:
    step, last = path[depth], depth == len(path) - 1
    if step is None:
        raise BadLiteral("22004", f"path element at position {depth + 1} is null")
    if isinstance(value, dict) and step in value:
        rest = {name: item for name, item in value.items() if name != step}
        return rest if last else {**value, step: _delete(value[step], path, depth + 1)}
    if not isinstance(value, list):
        return value
    index = _index_of(step, len(value), depth)
    if not 0 <= index < len(value):
        return value
    replacement = [] if last else [_delete(value[index], path, depth + 1)]
    return [*value[:index], *replacement, *value[index + 1 :]]


@define("#-(jsonb, text[]) -> jsonb; jsonb_delete_path(jsonb, text[]) -> jsonb", "Without a path.", family=_FAMILY)
def without_path(context: CallContext, value: pl.Expr, path: pl.Expr) -> pl.Expr:
    def changed(text: str, steps: list[str | None]) -> str:
        document = parse_json(text)
        if not isinstance(document, dict | list):
            raise BadLiteral(fault.INVALID_PARAMETER, "cannot delete path in scalar")
        return jsonb_text(_delete(document, steps) if steps and document else document)

    return context.rowwise(changed, value, path)


argument_names("jsonb_insert", "jsonb_in, path, replacement, insert_after")
argument_names("jsonb_set", "jsonb_in, path, replacement, create_if_missing")
argument_names("json_strip_nulls, jsonb_strip_nulls", "target, strip_in_arrays")
