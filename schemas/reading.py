"""Loads a JSON value by a schema, and turns Marshmallow's errors into ours."""

from collections.abc import Mapping
from typing import cast

from marshmallow import Schema, ValidationError

from errors import InvalidRequest


def load(schema: Schema, value: object) -> Mapping[str, object]:
    """The members as the schema names and types them. Raises InvalidRequest with the first bad field."""
    if not isinstance(value, Mapping):
        raise InvalidRequest("the body is a JSON object")
    try:
        return cast(Mapping[str, object], schema.load(value))
    except ValidationError as error:
        field, message = _first(error.messages)
        raise InvalidRequest(f"`{field}`: {message}", field=field) from error


def _first(messages: object, path: str = "") -> tuple[str, str]:
    """The first message of Marshmallow's nested dictionaries, with the dotted path to its field."""
    if isinstance(messages, Mapping):
        name, inner = next(iter(messages.items()))
        return _first(inner, f"{path}.{name}" if path else str(name))
    return path, str(messages[0] if isinstance(messages, list) else messages)
