"""Runs of routed columns, joined into one Batch within limits. Knows no wire format and no stored schema."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from columns import Batch, ColumnType, Field
from errors import InvalidEvent, TooLarge, TooManyColumns
from ingest.column_values import EMPTY_LIST, Kind, Oversized, RoutedColumn, column_type, json_text, series

MAX_NAME_BYTES: Final = 1000
"""Column names are kept in PostgreSQL, whose indexes hold no more than 2,704 bytes an entry, and never a NUL."""

MAX_CELLS: Final = 20_000_000
"""Rows times columns of one batch. A body of 64 MiB without gaps holds at most 13 million values, so only a batch
of mostly empty columns gets here; its nulls alone would take gigabytes."""

SERVICE_COLUMNS: Final = 3
"""The service adds about so many columns of its own to each row."""

MAX_COLUMNS: Final = 1000
"""The default of WEIR_MAX_COLUMNS, per dataset."""


def require_size(rows: int, columns: int) -> None:
    """Raises TooLarge for a batch that would be mostly empty cells (`MAX_CELLS`)."""
    if rows * (columns + SERVICE_COLUMNS) > MAX_CELLS:
        raise TooLarge(
            f"{rows} events of {columns} different fields in one request; send fewer events at a time",
            limit=MAX_CELLS,
        )


def fault_of_name(name: str) -> str | None:
    """Why there can be no column of that name, if so."""
    if "\0" in name:
        return "contains a NUL"
    return f"is longer than {MAX_NAME_BYTES} bytes" if len(name.encode()) > MAX_NAME_BYTES else None


class BatchBuilder:
    """Collects the columns of consecutive runs of rows and joins them into one Batch."""

    def __init__(self, *, max_columns: int = MAX_COLUMNS) -> None:
        self._max_columns = max_columns
        self._parts: dict[str, dict[Kind, list[tuple[int, pl.Series]]]] = {}
        self._only: Batch | None = None
        self.height = 0

    def append(self, batch: Batch) -> None:
        """Append a run that is a batch by itself, with names that columns may have. If it stays the only one, it is
        the result: most bodies are one run, and taking columns apart and together again is 2 us for each."""
        if self.height == 0 and not self._parts:
            require_size(batch.height, len(batch.fields))
            self._only, self.height = batch, batch.height
        else:
            self.add(_columns(batch), batch.height)

    def add(self, columns: Iterable[RoutedColumn], height: int) -> None:
        """Append a run of `height` rows."""
        if self._only is not None:
            first, self._only, self.height = self._only, None, 0
            self.add(_columns(first), first.height)
        for name, variants in columns:
            if variants and name not in self._parts:
                self._require_name(name, variants)
                self._parts[name] = {}
            for kind, column in variants.items():
                self._parts[name].setdefault(kind, []).append((self.height, column))
        self.height += height
        require_size(self.height, len(self._parts))

    def finish(self) -> Batch:
        """Everything added so far. The builder is not used after this."""
        if self._only is not None:
            return self._only
        variants = [
            (_field(name, kind), column)
            for name, kinds in self._parts.items()
            for kind, column in _settled(name, {kind: self._joined(name, kind, kinds[kind]) for kind in kinds}).items()
        ]
        fields = tuple(field for field, _ in variants)
        return Batch(fields, tuple(column for _, column in variants), self.height)

    def _require_name(self, name: str, variants: Mapping[Kind, pl.Series]) -> None:
        if len(self._parts) >= self._max_columns:
            raise TooManyColumns(f"more than {self._max_columns} different fields", limit=self._max_columns)
        fault = fault_of_name(name)
        if fault is not None:
            row = min(column.is_not_null().arg_max() or 0 for column in variants.values())
            raise InvalidEvent(f"the name of a field {fault}", index=self.height + row)

    def _joined(self, name: str, kind: Kind, parts: Sequence[tuple[int, pl.Series]]) -> pl.Series:
        """The parts one below the other, with nulls for the rows between them."""
        if len(parts[0][1]) == self.height:
            return parts[0][1]
        pieces: list[pl.Series] = []
        end = 0
        for start, part in parts:
            pieces += [*_nulls(name, kind, start - end), part]
            end = start + len(part)
        return pl.concat([*pieces, *_nulls(name, kind, self.height - end)])


def _columns(batch: Batch) -> Iterable[RoutedColumn]:
    return ((field.name, {_kind(field): column}) for field, column in zip(batch.fields, batch.columns, strict=True))


def _field(name: str, kind: Kind) -> Field:
    return Field(name, column_type(kind), isinstance(kind, Oversized))


def _kind(field: Field) -> Kind:
    return Oversized.INTEGER if field.displaced else field.type


def _nulls(name: str, kind: Kind, height: int) -> Sequence[pl.Series]:
    return [series(name, [None], kind).new_from_index(0, height)] if height else []


def _settled(name: str, variants: Mapping[Kind, pl.Series]) -> Mapping[Kind, pl.Series]:
    """Lists without elements join the first list type of their name, else its JSON, else they are lists of text.

    docs/ingestion-json.md, "Empty lists".
    """
    settled: dict[Kind, pl.Series] = {kind: column for kind, column in variants.items() if kind is not None}
    empty = variants.get(EMPTY_LIST)
    if empty is None:
        return settled
    host = next((kind for kind, column in settled.items() if column.dtype == pl.List), None)
    if host is None:
        host = ColumnType.JSON if ColumnType.JSON in settled else ColumnType.LIST_UTF8
    fitted = _as_json(empty) if host is ColumnType.JSON else empty
    if host not in settled:
        return {**settled, host: fitted}
    return {**settled, host: fitted.cast(settled[host].dtype).zip_with(empty.is_not_null(), settled[host])}


def _as_json(empty: pl.Series) -> pl.Series:
    texts = [None if value is None else json_text(value) for value in empty.to_list()]
    return series(empty.name, texts, ColumnType.JSON)
