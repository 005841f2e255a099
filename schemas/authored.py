"""Members that the bodies of dashboards, filters, alerts and targets have in common."""

from collections.abc import Mapping
from typing import Final

from marshmallow import Schema, ValidationError, fields, validate

LONGEST_TITLE: Final = 200
LONGEST_SQL: Final = 100_000
MOST_TAGS: Final = 20
# What the JSON writers on the way take, several times over; nobody nests a chart's options so deeply.
DEEPEST: Final = 32


def printable(value: str) -> None:
    """A line of text that can be stored, logged and shown as it is."""
    if not value.strip() or not value.isprintable():
        raise ValidationError("Must be printable text.")


def sql_text(value: str) -> None:
    """SQL may have lines; NUL is what PostgreSQL's text cannot hold."""
    if not value.strip() or "\0" in value:
        raise ValidationError("Must be an SQL query.")


def shallow(value: object) -> None:
    if _depth(value) > DEEPEST:
        raise ValidationError(f"Must not be nested deeper than {DEEPEST} levels.")


def title(**options: object) -> fields.String:
    return fields.String(validate=[validate.Length(1, LONGEST_TITLE), printable], **options)  # type: ignore[arg-type]


def tags() -> fields.List[str]:
    """A list of words, or null, which older clients send for none."""
    word = fields.String(validate=[validate.Length(1, 100), printable])
    return fields.List(word, load_default=None, allow_none=True, validate=validate.Length(max=MOST_TAGS))


def extra(schema: Schema, body: Mapping[str, object], service_owned: frozenset[str]) -> dict[str, object]:
    """The members that the service does not know and gives back as they were sent.

    Taken from the body itself: Marshmallow's INCLUDE would let `kind` overwrite what was loaded from `dashboardType`.
    """
    known = {field.data_key or name for name, field in schema.fields.items()} | service_owned
    return {name: value for name, value in body.items() if name not in known}


def _depth(value: object) -> int:
    """Levels of nesting, found without recursion; what is deeper than DEEPEST is not looked into."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        containers = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)]
        depth += bool(containers)
        if not containers:
            break
    return depth
