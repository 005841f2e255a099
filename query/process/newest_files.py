"""The part of a snapshot that can have the first rows in the order of time: read from the newest file backwards.

The newest of what is not in files yet are found in the newest records, by their headers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from query.lower.first_by_time import FirstByTime
from storage.files.row_range import RowRange
from storage.read.contents import File, Snapshot
from storage.times import UNIT_NS
from storage.wal.locations import RecordLocation

# What is read in vain if the rows are too few: the filters' columns of this share of all rows.
MOST_SHARE: Final = 0.25
# More rows are better sorted at once.
MOST_ROWS: Final = 10_000
# So many rows of a large file are tried first, two row groups at the end where the wanted times are if it is in order.
TRIED_ROWS: Final = 65_536
# A file of fewer of these is read as soon as it is tried.
LEAST_TRIES: Final = 4
# So many rows of the newest records are tried for each wanted one, and so many at least. Where that is more than the
# share above of all of them, all are read at once.
TRIED_PER_ROW: Final = 4
LEAST_TRIED: Final = 1_000

Scan = Callable[[Snapshot], pl.LazyFrame]


def narrow(snapshot: Snapshot, question: FirstByTime, scan: Scan) -> Snapshot:
    """The snapshot without files and times that cannot have one of the first rows.

    `scan` gives the rows of a snapshot. Raises SnapshotExpired, FileNotFoundError.
    """
    if snapshot.time_column != question.name or not 0 < question.count <= MOST_ROWS:
        return snapshot
    if not all(map(snapshot.has_times, snapshot.files)):
        return snapshot
    ordered = _in_order(snapshot.files, descending=question.descending)
    return _by_rows(snapshot, ordered, question, scan) or _by_files(snapshot, ordered, question, scan)


def narrow_records(
    snapshot: Snapshot, question: FirstByTime, scan: Scan, records: Sequence[RecordLocation]
) -> Snapshot:
    """The snapshot without times before the newest rows that a few of its `records` have.

    Any rows will do, whatever the order of the records. Raises as `narrow`.
    """
    start = _tried_from(snapshot, question, records) if _goes_by_newest(snapshot, question) else None
    if start is None:
        return snapshot
    edge = _edge(_times(replace(snapshot, files=(), start=start), question, scan), question)
    return snapshot if edge is None else _beyond(snapshot, edge, descending=True)


def _goes_by_newest(snapshot: Snapshot, question: FirstByTime) -> bool:
    """Whether headers tell the times that the question is about."""
    is_about_times = snapshot.time_column == question.name and snapshot.times_from is None
    return question.descending and is_about_times and 0 < question.count <= MOST_ROWS


def _tried_from(snapshot: Snapshot, question: FirstByTime, records: Sequence[RecordLocation]) -> int | None:
    """The time from which on the newest records have enough rows to try; None if those are too many of all."""
    inside = [each for each in records if each.is_in(snapshot.start, snapshot.end)]
    wanted = max(TRIED_PER_ROW * question.count, LEAST_TRIED)
    most, tried = MOST_SHARE * sum(each.rows for each in inside), 0
    for record in sorted(inside, key=lambda each: -each.tmin):
        tried += record.rows
        if tried > most:
            return None
        if tried >= wanted:
            return record.tmin
    return None


def _in_order(files: Sequence[File], *, descending: bool) -> list[File]:
    return sorted(files, key=lambda file: -file.tmax if descending else file.tmin)


def _by_rows(snapshot: Snapshot, ordered: Sequence[File], question: FirstByTime, scan: Scan) -> Snapshot | None:
    """What a few rows of the first file leave; None if they are too few, or another file can have one of the first.

    Any rows will do, whatever their order: the last of n that were found is not before the last of the first n.
    """
    if not ordered or ordered[0].rows < LEAST_TRIES * TRIED_ROWS or ordered[0].path in snapshot.ranges:
        return None
    file = ordered[0]
    tried = RowRange(file.rows - TRIED_ROWS if question.descending else 0, TRIED_ROWS)
    part = replace(snapshot, files=(file,), segments=(), ranges={file.path: (tried,)})
    edge = _edge(_times(part, question, scan), question)
    if edge is None or any(_reaches(each, edge, descending=question.descending) for each in ordered[1:]):
        return None
    return _beyond(snapshot, edge, descending=question.descending)


def _edge(found: pl.Series, question: FirstByTime) -> int | None:
    """The last of the first times; None if there are not as many."""
    if len(found) < question.count:
        return None
    return int(found.sort(descending=question.descending)[question.count - 1])


def _by_files(snapshot: Snapshot, ordered: Sequence[File], question: FirstByTime, scan: Scan) -> Snapshot:
    """What the first files leave."""
    if len(ordered) < 2:
        return snapshot
    found = pl.Series(dtype=pl.Int64())
    # What is not converted is of any time, and read with the first portion.
    segments = snapshot.segments
    for files, rest in _portions(ordered):
        found = pl.concat([found, _times(replace(snapshot, files=tuple(files), segments=segments), question, scan)])
        found = found.sort(descending=question.descending).head(question.count)
        segments = ()
        edge = _edge(found, question)
        if edge is not None and not any(_reaches(file, edge, descending=question.descending) for file in rest):
            return _beyond(snapshot, edge, descending=question.descending)
    return snapshot


def _portions(ordered: Sequence[File]) -> Iterator[tuple[Sequence[File], Sequence[File]]]:
    """The files in portions that double, each with those that are left."""
    most, taken, size = MOST_SHARE * sum(file.rows for file in ordered), 0, 1
    while ordered and (not taken or taken + sum(file.rows for file in ordered[:size]) <= most):
        portion, ordered = ordered[:size], ordered[size:]
        yield portion, ordered
        taken += sum(file.rows for file in portion)
        size *= 2


def _times(snapshot: Snapshot, question: FirstByTime, scan: Scan) -> pl.Series:
    """The times of the rows that the question's filters leave, ns since 1970."""
    times = question.values(scan(snapshot)).collect(engine="streaming").to_series()
    if not isinstance(times.dtype, pl.Datetime):
        raise TypeError(f"the time column {snapshot.time_column!r} is {times.dtype}")
    return times.cast(pl.Int64()) * UNIT_NS[times.dtype.time_unit]


def _reaches(file: File, edge: int, *, descending: bool) -> bool:
    return file.tmax >= edge if descending else file.tmin <= edge


def _beyond(snapshot: Snapshot, edge: int, *, descending: bool) -> Snapshot:
    """The snapshot from the edge on: times that equal it may be among the first rows."""
    files = tuple(file for file in snapshot.files if _reaches(file, edge, descending=descending))
    if descending:
        start = edge if snapshot.start is None else max(edge, snapshot.start)
        return replace(snapshot, files=files, start=start)
    end = edge + 1 if snapshot.end is None else min(edge + 1, snapshot.end)
    return replace(snapshot, files=files, end=end)
