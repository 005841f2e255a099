"""Column statistics: what is kept of a file's values, and which files a condition can rule out. Pure."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from models.file import Bounds, File, Value

# Longer texts are cut: the manifest is read whole, and a prefix rules out nearly as much.
MOST_CHARACTERS: Final = 32
LAST_CHARACTER: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Condition:
    """Only rows whose column compares so with the value are wanted; null never does.

    `operation`: one of `=`, `<`, `<=`, `>`, `>=`. Timestamps are physical integers in the column's unit.
    """

    column: str
    operation: str
    value: Value


# Whether values between least and greatest may satisfy the condition.
_MAY: Final[Mapping[str, Callable[[Value, Value, Value], bool]]] = MappingProxyType(
    {
        "=": lambda least, most, value: _compare(operator.le, least, value) and _compare(operator.ge, most, value),
        "<": lambda least, most, value: _compare(operator.lt, least, value),
        "<=": lambda least, most, value: _compare(operator.le, least, value),
        ">": lambda least, most, value: _compare(operator.gt, most, value),
        ">=": lambda least, most, value: _compare(operator.ge, most, value),
    }
)


def choose(files: Sequence[File], conditions: Sequence[Condition]) -> list[File]:
    """The files that may have a row that satisfies all conditions. They carry the statistics of those columns."""
    return [file for file in files if all(may_match(file, condition) for condition in conditions)]


def may_match(file: File, condition: Condition) -> bool:
    """Whether a row of the file may satisfy the condition. A file without the column has nulls only."""
    bounds = file.stats.get(condition.column)
    if bounds is None or bounds[2] == file.rows:
        return False
    least, most, _ = bounds
    return _MAY[condition.operation](least, most, condition.value)


def _compare(compare: Callable[[Any, Any], Any], bound: Value, value: Value) -> bool:
    """The comparison; true if it cannot be made: an unknown bound, or a value of another kind."""
    if bound is None or value is None or isinstance(bound, str) is not isinstance(value, str):
        return True
    return bool(compare(bound, value))


def summarize(rows: pl.DataFrame) -> dict[str, Bounds]:
    """Bounds of every column. Times as physical integers; lists have no bounds."""
    if not rows.height:
        return {}
    return {each.name: (*_bounds(each), each.null_count()) for each in rows}


def _bounds(values: pl.Series) -> tuple[Value, Value]:
    if values.dtype.is_nested():
        return None, None
    if values.dtype.is_float() and values.is_nan().any():
        # PostgreSQL orders NaN above everything, so there is no greatest number.
        return None, None
    physical = values.to_physical()
    return _least(physical.min()), _most(physical.max())


def _least(value: object) -> Value:
    if isinstance(value, str):
        return _storable(value[:MOST_CHARACTERS])
    return _number(value)


def _most(value: object) -> Value:
    if isinstance(value, str):
        return _storable(value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + LAST_CHARACTER)
    return _number(value)


def _storable(text: str) -> str | None:
    # PostgreSQL's jsonb has no NUL character.
    return None if "\0" in text else text


def _number(value: object) -> Value:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else None
