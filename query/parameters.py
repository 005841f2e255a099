"""What a statement is handed beside its text: values of `$1`, `$2`, and where random numbers go on; apart from the
parser and numpy, which web workers do not load."""

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

RandomState = tuple[int, int]
"""128 bits: where a session's sequence of random numbers goes on (query/expr/random_numbers.py)."""
