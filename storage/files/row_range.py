"""Rows of a file, by their numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowRange:
    """`rows` rows from the one with the number `start` on; the first row has 0."""

    start: int
    rows: int
