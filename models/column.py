"""The columns of a dataset: their names, types and order, and the only three ways in which they may change.

Columns are added, a column of integers may widen to floats, or it may be marked as holding integers that a float
cannot, after which it never widens. So a schema that was read earlier is always a correct, if smaller, one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from peewee import BigIntegerField, BooleanField, CompositeKey, IntegerField, TextField

from columns import WIDER, ColumnType, Field
from errors import DatasetNotFound, TooManyColumns
from models.base import Table, connection, database

TIMESTAMP: Final = "p_timestamp"
ARRIVAL_PREFIX: Final = "p_"


class ColumnRow(Table):
    dataset_id = BigIntegerField()
    name = TextField()
    type = TextField()
    position = IntegerField()
    holds_large = BooleanField(default=False)

    class Meta:
        table_name = "dataset_column"
        primary_key = CompositeKey("dataset_id", "name")


@dataclass(frozen=True, slots=True)
class Column:
    """A stored column. `holds_large`: it may hold integers beyond ±2^53 and therefore never widens."""

    name: str
    type: ColumnType
    holds_large: bool = False


@dataclass(frozen=True)
class Schema:
    """The columns of one dataset at one moment, in the order in which `SELECT *` and the schema endpoint show them."""

    dataset_id: int
    columns: tuple[Column, ...]
    by_name: Mapping[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {column.name: column for column in self.columns})


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch needs of a schema before it can be stored."""

    add: tuple[Field, ...] = ()
    widen: tuple[str, ...] = ()
    hold_large: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add or self.widen or self.hold_large)


def arrange(columns: Iterable[Column]) -> tuple[Column, ...]:
    """`p_timestamp`, then what events brought in order of first appearance, then the other `p_` columns."""
    return tuple(sorted(columns, key=_rank))


def _rank(column: Column) -> int:
    if column.name == TIMESTAMP:
        return 0
    return 2 if column.name.startswith(ARRIVAL_PREFIX) else 1


def schema(dataset_id: int) -> Schema:
    """The dataset's schema as of now; empty if there is no such dataset."""
    with connection():
        # Written out, because every query comes by here, and Peewee takes longer to write it than PostgreSQL to answer.
        rows = database.execute_sql(
            "SELECT name, type, holds_large FROM dataset_column WHERE dataset_id = %s ORDER BY position", (dataset_id,)
        )
        found = (Column(name, ColumnType(kind), holds_large) for name, kind, holds_large in rows.fetchall())
        return Schema(dataset_id, arrange(found))


def evolve(dataset_id: int, change: Change, max_columns: int) -> Schema:
    """Apply as much of `change` as is still possible and return the schema that resulted.

    Of rivals that want one name with two types, or to widen and to hold large integers, the first wins and the
    other sees it in the answer. Raises TooManyColumns, and then nothing has changed, or DatasetNotFound.
    """
    with connection(), database.atomic():
        _lock(dataset_id)
        _add(dataset_id, change.add, max_columns)
        _mark(dataset_id, change)
        return schema(dataset_id)


def _lock(dataset_id: int) -> None:
    """One schema change of a dataset at a time: positions stay unique and the limit exact."""
    found = database.execute_sql("SELECT 1 FROM dataset WHERE id = %s FOR UPDATE", (dataset_id,)).fetchone()
    if found is None:
        raise DatasetNotFound("the dataset was deleted meanwhile")


def _add(dataset_id: int, fields: tuple[Field, ...], max_columns: int) -> None:
    if not fields:
        return
    present = {row.name for row in ColumnRow.select(ColumnRow.name).where(ColumnRow.dataset_id == dataset_id)}
    missing = [each for each in fields if each.name not in present]
    wanted = len(present) + len(missing)
    if missing and wanted > max_columns:
        raise TooManyColumns(
            f"the events need {len(missing)} new columns, which makes {wanted} in the dataset; "
            f"at most {max_columns} are allowed",
            limit=max_columns,
        )
    for position, each in enumerate(missing, start=len(present)):
        ColumnRow.create(dataset_id=dataset_id, name=each.name, type=each.type.value, position=position)


def _mark(dataset_id: int, change: Change) -> None:
    for narrow, wide in WIDER.items():
        integer = (ColumnRow.dataset_id == dataset_id) & (ColumnRow.type == narrow.value)
        if change.hold_large:
            ColumnRow.update(holds_large=True).where(integer & ColumnRow.name.in_(change.hold_large)).execute()
        if change.widen:
            ColumnRow.update(type=wide.value).where(
                integer & ColumnRow.name.in_(change.widen) & ~ColumnRow.holds_large
            ).execute()
