"""Column statistics: what is kept of a file's values, and which files a condition can rule out. Pure."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeGuard

import polars as pl

from models.values.file import Bounds, File, Value

# Longer texts are cut: the manifest is read whole, and a prefix rules out nearly as much.
MOST_CHARACTERS: Final = 32
LAST_CHARACTER: Final = "\U0010ffff"
# The least and the greatest value.
Extremes = tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class Condition:
    """Only rows whose column compares so with the value are wanted; null never does.

    `operation`: one of `=`, `<`, `<=`, `>`, `>=`. Timestamps are physical integers in the column's unit.
    """

    column: str
    operation: str
    value: Value


COMPARES: Final[Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]]] = MappingProxyType(
    {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
# What has to hold of the least value, and of the greatest, for a value between them to satisfy the condition.
_LEAST: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {"=": operator.le, "<": operator.lt, "<=": operator.le}
)
_MOST: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {"=": operator.ge, ">": operator.gt, ">=": operator.ge}
)


def choose(files: Sequence[File], alternatives: Sequence[Sequence[Condition]]) -> list[File]:
    """The files that may have a row that satisfies all conditions of any alternative.

    They carry the statistics of those columns.
    """
    return [
        file
        for file in files
        if any(all(may_match(file, condition) for condition in conditions) for conditions in alternatives)
    ]


def may_match(file: File, condition: Condition) -> bool:
    """Whether a row of the file may satisfy the condition. A file without the column has nulls only."""
    bounds = file.stats.get(condition.column)
    if bounds is None or bounds[2] == file.rows:
        return False
    least, most, _ = bounds
    name, value = condition.operation, condition.value
    return _may(_LEAST.get(name), least, value) and _may(_MOST.get(name), *_shortened(most, value))


def exact_bounds(file: File, name: str, dtype: pl.DataType) -> Extremes | None:
    """The least and greatest value of the column in the file, as `summarize` has them; None if they are not known.

    Both are null where all values are.
    """
    bounds = file.stats.get(name)
    if bounds is None:
        return None
    least, most, nulls = bounds
    if nulls == file.rows:
        return None, None
    if dtype == pl.String():
        return (least, most) if _is_whole(least, MOST_CHARACTERS - 1) and _is_whole(most, MOST_CHARACTERS) else None
    if dtype.is_float():
        # jsonb has no negative zero, and writes a large float as an integer.
        return (float(least), float(most)) if _is_nonzero(least) and _is_nonzero(most) else None
    return (least, most) if isinstance(least, int) and isinstance(most, int) else None


def _is_whole(bound: Value, longest: int) -> TypeGuard[str]:
    """True for a text that was not cut."""
    return isinstance(bound, str) and len(bound) <= longest


def _is_nonzero(bound: Value) -> TypeGuard[int | float]:
    return isinstance(bound, int | float) and bound != 0


def _shortened(most: Value, value: Value) -> tuple[Value, Value]:
    """A greatest text that was cut says only that nothing begins with more than what was kept of it."""
    if isinstance(most, str) and isinstance(value, str) and len(most) > MOST_CHARACTERS:
        kept = most[:MOST_CHARACTERS]
        return (None, value) if value.startswith(kept) else (kept, value)
    return most, value


def _may(compare: Callable[[Any, Any], bool] | None, bound: Value, value: Value) -> bool:
    """The comparison; true if it cannot be made: an unknown bound, or a value of another kind."""
    if compare is None or bound is None or value is None or isinstance(bound, str) is not isinstance(value, str):
        return True
    if isinstance(value, float) and isinstance(bound, int):
        # An integer of a column that has been widened is read as a float, which may be its neighbour.
        bound = float(bound)
    return compare(bound, value)


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
    if values.dtype.is_temporal():
        # A tenth of the time of to_physical, which takes the way of an expression.
        values = values.cast(pl.Int64())
    return _least(values.min()), _most(values.max())


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
