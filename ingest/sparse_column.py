"""A column while it is collected: the rows that have a value and their values."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Sparse:
    """`values[i]` belongs to row `rows[i]`. Rows ascend; a row that comes twice keeps its first value.

    Whoever builds it may append until it is handed on.
    """

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def by_row(self) -> dict[int, Any]:
        value_of = dict(zip(self.rows, self.values, strict=True))
        if len(value_of) == len(self.rows):
            return value_of
        return dict(zip(reversed(self.rows), reversed(self.values), strict=True))

    def dense(self, height: int) -> list[Any]:
        """One value per row, None where there is none."""
        if len(self.rows) == height and self.rows == list(range(height)):
            return self.values
        return list(map(self.by_row().get, range(height)))


def rows_by(kinds: Sequence[K]) -> dict[K, list[int]]:
    """The rows of each kind, where `kinds` has that of each row. Most often it is one.

    >>> rows_by(["a", "b", "a"])
    {'a': [0, 2], 'b': [1]}
    """
    if len(set(kinds)) == 1:
        return {kinds[0]: list(range(len(kinds)))}
    rows: dict[K, list[int]] = {}
    for row, kind in enumerate(kinds):
        rows.setdefault(kind, []).append(row)
    return rows
