"""JSON text as PostgreSQL keeps it: json as written, jsonb normalised, numbers with every digit. Pure Python."""

import json
import re
from decimal import Decimal
from typing import Final, NoReturn

Json = None | bool | int | str | Decimal | list["Json"] | dict[str, "Json"]


class BadJson(ValueError):
    """The text is no JSON document."""


class NoCharacter(BadJson):
    """A document of jsonb with U+0000, which no text can have."""


class Literal(str):
    """A part of a json document, kept as it was written."""

    __slots__ = ()


def _constant(name: str) -> NoReturn:
    raise BadJson(name)


_DECODER: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_constant, strict=True)


def parse_json(text: str) -> Json:
    """The document. Numbers with a point or exponent are Decimals, so no digit is lost.

    >>> parse_json('{"a": 1.10}')
    {'a': Decimal('1.10')}
    """
    try:
        value: Json = _DECODER.decode(text.strip(" \t\n\r"))
    except (ValueError, RecursionError) as error:
        raise BadJson(text) from error
    return value


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse_binary(text: str) -> Json:
    """The document, whose strings have to be texts. Raises NoCharacter, and BadJson for half of a surrogate pair."""
    value = parse_json(text)
    if "\\u" in text:
        text_form = jsonb_text(value)
        if _SURROGATE.search(text_form):
            raise BadJson(text)
        if "\\u0000" in text_form.replace("\\\\", ""):
            raise NoCharacter(text)
    return value


def require_characters(text: str) -> None:
    """Fails as parse_binary does. A json document may have such escapes until somebody looks into it."""
    if "\\u" in text:
        parse_binary(text)


def number_text(value: int | Decimal) -> str:
    """A number as jsonb shows it: no exponent, digits kept."""
    if not isinstance(value, Decimal):
        return str(value)
    return format(abs(value) if value.is_zero() else value, "f")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\x7f")


def jsonb_text(value: Json) -> str:
    """The text jsonb shows: keys by length, then bytes; one space after colons and commas.

    >>> jsonb_text({"bb": 1, "a": [True, None]})
    '{"a": [true, null], "bb": 1}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quote(key)}: {jsonb_text(item)}" for key, item in stored_order(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(jsonb_text(item) for item in value) + "]"
    return scalar_text(value)


def stored_order(members: dict[str, Json]) -> list[tuple[str, Json]]:
    """The members of an object as jsonb keeps them: shorter keys first, then by their bytes."""
    return sorted(members.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))


def scalar_text(value: Json) -> str:
    """A JSON scalar as JSON text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return number_text(value)
    return _quote(str(value))


def normalise(text: str) -> str:
    """`text` as jsonb shows it. Raises BadJson, NoCharacter."""
    return jsonb_text(parse_binary(text))


def raw_members(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """The kind of a json document (object, array, scalar) and its members' texts exactly as written."""
    stripped = text.strip(" \t\n\r")
    if stripped[:1] not in ("{", "["):
        return "scalar", []
    closing = "}" if stripped[0] == "{" else "]"
    members: list[tuple[str | None, str]] = []
    position = _skip(stripped, 1)
    while stripped[position] != closing:
        key: str | None = None
        if closing == "}":
            key, position = _DECODER.raw_decode(stripped, position)
            position = _skip(stripped, _skip(stripped, position) + 1)
        _, end = _DECODER.raw_decode(stripped, position)
        members.append((key, stripped[position:end]))
        position = _skip(stripped, end)
        if stripped[position] == ",":
            position = _skip(stripped, position + 1)
    return ("object" if closing == "}" else "array"), members


def members_within(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """As raw_members, of a document whose strings have to be texts."""
    require_characters(text)
    return raw_members(text)


def _skip(text: str, position: int) -> int:
    while text[position] in " \t\n\r":
        position += 1
    return position
