"""Conditions on texts that an index of their values and grams may rule out; engine-neutral, plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IsOneOf:
    """Only rows whose text is one of the values are wanted; null never is."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasParts:
    """Only rows whose text has every part somewhere are wanted; null never does.

    `ignore_case`: in any case. `in_json`: the text is a JSON document, which may write letters as escapes.
    """

    column: str
    parts: tuple[str, ...]
    ignore_case: bool = False
    in_json: bool = False


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Only rows that satisfy all conditions of one of the branches are wanted."""

    branches: tuple[tuple["TextCondition", ...], ...]


TextCondition = IsOneOf | HasParts | AnyOf
# All of them have to hold.
TextConditions = tuple[TextCondition, ...]
