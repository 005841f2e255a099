"""The times of rows that were stored before their dataset had a time column of its own (models/event_time.py).

Such a row has its time in a column of text or numbers. One that cannot be read has the time of its arrival.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

import polars as pl

from columns import POLARS_TYPES, ColumnType
from models.values.column import TIMESTAMP
from models.values.dataset import Dataset
from storage.exactly import exactly
from storage.write.declared_schema import reader, within_years

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)

NS = POLARS_TYPES[ColumnType.TIMESTAMP_NS]
# What a column of a stored type is called where its reader is chosen. JSON and lists are no times.
_TYPES = {POLARS_TYPES[each]: each for each in ColumnType if each is not ColumnType.JSON}


def complete_times(rows: Rows, present: Collection[str], time_stored: str, times_from: str | None) -> Rows:
    """The rows with a time each, in a column of nanoseconds. `present`: the columns that they have, as stored.

    >>> rows = pl.DataFrame({TIMESTAMP: [5, 6], "at": ["1970-01-01T00:00:01Z", "soon"]})
    >>> rows = rows.with_columns(pl.col(TIMESTAMP).cast(POLARS_TYPES[ColumnType.TIMESTAMP_US]))
    >>> complete_times(rows, rows.columns, "at~4", "at").get_column("at~4").cast(pl.Int64()).to_list()
    [1000000000, 6000]
    """
    if times_from is None:
        return rows
    known = [exactly(time_stored)] if time_stored in present else []
    if times_from in present:
        known.append(exactly(times_from).map_batches(read_times, return_dtype=NS, is_elementwise=True))
    return rows.with_columns(pl.coalesce(*known, exactly(TIMESTAMP).cast(NS)).alias(time_stored))


def complete_times_of(target: Dataset, rows: pl.DataFrame) -> pl.DataFrame:
    """The same for stored rows of this dataset."""
    return complete_times(rows, rows.columns, target.time_stored, target.times_from)


def read_times(values: pl.Series) -> pl.Series:
    """The time of each value, as events that arrive have it read (api.md section 4); null where there is none."""
    column_type = _TYPES.get(values.dtype)
    read = None if column_type is None else reader(column_type)
    counts = [_ns(value, read) if read else None for value in values.to_physical()]
    return pl.Series(values.name, counts, dtype=pl.Int64()).cast(NS)


def _ns(value: object, read: Callable[[object], int]) -> int | None:
    try:
        return None if value is None else within_years(read(value))
    except ValueError:
        return None
