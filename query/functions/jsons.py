"""JSON operators and functions. Values travel as JSON text; jsonb's is normalised, json's as written."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl

from query import fault
from query.bind.literals import BadLiteral
from query.functions.registry import Site, define
from query.jsontext import Json, jsonb_text, number_text, parse_json, raw_members
from query.lower.jsonvalues import quoted, to_json
from query.types import TEXT, PgType, array_of

_FAMILY = "JSON"
_MISSING = object()


def _binary(site: Site) -> bool:
    return site.types[0].name == "jsonb"


def _member(text: str, key: str | int) -> str | None:
    """The JSON text of a member, None if there is none. Of json it is as written."""
    if (isinstance(key, str) and text[:1] != "{") or (isinstance(key, int) and text[:1] != "["):
        stripped = text.lstrip(" \t\n\r")
        if stripped[:1] != ("{" if isinstance(key, str) else "["):
            return None
    kind, members = raw_members(text)
    if isinstance(key, str):
        found = [item for name, item in members if name == key] if kind == "object" else []
        return found[-1] if found else None
    if kind != "array" or not -len(members) <= key < len(members):
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


def _shown(value: object) -> str | None:
    """A member as ->> gives it."""
    if value is _MISSING or value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | Decimal) else jsonb_text(value)  # type: ignore[arg-type]


def _text_of(text: str | None) -> str | None:
    """A JSON text as ->> gives it: strings bare, null as NULL."""
    if text is None or text == "null":
        return None
    if text[:1] == '"':
        value = parse_json(text)
        return value if isinstance(value, str) else None
    return text


def _get(site: Site, text: str, key: str | int) -> str | None:
    if not _binary(site):
        return _member(text, key)
    value = _binary_member(text, key)
    return None if value is _MISSING else jsonb_text(value)  # type: ignore[arg-type]


@define(
    "->(json, text) -> json; ->(json, int4) -> json; ->(jsonb, text) -> jsonb; ->(jsonb, int4) -> jsonb",
    "Member by key or index as JSON.",
    family=_FAMILY,
)
def member(site: Site, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return _by_key(site, lambda text, one: _get(site, text, one), value, key)


@define(
    "->>(json, text) -> text; ->>(json, int4) -> text; ->>(jsonb, text) -> text; ->>(jsonb, int4) -> text",
    "Member by key or index as text.",
    family=_FAMILY,
)
def member_text(site: Site, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    if _binary(site):
        return _by_key(site, lambda text, one: _shown(_binary_member(text, one)), value, key)
    return _by_key(site, lambda text, one: _text_of(_member(text, one)), value, key)


def _by_key(site: Site, read: Callable[[str, Any], str | None], value: pl.Expr, key: pl.Expr) -> pl.Expr:
    """`read` over documents and keys; a constant key leaves the documents as the only thing that varies."""
    constant = site.constant(1)
    return (
        site.rowwise(read, value, key) if constant is None else site.rowwise(lambda text: read(text, constant), value)
    )


def _walk(text: str, path: list[str | None]) -> object:
    value: object = parse_json(text)
    for step in path:
        if step is None:
            return _MISSING
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _walk_raw(text: str, path: list[str | None]) -> str | None:
    current: str | None = text.strip(" \t\n\r")
    for step in path:
        if current is None or step is None:
            return None
        is_index = current[:1] == "[" and step.lstrip("-").isdigit()
        current = _member(current, int(step) if is_index else step)
    return current


def _path_json(site: Site, text: str, path: list[str | None]) -> str | None:
    if not _binary(site):
        return _walk_raw(text, path)
    value = _walk(text, path)
    return None if value is _MISSING else jsonb_text(value)  # type: ignore[arg-type]


def _path_text(site: Site, text: str, path: list[str | None]) -> str | None:
    return _shown(_walk(text, path)) if _binary(site) else _text_of(_walk_raw(text, path))


@define("#>(json, text[]) -> json; #>(jsonb, text[]) -> jsonb", "Member by path as JSON.", family=_FAMILY)
def at_path(site: Site, value: pl.Expr, path: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, steps: _path_json(site, text, steps), value, path)


@define("#>>(json, text[]) -> text; #>>(jsonb, text[]) -> text", "Member by path as text.", family=_FAMILY)
def at_path_text(site: Site, value: pl.Expr, path: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, steps: _path_text(site, text, steps), value, path)


@define(
    "json_extract_path(json, text...) -> json; jsonb_extract_path(jsonb, text...) -> jsonb",
    "Member by path as JSON.",
    family=_FAMILY,
)
def extract_path(site: Site, value: pl.Expr, *path: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, *steps: _path_json(site, text, list(steps)), value, *path)


@define(
    "json_extract_path_text(json, text...) -> text; jsonb_extract_path_text(jsonb, text...) -> text",
    "Member by path as text.",
    family=_FAMILY,
)
def extract_path_text(site: Site, value: pl.Expr, *path: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, *steps: _path_text(site, text, list(steps)), value, *path)


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
def typeof(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(_type_of, value)


def _array(text: str) -> list[Json]:
    value = parse_json(text)
    if isinstance(value, dict):
        raise BadLiteral(fault.INVALID_PARAMETER, "cannot get array length of a non-array")
    if not isinstance(value, list):
        raise BadLiteral(fault.INVALID_PARAMETER, "cannot get array length of a scalar")
    return value


@define("json_array_length(json) -> int4; jsonb_array_length(jsonb) -> int4", "Number of elements.", family=_FAMILY)
def array_length(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: len(_array(text)), value)


def _array_of_first(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


def _elements(site: Site, text: str) -> list[str]:
    kind, members = raw_members(text)
    if kind != "array":
        noun = "a scalar" if kind == "scalar" else "an object"
        raise BadLiteral(fault.INVALID_PARAMETER, f"cannot extract elements from {noun}")
    return [item for _, item in members]


@define(
    "json_array_elements(json) -> json[]; jsonb_array_elements(jsonb) -> jsonb[]",
    "Elements as rows.",
    family=_FAMILY,
    result=_array_of_first,
)
def elements(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: _elements(site, text), value)


def _texts(types: tuple[PgType, ...]) -> PgType:
    return array_of(TEXT)


@define(
    "json_array_elements_text(json) -> text[]; jsonb_array_elements_text(jsonb) -> text[]",
    "Elements as rows of text.",
    family=_FAMILY,
    result=_texts,
)
def elements_text(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: [_text_of(item) for item in _elements(site, text)], value)


def _members(site: Site, text: str, function: str) -> list[tuple[str, str]]:
    kind, members = raw_members(text)
    if kind != "object":
        noun = "a scalar" if kind == "scalar" else "an array"
        raise BadLiteral(fault.INVALID_PARAMETER, f"cannot call {function} on {noun}")
    return [(str(name), item) for name, item in members]


@define(
    "json_object_keys(json) -> text[]; jsonb_object_keys(jsonb) -> text[]",
    "Keys as rows.",
    family=_FAMILY,
    result=_texts,
)
def object_keys(site: Site, value: pl.Expr) -> pl.Expr:
    name = f"{site.types[0].name}_object_keys"
    return site.rowwise(lambda text: [key for key, _ in _members(site, text, name)], value)


@define(
    "json_each values(json) -> json[]; jsonb_each values(jsonb) -> jsonb[]",
    "The values of json_each and jsonb_each.",
    family=_FAMILY,
    result=_array_of_first,
)
def each_values(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: [item for _, item in _members(site, text, "each")], value)


@define(
    "json_each_text values(json) -> text[]; jsonb_each_text values(jsonb) -> text[]",
    "The values of json_each_text and jsonb_each_text.",
    family=_FAMILY,
    result=_texts,
)
def each_text_values(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: [_text_of(item) for _, item in _members(site, text, "each_text")], value)


# --- containment ---------------------------------------------------------------------------------------------------


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
def contains(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda a, b: _contains(parse_json(a), parse_json(b)), left, right)


@define("<@(jsonb, jsonb) -> bool", "Is contained.", family=_FAMILY)
def contained(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return contains(site, right, left)


def _has(text: str, key: str) -> bool:
    value = parse_json(text)
    if isinstance(value, dict):
        return key in value
    if isinstance(value, list):
        return any(isinstance(item, str) and item == key for item in value)
    return isinstance(value, str) and value == key


@define("?(jsonb, text) -> bool; jsonb_exists(jsonb, text) -> bool", "Has a key.", family=_FAMILY)
def has_key(site: Site, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return site.rowwise(_has, value, key)


@define("?|(jsonb, text[]) -> bool", "Has any of the keys.", family=_FAMILY)
def has_any(site: Site, value: pl.Expr, keys: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, some: any(_has(text, key) for key in some if key is not None), value, keys)


@define("?&(jsonb, text[]) -> bool", "Has all of the keys.", family=_FAMILY)
def has_all(site: Site, value: pl.Expr, keys: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, some: all(_has(text, key) for key in some if key is not None), value, keys)


# --- changing ------------------------------------------------------------------------------------------------------


def _merged(left: str, right: str) -> str:
    a, b = parse_json(left), parse_json(right)
    if isinstance(a, dict) and isinstance(b, dict):
        return jsonb_text({**a, **b})
    if isinstance(a, dict) != isinstance(b, dict) and not (isinstance(a, list) or isinstance(b, list)):
        raise BadLiteral(fault.INVALID_PARAMETER, "invalid concatenation of jsonb objects")
    lists = [item if isinstance(item, list) else [item] for item in (a, b)]
    return jsonb_text([*lists[0], *lists[1]])


@define("||(jsonb, jsonb) -> jsonb", "Members of both; those of the right win.", family=_FAMILY)
def merged(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return site.rowwise(_merged, left, right)


def _without(text: str, key: str | int) -> str:
    value = parse_json(text)
    if isinstance(value, dict) and isinstance(key, str):
        return jsonb_text({name: item for name, item in value.items() if name != key})
    if isinstance(value, list) and isinstance(key, str):
        return jsonb_text([item for item in value if item != key])
    if isinstance(value, list) and isinstance(key, int):
        index = key if key >= 0 else len(value) + key
        return jsonb_text([item for place, item in enumerate(value) if place != index])
    noun = "object using integer index" if isinstance(value, dict) else "scalar"
    raise BadLiteral(fault.INVALID_PARAMETER, f"cannot delete from {noun}")


@define("-(jsonb, text) -> jsonb; -(jsonb, int4) -> jsonb", "Without a key or an element.", family=_FAMILY)
def without(site: Site, value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return site.rowwise(_without, value, key)


def _stripped(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


@define("jsonb_strip_nulls(jsonb) -> jsonb", "Without members that are null.", family=_FAMILY)
def strip_nulls(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: jsonb_text(_stripped(parse_json(text))), value)


# --- building ------------------------------------------------------------------------------------------------------


@define("to_json(any) -> json; to_jsonb(any) -> jsonb", "The value as JSON.", family=_FAMILY)
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
    "json_build_array(any...) -> json; jsonb_build_array(any...) -> jsonb", "Array of the arguments.", family=_FAMILY
)
def build_array(site: Site, *values: pl.Expr) -> pl.Expr:
    parts: list[pl.Expr] = []
    for index, value in enumerate(values):
        parts += [pl.lit(", ")] if index else []
        parts.append(_item(site, index, value))
    return _normalised(site, _built(parts, "[", "]"))


@define(
    "json_build_object(any...) -> json; jsonb_build_object(any...) -> jsonb",
    "Object of keys and values.",
    family=_FAMILY,
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
        parts += [site.rowwise(quoted, values[index]), pl.lit(" : "), _item(site, index + 1, values[index + 1])]
    return _normalised(site, _built(parts, "{", "}"))


def _set_at(value: Json, path: list[str], new: Json, create: bool) -> Json:
    """jsonb_set: the member at `path` replaced, or made if only the last step is missing."""
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        if not rest and (step in value or create):
            return {**value, step: new}
        return {**value, step: _set_at(value[step], rest, new, create)} if rest and step in value else value
    if isinstance(value, list) and step.lstrip("-").isdigit():
        index = int(step) if int(step) >= 0 else len(value) + int(step)
        if 0 <= index < len(value):
            inner = new if not rest else _set_at(value[index], rest, new, create)
            return [*value[:index], inner, *value[index + 1 :]]
        if not rest and create:
            return [new, *value] if index < 0 else [*value, new]
    return value


@define("jsonb_set(jsonb, text[], jsonb) -> jsonb", "With the member at a path replaced.", family=_FAMILY)
def set_member(site: Site, value: pl.Expr, path: pl.Expr, new: pl.Expr) -> pl.Expr:
    def changed(text: str, steps: list[str], item: str) -> str:
        document = parse_json(text)
        return jsonb_text(_set_at(document, steps, parse_json(item), True)) if steps else jsonb_text(document)

    return site.rowwise(changed, value, path, new)
