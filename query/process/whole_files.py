"""Aggregations answered from the manifest as far as it knows: files all of whose rows are in one group are not read.

Of a few files that are not, row groups are: their indexes have the times of each.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Final

import polars as pl

from columns import POLARS_TYPES
from query.engine import Table
from query.lower.relations import Lowering
from query.lower.scalars import with_values
from query.lower.statements import Statements
from query.plan.tree import Query, Scalar, Scan
from query.plan.whole_files import KnownCall, WholeFiles, of_whole_files, with_known_parts
from query.process.dataset_view import DatasetView
from storage.files.row_range import RowRange, TimedRows, joined
from storage.files.statistics import Extremes, exact_bounds
from storage.read.contents import File, Snapshot
from storage.read.text_search import MOST_RANGES_OF_FILE
from storage.times import UNIT_NS

# Files of which only row groups may be known: those at the ends of the range, and of conditions. More of them are read.
MOST_EDGES: Final = 4

FindRowGroups = Callable[[Snapshot, File], Sequence[TimedRows]]


@dataclass(frozen=True, slots=True)
class KnownParts:
    """A query that takes parts of its answer from `tables`, and what is left to read of its datasets."""

    query: Query
    views: dict[str, DatasetView]
    tables: dict[str, Table]


def known_parts(query: Query, views: Mapping[str, DatasetView], row_groups: FindRowGroups) -> KnownParts:
    """The query with what the manifest knows of its answer, and `row_groups` of files at the edges.

    Not of readers under row-level security, whose rows are not all of a file.
    """
    whole = {name: view for name, view in views.items() if view.source.permitted_tags is None}
    times = {name: view.source.snapshot.time_column for name, view in whole.items()}
    found = KnownParts(query, dict(views), {})
    for question in of_whole_files(query.relation, times):
        found = _with_parts(found, question, row_groups)
    return found


def files_within(snapshot: Snapshot, scan: Scan, spans: Sequence[Scalar]) -> list[File]:
    """The files all of whose rows are in the snapshot's range and satisfy conditions on spans of the time."""
    files = [file for file in snapshot.files if snapshot.is_whole(file)]
    if not files or not spans:
        return files
    tests = {f"p{number}": each for number, each in enumerate(spans)}
    bounded = _BoundedFiles(replace(snapshot, files=tuple(files)), (), frozenset())
    edges = _computed(bounded.rows(), scan, tests)
    return [file for file, holds in zip(files, reduce(and_, _holds(edges, list(tests))), strict=True) if holds]


def _with_parts(known: KnownParts, question: WholeFiles, row_groups: FindRowGroups) -> KnownParts:
    name = question.scan.dataset
    view = known.views[name]
    snapshot = view.snapshot
    answered, parts = _answered(snapshot, question)
    paths = {file.path for file in answered}
    rest = replace(snapshot, files=tuple(file for file in snapshot.files if file.path not in paths))
    rest, of_groups = _with_row_groups(rest, question, row_groups)
    parts = pl.concat([each for each in (parts, of_groups) if each.height] or [parts])
    if not parts.height:
        return known
    # No dataset has such a name.
    source = f"{name}\0manifest"
    view = replace(view, narrowed=rest, answered_files=len(snapshot.files) - len(rest.files))
    relation = with_known_parts(known.query.relation, question, source)
    return KnownParts(
        replace(known.query, relation=relation),
        {**known.views, name: view},
        {**known.tables, source: Table(parts.lazy())},
    )


def _with_row_groups(
    snapshot: Snapshot, question: WholeFiles, row_groups: FindRowGroups
) -> tuple[Snapshot, pl.DataFrame]:
    """The snapshot without row groups that need not be read, and a row for each of those that have wanted rows.

    The times of a row group are known, and nothing of other columns.
    """
    groups = _at_edges(snapshot, row_groups) if _is_about_times(question, snapshot) else []
    parts = [replace(file, tmin=each.tmin, tmax=each.tmax, rows=each.range.rows) for file, each in groups]
    answered, rows = _answered(replace(snapshot, files=tuple(parts)), question)
    known = set(map(id, answered))
    left: dict[str, list[RowRange]] = {file.path: [] for file, _ in groups}
    for part, (file, each) in zip(parts, groups, strict=True):
        left[file.path] += [] if id(part) in known else [each.range]
    ranges = {path: tuple(joined(each)) for path, each in left.items()}
    if not rows.height or any(len(each) > MOST_RANGES_OF_FILE for each in ranges.values()):
        return snapshot, pl.DataFrame()
    files = tuple(file for file in snapshot.files if ranges.get(file.path) != ())
    return replace(snapshot, files=files, ranges={**snapshot.ranges, **ranges}), rows


def _at_edges(snapshot: Snapshot, row_groups: FindRowGroups) -> list[tuple[File, TimedRows]]:
    """The row groups that reach into the range, of files of which not everything is wanted, if they are few."""
    edges = [file for file in snapshot.files if snapshot.has_times(file) and file.path not in snapshot.ranges]
    if len(edges) > MOST_EDGES:
        return []
    return [(file, each) for file in edges for each in _wanted(snapshot, file, row_groups(snapshot, file))]


def _wanted(snapshot: Snapshot, file: File, groups: Sequence[TimedRows]) -> list[TimedRows]:
    """The row groups that reach into the snapshot's range; nothing if they are not those of the manifest's times."""
    if not groups or (min(each.tmin for each in groups), max(each.tmax for each in groups)) != (file.tmin, file.tmax):
        return []
    return [each for each in groups if _overlaps(snapshot, each)]


def _is_about_times(question: WholeFiles, snapshot: Snapshot) -> bool:
    """Whether all calls are about rows or the dataset's time."""
    columns = (call.column for call in question.calls)
    return all(column is None or question.stored(column) == snapshot.time_column for column in columns)


def _overlaps(snapshot: Snapshot, rows: TimedRows) -> bool:
    is_early = snapshot.end is None or rows.tmin < snapshot.end
    return is_early and (snapshot.start is None or rows.tmax >= snapshot.start)


def _answered(snapshot: Snapshot, question: WholeFiles) -> tuple[list[File], pl.DataFrame]:
    """The files that need not be read, and a row for each of them: the columns are `question.parts`."""
    extremes, counted = _names(question, ("min", "max")), _names(question, ("count",))
    if not (extremes | counted) - {snapshot.time_column} <= snapshot.columns:
        return [], pl.DataFrame()
    bounded = _BoundedFiles(snapshot, sorted(extremes - {snapshot.time_column}), counted - {snapshot.time_column})
    files = bounded.files
    if not files:
        return [], pl.DataFrame()
    tests = {f"p{number}": predicate for number, predicate in enumerate(question.predicates)}
    keys = {f"k{number}": key for number, key in enumerate(question.keys)}
    edges = _computed(bounded.rows(), question.scan, tests | keys) if tests or keys or extremes else pl.DataFrame()
    first, last = edges.head(len(files)), edges.tail(len(files))
    holds = _holds(edges, list(tests))
    alike = [first.get_column(name).eq_missing(last.get_column(name)) for name in keys]
    is_answered = reduce(and_, holds + alike, pl.repeat(True, len(files), eager=True))
    columns = [first.get_column(name) for name in keys]
    columns += [_values(call, question, files, first, last) for call in question.calls]
    pairs = zip(question.parts, columns, strict=True)
    parts = pl.DataFrame([column.cast(field.type.polars).alias(field.id) for field, column in pairs])
    return [file for file, each in zip(files, is_answered, strict=True) if each], parts.filter(is_answered)


def _names(question: WholeFiles, functions: Sequence[str]) -> set[str]:
    """The columns, as stored, that calls of these functions are about."""
    columns = (call.column for call in question.calls if call.function in functions)
    return {question.stored(column) for column in columns if column is not None}


class _BoundedFiles:
    """The files of a snapshot that are all in its range, and of which the manifest knows all that is asked for."""

    def __init__(self, snapshot: Snapshot, extremes: Sequence[str], counted: Set[str]) -> None:
        self._time = snapshot.time_column
        self._dtypes = {each.stored: POLARS_TYPES[each.type] for each in snapshot.schema.columns}
        self._extremes = extremes
        known = ((file, self._bounds(file)) for file in snapshot.files if snapshot.is_whole(file))
        self._known = [(file, bounds) for file, bounds in known if bounds is not None and counted <= file.stats.keys()]

    @property
    def files(self) -> list[File]:
        return [file for file, _ in self._known]

    def rows(self) -> pl.DataFrame:
        """The first time and the least values of each file; then the last time and the greatest values of each."""
        times = [file.tmin for file in self.files] + [file.tmax for file in self.files]
        dtype = self._dtypes[self._time]
        if not isinstance(dtype, pl.Datetime):
            raise TypeError(f"the time column {self._time!r} is {dtype}")
        columns = [(pl.Series(self._time, times, pl.Int64()) // UNIT_NS[dtype.time_unit]).cast(dtype)]
        for number, name in enumerate(self._extremes):
            values = [bounds[number][side] for side in (0, 1) for _, bounds in self._known]
            columns.append(_series(name, values, self._dtypes[name]))
        return pl.DataFrame(columns)

    def _bounds(self, file: File) -> list[Extremes] | None:
        bounds = [exact_bounds(file, name, self._dtypes[name]) for name in self._extremes]
        return None if None in bounds else [each for each in bounds if each is not None]


def _series(name: str, values: Sequence[object], dtype: pl.DataType) -> pl.Series:
    """Values as statistics have them, times as integers, in the column's type."""
    return pl.Series(name, values, pl.Int64()).cast(dtype) if dtype.is_temporal() else pl.Series(name, values, dtype)


def _holds(edges: pl.DataFrame, tests: Sequence[str]) -> list[pl.Series]:
    """Whether each of the tests holds at the first time of each file, and at its last."""
    count = edges.height // 2
    return [rows.get_column(name).fill_null(False) for rows in (edges.head(count), edges.tail(count)) for name in tests]


def _computed(rows: pl.DataFrame, scan: Scan, values: Mapping[str, Scalar]) -> pl.DataFrame:
    """The rows as the engine reads them, columns by identifier, with these values."""
    read = [(name, field) for name, field in zip(scan.names, scan.fields, strict=True) if name in rows.columns]
    part = replace(scan, names=tuple(name for name, _ in read), fields=tuple(field for _, field in read))
    frame = Lowering({scan.dataset: rows.lazy()}, Statements(), {}, {}).frame(part)
    return with_values(frame, values).collect()


def _values(
    call: KnownCall, question: WholeFiles, files: Sequence[File], first: pl.DataFrame, last: pl.DataFrame
) -> pl.Series:
    """What the call gives for each file."""
    column = call.column
    if column is not None and call.function != "count":
        return (first if call.function == "min" else last).get_column(column.id)
    name = None if column is None or column == question.time else question.stored(column)
    return pl.Series([file.rows - (0 if name is None else file.stats[name][2]) for file in files], dtype=pl.Int64())
