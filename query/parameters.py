"""Values of a statement's `$1`, `$2` as they are handed over; apart from the parser, which web workers do not load."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """A value as PostgreSQL's text of it, None for NULL, of the type of that name (`int8`, `text[]`).

    Without a name its place decides, as it does for a quoted constant.
    """

    type: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Open:
    """A placeholder whose value is not known yet: the statement is only to be described. `type` as in Typed."""

    type: str = ""


Parameter = str | int | float | bool | Typed | Open | None
