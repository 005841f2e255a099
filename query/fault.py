"""The engine's refusals: SQLSTATE, place in the user's text and a hint beside the message. Knows no SQL."""

import difflib
from collections.abc import Iterable
from typing import Final

from errors import InvalidSQL, UnsupportedSQL

SYNTAX_ERROR = "42601"
UNDEFINED_COLUMN = "42703"
UNDEFINED_FUNCTION = "42883"
UNDEFINED_TABLE = "42P01"
UNDEFINED_OBJECT = "42704"
AMBIGUOUS_COLUMN = "42702"
AMBIGUOUS_FUNCTION = "42725"
DUPLICATE_ALIAS = "42712"
DUPLICATE_COLUMN = "42701"
DATATYPE_MISMATCH = "42804"
CANNOT_COERCE = "42846"
GROUPING_ERROR = "42803"
WINDOWING_ERROR = "42P20"
INVALID_COLUMN_REFERENCE = "42P10"
INVALID_TEXT = "22P02"
INVALID_DATETIME = "22007"
DATETIME_OVERFLOW = "22008"
NUMERIC_OUT_OF_RANGE = "22003"
DIVISION_BY_ZERO = "22012"
INVALID_PARAMETER = "22023"
INVALID_REGULAR_EXPRESSION = "2201B"
INVALID_ESCAPE = "22025"
INVALID_LOG_ARGUMENT = "2201E"
INVALID_POWER_ARGUMENT = "2201F"
INVALID_LIMIT = "2201W"
INVALID_OFFSET = "2201X"
INVALID_WIDTH_BUCKET = "2201G"
CARDINALITY_VIOLATION = "21000"
PROGRAM_LIMIT = "54000"
STATEMENT_TOO_COMPLEX = "54001"
FEATURE_NOT_SUPPORTED = "0A000"


def invalid(sqlstate: str, message: str, position: int | None = None, hint: str | None = None) -> InvalidSQL:
    """The error PostgreSQL raises with this SQLSTATE; `position` counts characters of the statement from 1."""
    return InvalidSQL(message, sqlstate=sqlstate, position=position, hint=hint)


NEAR: Final = 0.6
VERY_NEAR: Final = 0.8
"""How alike two names are of which one may be meant by the other. Of functions there are so many that below 0.8
`rate` would be `greatest`."""


def nearest(kind: str, name: str, names: Iterable[str], likeness: float = NEAR) -> str | None:
    """A hint at the name that was meant; None when none is near. `names` must hold what the caller may see only."""
    near = difflib.get_close_matches(name, list(names), 1, likeness)
    return f'Perhaps you meant the {kind} "{near[0]}".' if near else None


def unsupported(construct: str, position: int | None = None, hint: str | None = None) -> UnsupportedSQL:
    """A refusal of something PostgreSQL would run. `construct` names it; `hint` says what to write instead."""
    message = f"{construct} is not supported"
    return UnsupportedSQL(message, sqlstate=FEATURE_NOT_SUPPORTED, position=position, hint=hint)
