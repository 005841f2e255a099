"""Entries of streams as rows: one per entry, a column per label and per name of structured metadata.

Which name a value gets depends on its own row alone: labels before structured metadata, and what meets the name of
another gets a prefix, as often as it takes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType
from errors import InvalidEvent, TooManyColumns
from ingest.batch_builder import BatchBuilder, require_size
from ingest.column_values import INT64_MAX, INT64_MIN, RoutedColumn
from ingest.json.decoding import RESERVED
from ingest.sparse_column import Sparse

TIME: Final = "time"
LINE: Final = "message"
_OWN: Final = frozenset({TIME, LINE, *RESERVED})
_TEXT: Final = pl.String()

V = TypeVar("V")


class Rows:
    """Collects the entries that go to one dataset."""

    def __init__(self, max_columns: int) -> None:
        self._max_columns = max_columns
        self._times: list[int] = []
        self._lines: list[str] = []
        self._owners: list[int] = []
        self._streams = 0
        self._labels: dict[str, Sparse] = {}
        self._metadata: dict[str, Sparse] = {}
        self._names: frozenset[str] = _OWN

    def add_stream(self, labels: Mapping[str, str], times: Sequence[int], lines: Sequence[str]) -> int:
        """The entries of a stream; the row of the first, for `add_metadata`."""
        first = len(self._times)
        named = dict(_named((each for each in labels.items() if each[1]), "label_", _OWN, labels))
        for name, value in named.items():
            column = self._labels.setdefault(name, Sparse())
            column.rows.append(self._streams)
            column.values.append(value)
        self._times += times
        self._lines += lines
        self._owners += [self._streams] * len(times)
        self._streams += 1
        self._names = _OWN.union(named)
        self._require_columns()
        return first

    def add_metadata(self, row: int, pairs: Mapping[str, str]) -> None:
        """Structured metadata of an entry of the stream that was added last."""
        unique = pairs.items()
        if not self._names.isdisjoint(pairs):
            unique = dict(_named(unique, "metadata_", self._names, pairs)).items()
        for name, value in unique:
            column = self._metadata.get(name)
            if column is None:
                column = self._metadata[name] = Sparse()
                self._require_columns()
            column.rows.append(row)
            column.values.append(value)

    def add_metadata_columns(self, first: int, columns: Mapping[str, Sparse]) -> None:
        """The same for all entries of that stream, whose first is row `first`; the columns count from there."""
        named: Mapping[str, Sparse] = columns
        if not self._names.isdisjoint(columns):
            if not _are_alike(columns.values()):
                for row, pairs in _by_row(columns).items():
                    self.add_metadata(first + row, pairs)
                return
            named = dict(_named(columns.items(), "metadata_", self._names, columns))
        for name, given in named.items():
            column = self._metadata.setdefault(name, Sparse())
            column.rows.extend([first + row for row in given.rows] if first else given.rows)
            column.values.extend(given.values)
        self._require_columns()

    def finish(self) -> Batch:
        """The rows, in the order in which they were added. Raises InvalidEvent, TooManyColumns, TooLarge."""
        height = len(self._times)
        require_size(height, len(self._labels) + len(self._metadata) + 2)
        builder = BatchBuilder(max_columns=self._max_columns)
        builder.add(self._columns(height), height)
        return builder.finish()

    def _columns(self, height: int) -> Iterator[RoutedColumn]:
        yield TIME, {ColumnType.TIMESTAMP_NS: _times(self._times)}
        yield LINE, {ColumnType.UTF8: pl.Series(LINE, self._lines, _TEXT)}
        owners = pl.Series(self._owners, dtype=pl.UInt32())
        for name in {**self._labels, **self._metadata}:
            yield name, {ColumnType.UTF8: self._column(name, owners, height)}

    def _column(self, name: str, owners: pl.Series, height: int) -> pl.Series:
        """A label's values, spread from streams to rows, and where there are none those of the metadata."""
        given, by_row = self._labels.get(name), self._metadata.get(name)
        metadata = None if by_row is None else pl.Series(name, by_row.dense(height), _TEXT)
        if given is None:
            assert metadata is not None, name
            return metadata
        labels = pl.Series(name, given.dense(self._streams), _TEXT)[owners]
        return labels if metadata is None else labels.zip_with(labels.is_not_null(), metadata)

    def _require_columns(self) -> None:
        if len(self._labels) + len(self._metadata) > 2 * self._max_columns:
            raise TooManyColumns(f"more than {self._max_columns} different labels", limit=self._max_columns)


def _named(
    pairs: Iterable[tuple[str, V]], prefix: str, taken: Collection[str], siblings: Collection[str]
) -> Iterator[tuple[str, V]]:
    """The pairs under the names of their columns: none that is taken, and no two the same."""
    for name, value in pairs:
        column = name
        while column in taken or (column != name and column in siblings):
            column = prefix + column
        yield column, value


def _are_alike(columns: Collection[Sparse]) -> bool:
    """Whether every row that has a value in one of the columns has one in each: all then get their names alike."""
    rows = next(iter(columns)).rows
    return all(each.rows == rows for each in columns)


def _by_row(columns: Mapping[str, Sparse]) -> dict[int, dict[str, str]]:
    rows: dict[int, dict[str, str]] = {}
    for name, given in columns.items():
        for row, value in given.by_row().items():
            rows.setdefault(row, {})[name] = value
    return rows


def _times(values: Sequence[int]) -> pl.Series:
    if values and not INT64_MIN <= min(values) <= max(values) <= INT64_MAX:
        index = next(index for index, value in enumerate(values) if not INT64_MIN <= value <= INT64_MAX)
        raise InvalidEvent("the time of an entry is outside the years 1677 to 2262", index=index)
    return pl.Series(TIME, values, pl.Int64()).cast(POLARS_TYPES[ColumnType.TIMESTAMP_NS])
