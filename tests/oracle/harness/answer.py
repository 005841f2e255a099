"""What either side says to a query: rows with names and types, or an error. Knows no comparison."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """Rows as each side gave them: PostgreSQL's values are its text output, ours are Python values.

    `types` are PostgreSQL's short names (`int8`, `timestamptz`, `text[]`); None where a side told none.
    """

    names: tuple[str, ...]
    types: tuple[str | None, ...]
    rows: list[tuple[object, ...]]


@dataclass(frozen=True)
class Failure:
    """An error. `sqlstate` and `position` (in characters from 1) are None where a side gives none.

    `refusal`: we name a construct that we do not support; `crash`: not one of the client's errors, so a fault of ours.
    """

    message: str
    sqlstate: str | None = None
    position: int | None = None
    refusal: bool = False
    crash: bool = False


Outcome = Answer | Failure
