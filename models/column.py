"""The columns of a dataset: their names, types and order, and the only four ways in which they may change.

Columns are added, a column of integers may widen to floats, or it may be marked as holding integers that a float
cannot, after which it never widens. So a schema that was read earlier is always a correct, if smaller, one, until an
administrator drops a column, which `Dataset.columns_dropped` tells.
"""

from collections.abc import Collection, Sequence

from peewee import BigIntegerField, BooleanField, CompositeKey, IntegerField, TextField

from columns import WIDER, ColumnType, Field
from errors import ColumnNotFound, DatasetNotFound, InvalidRequest, TooManyColumns
from models.base import Table, connection, database
from models.generation import changing
from models.stored_name import stored_name
from models.values.column import ARRIVAL_PREFIX as ARRIVAL_PREFIX
from models.values.column import TIMESTAMP as TIMESTAMP
from models.values.column import Change as Change
from models.values.column import Column as Column
from models.values.column import Limits as Limits
from models.values.column import Schema as Schema
from models.values.column import arrange as arrange


class ColumnRow(Table):
    dataset_id = BigIntegerField()
    id = IntegerField()
    name = TextField()
    stored = TextField()
    type = TextField()
    holds_large = BooleanField(default=False)
    added_by = TextField(null=True)
    widened = IntegerField(default=0)

    class Meta:
        table_name = "dataset_column"
        primary_key = CompositeKey("dataset_id", "id")


def schema(dataset_id: int) -> Schema:
    """The dataset's schema as of now; empty if there is no such dataset."""
    with connection():
        # Plain SQL: every query calls this, and Peewee takes longer to build the statement than PostgreSQL to run it.
        rows = database.execute_sql(
            "SELECT name, type, holds_large, stored, id, added_by, widened"
            " FROM dataset_column WHERE dataset_id = %s ORDER BY id",
            (dataset_id,),
        )
        found = (Column(name, ColumnType(kind), *rest) for name, kind, *rest in rows.fetchall())
        return Schema(dataset_id, arrange(found))


def schemas(tenant: str) -> dict[int, Schema]:
    """The schemas of all datasets of the tenant, by their ids, as of one moment."""
    with connection():
        rows = database.execute_sql(
            "SELECT dataset_id, c.name, type, holds_large, stored, c.id, added_by, widened"
            " FROM dataset_column c JOIN dataset d ON d.id = c.dataset_id"
            " WHERE d.tenant = %s ORDER BY dataset_id, c.id",
            (tenant,),
        )
        found: dict[int, list[Column]] = {}
        for dataset_id, name, kind, *rest in rows.fetchall():
            found.setdefault(dataset_id, []).append(Column(name, ColumnType(kind), *rest))
        return {dataset_id: Schema(dataset_id, arrange(columns)) for dataset_id, columns in found.items()}


def schemas_version(tenant: str) -> str:
    """Another one whenever a dataset of the tenant comes or goes or its columns change, and only then."""
    with connection():
        row = database.execute_sql(
            "SELECT md5(string_agg(concat_ws(' ', id, columns_made, columns_widened, columns_dropped), ','"
            " ORDER BY id))"
            " FROM dataset WHERE tenant = %s",
            (tenant,),
        ).fetchone()
        return str(row[0])


def dropped(dataset_id: int) -> dict[int, str]:
    """The columns that were dropped, by id, as files made before call them."""
    with connection():
        rows = database.execute_sql("SELECT id, stored FROM dropped_column WHERE dataset_id = %s", (dataset_id,))
        return dict(rows.fetchall())


def evolve(dataset_id: int, change: Change, limits: Limits, sender: str | None) -> Schema:
    """Apply as much of `change` as is still possible; return the resulting schema.

    If two processes add one name with two types, or one widens a column that the other marks as large, the first one
    wins, and the other finds that in the returned schema. Raises DatasetNotFound, and TooManyColumns without a change.
    """
    with connection(), database.atomic():
        lock(dataset_id)
        present = schema(dataset_id)
        missing = [each for each in change.add if each.name not in present.by_name]
        if missing:
            _check(missing, present, limits, sender)
            insert(dataset_id, missing, sender)
        _mark(change, schema(dataset_id))
        return schema(dataset_id)


def lock(dataset_id: int) -> None:
    """One schema change of a dataset at a time: positions stay unique and the limit exact. Raises DatasetNotFound."""
    found = database.execute_sql("SELECT 1 FROM dataset WHERE id = %s FOR UPDATE", (dataset_id,)).fetchone()
    if found is None:
        raise DatasetNotFound("the dataset was deleted meanwhile")


def _check(missing: Sequence[Field], present: Schema, limits: Limits, sender: str | None) -> None:
    """Raises TooManyColumns."""
    total = len(present.columns) + len(missing)
    need = f"the events need {len(missing)} new columns"
    if total > limits.columns:
        raise TooManyColumns(
            f"{need}, which makes {total} in the dataset; at most {limits.columns} are allowed", limit=limits.columns
        )
    if sender is None:
        return
    if len(missing) > limits.new:
        raise TooManyColumns(f"{need}; one request may bring {limits.new}", limit=limits.new)
    own = sum(each.added_by == sender for each in present.columns) + len(missing)
    if own > limits.own:
        raise TooManyColumns(f"{need}, which makes {own} by this sender; at most {limits.own} are", limit=limits.own)


def insert(dataset_id: int, fields: Sequence[Field], sender: str | None = None) -> None:
    """Give the dataset, which the caller has locked or just made, the columns."""
    last = database.execute_sql(
        "UPDATE dataset SET columns_made = columns_made + %s WHERE id = %s RETURNING columns_made",
        (len(fields), dataset_id),
    ).fetchone()[0]
    stored_names = {
        name
        for (name,) in database.execute_sql(
            "SELECT stored FROM dataset_column WHERE dataset_id = %s"
            " UNION ALL SELECT stored FROM dropped_column WHERE dataset_id = %s",
            (dataset_id, dataset_id),
        ).fetchall()
    }
    for number, new_field in enumerate(fields, start=last - len(fields) + 1):
        stored_as = stored_name(new_field.name, number, stored_names)
        ColumnRow.create(
            dataset_id=dataset_id,
            id=number,
            name=new_field.name,
            stored=stored_as,
            type=new_field.type.value,
            added_by=sender,
        )
        stored_names.add(stored_as)


def _mark(change: Change, schema: Schema) -> None:
    columns = {name: schema.by_name[name] for name in (*change.hold_large, *change.widen) if name in schema.by_name}
    for name, column in columns.items():
        row = (ColumnRow.dataset_id == schema.dataset_id) & (ColumnRow.id == column.id)
        if name in change.hold_large and column.type in WIDER:
            ColumnRow.update(holds_large=True).where(row).execute()
        if name in change.widen and column.type in WIDER:
            number = _next_widened(schema.dataset_id)
            wider = {"type": WIDER[column.type].value, "widened": number}
            ColumnRow.update(wider).where(row & ~ColumnRow.holds_large).execute()


def _next_widened(dataset_id: int) -> int:
    """Counted, because a dropped column takes its number with it."""
    counted = database.execute_sql(
        "UPDATE dataset SET columns_widened = columns_widened + 1, widened_at = now() WHERE id = %s"
        " RETURNING columns_widened",
        (dataset_id,),
    )
    return int(counted.fetchone()[0])


def drop(dataset_id: int, column_id: str, required: Collection[str]) -> Column:
    """Delete the column and return it. If its name comes again, that is a new column.

    Raises DatasetNotFound, ColumnNotFound, and InvalidRequest if the name is one of `required`.
    """
    with changing(), database.atomic():
        lock(dataset_id)
        column = next((each for each in schema(dataset_id).columns if str(each.id) == column_id), None)
        if column is None:
            raise ColumnNotFound(f"the dataset has no column {column_id[:20]!r}")
        if column.name in required:
            raise InvalidRequest(f"the column {column.name!r} cannot be dropped: the dataset's rows need it")
        ColumnRow.delete().where((ColumnRow.dataset_id == dataset_id) & (ColumnRow.id == column.id)).execute()
        database.execute_sql(
            "INSERT INTO dropped_column (dataset_id, id, name, stored) VALUES (%s, %s, %s, %s)",
            (dataset_id, column.id, column.name, column.stored),
        )
        database.execute_sql("UPDATE dataset SET columns_dropped = columns_dropped + 1 WHERE id = %s", (dataset_id,))
    return column
