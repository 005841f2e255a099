"""Rows of a file, by their numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowRange:
    """`rows` rows from the one with the number `start` on; the first row has 0."""

    start: int
    rows: int


@dataclass(frozen=True, slots=True)
class TimedRows:
    """Rows of a file, and the first and the last time among them, ns since 1970."""

    range: RowRange
    tmin: int
    tmax: int


def joined(ranges: Iterable[RowRange]) -> Iterator[RowRange]:
    """The ranges, which follow each other, with neighbours as one.

    >>> list(joined([RowRange(0, 2), RowRange(2, 3), RowRange(7, 1)]))
    [RowRange(start=0, rows=5), RowRange(start=7, rows=1)]
    """
    last: RowRange | None = None
    for each in ranges:
        if last is not None and last.start + last.rows == each.start:
            last = RowRange(last.start, last.rows + each.rows)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last
