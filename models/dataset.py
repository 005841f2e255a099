"""Datasets: what a tenant keeps its events in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from peewee import BigAutoField, BooleanField, IntegerField, IntegrityError, TextField
from playhouse.postgres_ext import ArrayField, DateTimeTZField

from columns import ColumnType, Field
from errors import DatasetExists, DatasetNotFound, InvalidRequest
from models import column
from models.base import Table, connection, database
from models.column import TIMESTAMP
from models.generation import changing
from models.stored_name import is_plain
from models.values.dataset import ARRIVAL_COLUMNS as ARRIVAL_COLUMNS
from models.values.dataset import DEFAULT_TENANT as DEFAULT_TENANT
from models.values.dataset import Dataset as Dataset

TIMESTAMP_TYPES: Final = (ColumnType.TIMESTAMP_US, ColumnType.TIMESTAMP_NS)


class DatasetRow(Table):
    id = BigAutoField()
    tenant = TextField()
    name = TextField()
    time_column = TextField()
    custom_partition = TextField(null=True)
    static_schema = BooleanField()
    telemetry_type = TextField()
    created_at = DateTimeTZField()
    is_lookup = BooleanField()
    retention_days = IntegerField(null=True)
    retention_description = TextField(default="")
    columns_dropped = IntegerField(default=0)
    time_stored = TextField(null=True)
    times_from = TextField(null=True)
    indexed_columns = ArrayField(TextField, index=False, null=True)
    deduplication_seconds = IntegerField(null=True)

    class Meta:
        table_name = "dataset"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a dataset keeps its events. `description` is the user's own note."""

    days: int
    description: str = ""


def create(
    tenant: str,
    name: str,
    *,
    time_column: str = TIMESTAMP,
    custom_partition: str | None = None,
    static_schema: bool = False,
    telemetry_type: str = "logs",
    is_lookup: bool = False,
    fields: Sequence[Field] = (),
) -> Dataset:
    """The new dataset, with the columns every row has and then `fields`. Raises DatasetExists, InvalidRequest.

    A `time_column` of the events' own becomes a timestamp of nanoseconds, unless `fields` says microseconds. A lookup
    dataset has none.
    """
    if is_lookup and time_column != TIMESTAMP:
        raise InvalidRequest("the rows of a lookup dataset have no time: leave out X-P-Time-Partition")
    declared = _with_time(tuple(fields), time_column)
    with connection():
        try:
            with database.atomic():
                row = DatasetRow.create(
                    tenant=tenant,
                    name=name,
                    time_column=time_column,
                    custom_partition=custom_partition,
                    static_schema=static_schema,
                    telemetry_type=telemetry_type,
                    is_lookup=is_lookup,
                    created_at=datetime.now(UTC),
                )
                database.execute_sql("INSERT INTO dataset_total (dataset_id) VALUES (%s)", (row.id,))
                column.insert(row.id, (*ARRIVAL_COLUMNS, *declared))
        except IntegrityError as error:
            raise DatasetExists(f"the dataset {name!r} exists already") from error
        return _dataset(row)


def _with_time(fields: tuple[Field, ...], time_column: str) -> tuple[Field, ...]:
    """The fields and the time column. Raises InvalidRequest for one that is no timestamp, and for reserved names."""
    names = [each.name for each in fields]
    reserved = [each.name for each in ARRIVAL_COLUMNS if each.name in names]
    if reserved or len(set(names)) < len(names):
        raise InvalidRequest(f"a field is reserved or declared twice: {', '.join(reserved or sorted(names))}")
    if time_column == TIMESTAMP:
        return fields
    if not is_plain(time_column):
        # Its files are sorted and chosen by it, under the name that it has here.
        raise InvalidRequest(f"the time field {time_column[:100]!r} has characters that a time field may not have")
    column_type = next((each.type for each in fields if each.name == time_column), None)
    if time_column in {each.name for each in ARRIVAL_COLUMNS} or column_type not in (None, *TIMESTAMP_TYPES):
        raise InvalidRequest(f"the time field {time_column!r} cannot be one: it is {column_type or 'reserved'}")
    return fields if column_type else (*fields, Field(time_column, ColumnType.TIMESTAMP_NS))


def find(tenant: str, name: str) -> Dataset:
    """The dataset of that name. Raises DatasetNotFound."""
    with connection():
        row = DatasetRow.get_or_none((DatasetRow.tenant == tenant) & (DatasetRow.name == name))
    if row is None:
        raise DatasetNotFound(f"there is no dataset {name!r}")
    return _dataset(row)


def find_all(tenant: str) -> list[Dataset]:
    """Every dataset of the tenant, by name."""
    with connection():
        rows = DatasetRow.select().where(DatasetRow.tenant == tenant).order_by(DatasetRow.name)
        return [_dataset(row) for row in rows]


def populated(tenant: str) -> frozenset[int]:
    """The ids of the tenant's datasets that ever got an event.

    Known before conversion by the columns that events bring beside the time column; a static schema has them
    beforehand.
    """
    with connection():
        rows = database.execute_sql(
            "SELECT d.id FROM dataset d LEFT JOIN dataset_total t ON t.dataset_id = d.id WHERE tenant = %s"
            " AND (events > 0 OR NOT static_schema"
            " AND (SELECT count(*) FROM dataset_column c WHERE c.dataset_id = d.id) > %s + (time_column <> %s)::int)",
            (tenant, len(ARRIVAL_COLUMNS), TIMESTAMP),
        )
        return frozenset(number for (number,) in rows.fetchall())


def find_many(dataset_ids: Sequence[int]) -> list[Dataset]:
    """Those of the datasets that still exist."""
    with connection():
        return [_dataset(row) for row in DatasetRow.select().where(DatasetRow.id.in_(list(dataset_ids)))]


def with_old_times() -> list[Dataset]:
    """Those that may have rows of before they had a time column of their own."""
    with connection():
        return [_dataset(row) for row in DatasetRow.select().where(~DatasetRow.times_from.is_null())]


def retention(dataset_id: int) -> Retention | None:
    """The dataset's retention; None: everything is kept."""
    with connection():
        row = DatasetRow.get_or_none(DatasetRow.id == dataset_id)
    return (
        None if row is None or row.retention_days is None else Retention(row.retention_days, row.retention_description)
    )


def set_retention(dataset_id: int, wanted: Retention | None) -> None:
    """From now on the dataset keeps its events so long. Raises DatasetNotFound."""
    days, description = (None, "") if wanted is None else (wanted.days, wanted.description)
    with connection():
        changed = (
            DatasetRow.update(retention_days=days, retention_description=description)
            .where(DatasetRow.id == dataset_id)
            .execute()
        )
    if not changed:
        raise DatasetNotFound("the dataset was deleted meanwhile")


def indexed_columns(dataset_id: int) -> list[str] | None:
    """The columns whose texts new files have an index of; None: they are chosen by their texts."""
    with connection():
        row = DatasetRow.get_or_none(DatasetRow.id == dataset_id)
    return None if row is None else row.indexed_columns


def set_indexed_columns(dataset_id: int, names: Sequence[str] | None) -> None:
    """From now on new files have an index of these columns; None: of those that are chosen by their texts.

    Raises DatasetNotFound.
    """
    columns = None if names is None else list(names)
    with connection():
        changed = DatasetRow.update(indexed_columns=columns).where(DatasetRow.id == dataset_id).execute()
    if not changed:
        raise DatasetNotFound("the dataset was deleted meanwhile")


def set_deduplication(dataset_id: int, seconds: int | None) -> None:
    """From now on a body that its sender repeats is recognised for so long; None: not at all.

    Raises DatasetNotFound.
    """
    with changing():
        changed = DatasetRow.update(deduplication_seconds=seconds).where(DatasetRow.id == dataset_id).execute()
    if not changed:
        raise DatasetNotFound("the dataset was deleted meanwhile")


def retained() -> list[tuple[int, int]]:
    """The id of every dataset that has a retention, and its days."""
    with connection():
        rows = DatasetRow.select(DatasetRow.id, DatasetRow.retention_days).where(~DatasetRow.retention_days.is_null())
        return [(row.id, row.retention_days or 0) for row in rows]


def delete(tenant: str, name: str) -> Dataset:
    """Forget the dataset and its columns, and mark its files for removal; the name is free at once.

    Returns what was deleted. Its unconverted records carry an id that is never used again. Raises DatasetNotFound.
    """
    with changing():
        dataset = find(tenant, name)
        deleted = DatasetRow.delete().where(DatasetRow.id == dataset.id).execute()
        if not deleted:
            raise DatasetNotFound(f"there is no dataset {name!r}")
        database.execute_sql(
            "UPDATE file SET removed_at = now() WHERE dataset_id = %s AND removed_at IS NULL", (dataset.id,)
        )
    return dataset


def _dataset(row: DatasetRow) -> Dataset:
    return Dataset(
        row.id,
        row.tenant,
        row.name,
        row.time_column,
        row.custom_partition,
        row.static_schema,
        row.telemetry_type,
        row.created_at,
        row.columns_dropped,
        row.is_lookup,
        row.time_stored or "",
        row.times_from,
        None if row.indexed_columns is None else tuple(row.indexed_columns),
        row.deduplication_seconds,
    )
