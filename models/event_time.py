"""A dataset that went by arrival gets its events' own time: what changes in the catalogue, in one transaction.

The field's column is kept under the name that a sibling of its type would have, and a new column of timestamps takes
the field's name. Rows of before lack the new column; storage reads their times where they were until maintenance has
rewritten the files (storage/write/event_time.py).
"""

from itertools import accumulate, repeat
from typing import Final

from columns import ColumnType, Field
from errors import ColumnNotFound, InvalidRequest
from models import column
from models.base import database
from models.column import TIMESTAMP, Column, ColumnRow, Schema
from models.dataset import ARRIVAL_COLUMNS, Dataset, DatasetRow
from models.generation import changing

READABLE: Final = (
    ColumnType.UTF8,
    ColumnType.INT64,
    ColumnType.FLOAT64,
    ColumnType.DATE,
    ColumnType.TIMESTAMP_US,
    ColumnType.TIMESTAMP_NS,
)


def set_event_time(target: Dataset, field: str) -> None:
    """From now on the dataset goes by `field`. Raises DatasetNotFound, ColumnNotFound, InvalidRequest."""
    with changing(), database.atomic():
        column.lock(target.id)
        row = DatasetRow.get_by_id(target.id)
        _require_without(row)
        source = _source(column.schema(target.id), field)
        database.execute_sql(
            "UPDATE dataset_column SET name = %s WHERE dataset_id = %s AND id = %s",
            (_free_name(source, column.schema(target.id)), target.id, source.id),
        )
        column.insert(target.id, [Field(field, ColumnType.TIMESTAMP_NS)])
        added = ColumnRow.get((ColumnRow.dataset_id == target.id) & (ColumnRow.name == field))
        database.execute_sql(
            # Whoever knows the schema reads it again: a name has changed its column.
            "UPDATE dataset SET time_column = %s, time_stored = %s, times_from = %s,"
            " columns_dropped = columns_dropped + 1 WHERE id = %s",
            (field, added.stored, source.stored, target.id),
        )


def _require_without(row: DatasetRow) -> None:
    """Raises InvalidRequest."""
    if row.is_lookup:
        raise InvalidRequest(f"{row.name} is a lookup dataset: its rows have no time")
    if row.time_column != TIMESTAMP:
        raise InvalidRequest(f"{row.name} has the time field {row.time_column!r} already, which stays")


def _source(schema: Schema, field: str) -> Column:
    """Raises ColumnNotFound, InvalidRequest."""
    source = schema.by_name.get(field)
    if source is None:
        raise ColumnNotFound(f"the dataset has no column {field[:100]!r}")
    if source.type not in READABLE or field in {each.name for each in ARRIVAL_COLUMNS}:
        raise InvalidRequest(f"the column {field!r} cannot be the time: it is {source.type}, or every dataset's own")
    return source


def _free_name(source: Column, schema: Schema) -> str:
    """As siblings are called (storage/write/column_mapping.py): `created_utf8`, else `created_utf8_utf8`, and so on."""
    names = accumulate(repeat(f"_{source.type.value}"), initial=f"{source.name}_{source.type.value}")
    return next(name for name in names if name not in schema.by_name)
