"""information_schema against PostgreSQL's own: the same columns, and the same rows for a like table."""

import psycopg
import pytest

from columns import POLARS_TYPES, ColumnType
from query.engine import table_schema
from query.plan.environment import schema_of
from query.process.information_schema import relations
from tests.conftest import NewDatabase

FIELDS = {
    "text": ColumnType.UTF8,
    "bigint": ColumnType.INT64,
    "double precision": ColumnType.FLOAT64,
    "boolean": ColumnType.BOOL,
    "jsonb": ColumnType.JSON,
    "date": ColumnType.DATE,
    "timestamptz": ColumnType.TIMESTAMP_US,
    "text[]": ColumnType.LIST_UTF8,
    "bigint[]": ColumnType.LIST_INT64,
    "double precision[]": ColumnType.LIST_FLOAT64,
    "boolean[]": ColumnType.LIST_BOOL,
}
# Where the answers differ because nobody writes to a dataset with SQL.
OTHER = {"table_catalog", "udt_catalog", "is_insertable_into", "is_updatable", "character_octet_length"}


@pytest.mark.parametrize("relation", ["tables", "columns"])
def test_rows_are_those_of_postgresql(new_database: NewDatabase, relation: str) -> None:
    columns = [(f"c{number}", kind) for number, kind in enumerate(FIELDS.values())]
    written = ", ".join(f"c{number} {name}" for number, name in enumerate(FIELDS))
    with new_database() as url, psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE app ({written})")
        found = connection.execute(f"SELECT * FROM information_schema.{relation} WHERE table_name = 'app'")
        names = [each.name for each in found.description or ()]
        theirs = [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    json_names = {name for name, kind in columns if kind is ColumnType.JSON}
    seen = schema_of([(name, POLARS_TYPES[kind]) for name, kind in columns], json_names).columns
    table = relations([("app", seen)])[f"information_schema.{relation}"]
    ours = table.frame.collect().to_dicts()

    assert list(ours[0]) == names
    assert len(ours) == len(theirs)
    position = "ordinal_position" if relation == "columns" else "table_name"
    for mine, other in zip(ours, sorted(theirs, key=lambda row: row[position]), strict=True):
        assert {k: v for k, v in mine.items() if k not in OTHER} == {k: v for k, v in other.items() if k not in OTHER}


def test_types_of_the_relations_are_text_and_integer() -> None:
    schema = table_schema(relations([])["information_schema.columns"])

    assert {kind.name for _, kind in schema.columns} == {"text", "int4"}
