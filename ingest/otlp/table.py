"""Puts values into named, typed columns: one row per record. Settles collisions of names. Knows no protocol.

Who gets a name, row by row: the columns that every record of the signal has; then the attributes of the record; then
those of its outer levels, the nearest first. Who comes second gets its level's prefix, as often as it takes
(docs/ingestion-otlp.md). So no value is lost, and a record gives the same row in whatever company it is sent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from columns import POLARS_TYPES, Batch, ColumnType, Field
from errors import TooManyColumns
from ingest.batch_builder import MAX_NAME_BYTES, require_size
from ingest.decoded import Decoded
from ingest.otlp.times import LAST, timestamps
from ingest.otlp.values import JsonText, Value
from ingest.sparse_column import Sparse

# The arrival column. An event that brings its own is refused, as JSON events are (docs/decisions/otlp.md).
ARRIVAL: Final = "p_timestamp"

# About so many of a signal's own columns are ever filled.
_USUAL_COLUMNS: Final = 10

_TYPES: Final[Mapping[type, ColumnType]] = {
    str: ColumnType.UTF8,
    bool: ColumnType.BOOL,
    int: ColumnType.INT64,
    float: ColumnType.FLOAT64,
    JsonText: ColumnType.JSON,
}


class Level:
    """The messages of one level of the request, and which of them each row belongs to."""

    def __init__(self, owners: list[int], count: int) -> None:
        self.owners = owners
        self.count = count
        self._index: pl.Series | None = None

    def spread(self, series: pl.Series) -> pl.Series:
        """One value per message becomes one value per row."""
        if self.count == 1:
            return series.new_from_index(0, len(self.owners))
        if self._index is None:
            self._index = pl.Series(self.owners, dtype=pl.UInt32)
        # Not `gather`, which takes the way of an expression: 150 us for each column.
        return series[self._index]


@dataclass(frozen=True, slots=True)
class _Part:
    """The values that one level gave to one name. `level` is None where they are given by row."""

    given: Sparse
    level: Level | None

    def by_row(self) -> "_Part":
        if self.level is None:
            return self
        value_of = self.given.by_row()
        rows = [row for row, owner in enumerate(self.level.owners) if owner in value_of]
        return _Part(Sparse(rows, [value_of[self.level.owners[row]] for row in rows]), None)


class Table:
    """Collects the columns of one request. `own` names the columns that a record of this signal may have."""

    def __init__(self, height: int, own: Iterable[str], max_columns: int) -> None:
        self.height = height
        self._own = frozenset(own)
        self._max_columns = max_columns
        self._columns: list[tuple[Field, pl.Series]] = []
        self._parts: dict[str, list[_Part]] = {}
        # Which rows, and the word for the first objection to each.
        self._refused: dict[int, str] = {}
        self._message = ""
        require_size(height, _USUAL_COLUMNS)

    def add(
        self,
        name: str,
        type: ColumnType,
        values: Sequence[Any] | pl.Series,
        level: Level | None = None,
        *,
        displaced: bool = False,
    ) -> None:
        """A column of the signal's own, of one type. `values` are by message of `level`, or else by row."""
        assert name in self._own, name
        series = values if isinstance(values, pl.Series) else pl.Series(values, dtype=POLARS_TYPES[type])
        spread = series if level is None else level.spread(series)
        self._columns.append((Field(name, type, displaced), spread.alias(name)))

    def add_texts(self, name: str, values: Sequence[str | None], level: Level | None = None) -> None:
        """Protobuf cannot tell an empty string from none: both are null, and a column of nulls is none."""
        if any(values):
            given = values if all(values) else [value or None for value in values]
            self.add(name, ColumnType.UTF8, given, level)

    def add_integers(self, name: str, values: Sequence[int | None], level: Level | None = None) -> None:
        """Integers; those beyond 64 bits with sign as decimal text in a column of type text."""
        try:
            self.add(name, ColumnType.INT64, values, level)
        except (OverflowError, TypeError):
            fits = [value if value is not None and value <= LAST else None for value in values]
            self.add(name, ColumnType.INT64, fits, level)
            self.add(name, ColumnType.UTF8, _too_large(values), level, displaced=True)

    def add_times(self, name: str, values: Sequence[int | None]) -> None:
        """Unix nanoseconds. Zero is null; what lies beyond 2262 goes to a text column as decimal text."""
        self.add(name, ColumnType.TIMESTAMP_NS, timestamps(values))
        if max(filter(None, values), default=0) > LAST:
            self.add(name, ColumnType.UTF8, _too_large(values), displaced=True)

    def add_values(self, name: str, values: Sequence[Value | None]) -> None:
        """A column of the signal's own whose values may be of several types."""
        for type, series in _by_type(values):
            self.add(name, type, series)

    def add_attributes(self, prefix: str, attributes: Mapping[str, Sparse], level: Level | None = None) -> None:
        """Attributes of one level. Levels are added in the order in which they have a right to their names.

        Every attribute asks for its own name before any asks for a prefixed one, so that where a value goes does not
        depend on what else is in the request.
        """
        if len(attributes) + len(self._parts) > self._max_columns:
            raise TooManyColumns(f"the request has more than {self._max_columns} different attribute names")
        require_size(self.height, len(self._columns) + len(self._parts) + len(attributes))
        waiting = {name: _Part(given, level) for name, given in attributes.items()}
        while waiting:
            left = {prefix + name: self._place(name, part) for name, part in waiting.items()}
            waiting = {name: part for name, part in left.items() if part is not None}

    def _place(self, name: str, part: _Part) -> _Part | None:
        """Gives the name to `part`; what is left of it are the rows in which the name is taken."""
        objection = _objection(name)
        if objection is not None:
            self._refuse(part.by_row().given.rows, *objection)
            return None
        return part if name in self._own else self._claim(name, part)

    def _claim(self, name: str, part: _Part) -> _Part | None:
        """What is left of `part` once the rows in which nobody has the name have got it."""
        if name not in self._parts:
            self._parts[name] = [part]
            return None
        parts = [other.by_row() for other in self._parts[name]]
        claimed_rows = set().union(*(other.given.rows for other in parts))
        free, clashing = Sparse(), Sparse()
        given = part.by_row().given
        for row, value in zip(given.rows, given.values, strict=True):
            side = clashing if row in claimed_rows else free
            side.rows.append(row)
            side.values.append(value)
        if free.rows:
            self._parts[name] = [*parts, _Part(free, None)]
        return _Part(clashing, None) if clashing.rows else None

    def _refuse(self, rows: Iterable[int], reason: str, message: str) -> None:
        for row in rows:
            self._refused.setdefault(row, reason)
        self._message = self._message or message

    def finish(self) -> Decoded:
        """The batch, without the records that were refused."""
        columns = [*self._columns, *self._attribute_columns()]
        if not self._refused:
            return Decoded(_batch(columns, self.height))
        kept = pl.Series([row not in self._refused for row in range(self.height)], dtype=pl.Boolean)
        columns = [(field, series.filter(kept)) for field, series in columns]
        count = len(self._refused)
        reasons = Counter(self._refused.values())
        return Decoded(_batch(columns, self.height - count), reasons, f"{count} refused: {self._message}")

    def _attribute_columns(self) -> Iterable[tuple[Field, pl.Series]]:
        for name, parts in self._parts.items():
            for type, series in self._series(parts):
                yield Field(name, type), series.alias(name)

    def _series(self, parts: list[_Part]) -> Iterable[tuple[ColumnType, pl.Series]]:
        level = parts[0].level
        if level is not None:
            return [(type, level.spread(series)) for type, series in _by_type(parts[0].given.dense(level.count))]
        together = parts[0].given
        for other in parts[1:]:
            together = Sparse(together.rows + other.given.rows, together.values + other.given.values)
        return _by_type(together.dense(self.height))


def _objection(name: str) -> tuple[str, str] | None:
    """Why a record with an attribute of this name is not stored: a word to count by, and a sentence."""
    if name == ARRIVAL:
        return "reserved_name", f"the attribute name {ARRIVAL} is reserved for the time of arrival"
    if "\0" in name:
        return "invalid_name", "an attribute name contains a NUL"
    if len(name.encode()) > MAX_NAME_BYTES:
        return "invalid_name", f"an attribute name is longer than {MAX_NAME_BYTES} bytes"
    return None


def _batch(columns: list[tuple[Field, pl.Series]], height: int) -> Batch:
    """Without the columns that hold nothing but nulls, as a Batch wants it."""
    filled = [(field, series) for field, series in columns if series.null_count() < height]
    return Batch(tuple(field for field, _ in filled), tuple(series for _, series in filled), height)


def _by_type(values: Sequence[Value | None]) -> list[tuple[ColumnType, pl.Series]]:
    """A series for every type among the values, in the order in which the types are first seen."""
    kinds = [kind for kind in dict.fromkeys(map(type, values)) if kind in _TYPES]
    if len(kinds) == 1:
        return [_one_type(kinds[0], values)]
    return [_one_type(kind, [value if type(value) is kind else None for value in values]) for kind in kinds]


def _one_type(kind: type, values: Sequence[Value | None]) -> tuple[ColumnType, pl.Series]:
    return _TYPES[kind], pl.Series(values, dtype=POLARS_TYPES[_TYPES[kind]])


def _too_large(values: Sequence[int | None]) -> list[str | None]:
    return [str(value) if value is not None and value > LAST else None for value in values]


def concatenate(parts: Sequence[Decoded]) -> Decoded:
    """Several tables, one below the other. Columns stand in the order of their first appearance."""
    batches = [part.batch for part in parts]
    fields = list(dict.fromkeys(field for batch in batches for field in batch.fields))
    columns = [(field, pl.concat([_column_or_nulls(batch, field) for batch in batches])) for field in fields]
    reasons = sum((Counter(part.reasons) for part in parts), Counter())
    message = "; ".join(part.message for part in parts if part.message)
    return Decoded(_batch(columns, sum(batch.height for batch in batches)), reasons, message)


def _column_or_nulls(batch: Batch, field: Field) -> pl.Series:
    if field in batch.fields:
        return batch.columns[batch.fields.index(field)]
    return pl.Series(field.name, [None], dtype=POLARS_TYPES[field.type]).new_from_index(0, batch.height)
