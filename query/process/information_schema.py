"""`information_schema.tables` and `.columns`: the datasets and columns that whoever asks may see, as PostgreSQL lists
its own. What may be seen was decided before; here it is only written down.

Source: PostgreSQL documentation, chapter "The Information Schema".
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from query.engine import Table
from query.pg.types import PgType

CATALOG: Final = "weir"
SCHEMA: Final = "public"
DatasetColumns = tuple[str, tuple[tuple[str, PgType], ...]]

_TABLES: Final = (
    "table_catalog table_schema table_name table_type self_referencing_column_name reference_generation"
    " user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into is_typed"
    " commit_action"
).split()
_COLUMNS: Final = (
    "table_catalog table_schema table_name column_name ordinal_position column_default is_nullable data_type"
    " character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale"
    " datetime_precision interval_type interval_precision character_set_catalog character_set_schema character_set_name"
    " collation_catalog collation_schema collation_name domain_catalog domain_schema domain_name udt_catalog udt_schema"
    " udt_name scope_catalog scope_schema scope_name maximum_cardinality dtd_identifier is_self_referencing is_identity"
    " identity_generation identity_start identity_increment identity_maximum identity_minimum identity_cycle"
    " is_generated generation_expression is_updatable"
).split()
_NUMBERS: Final = frozenset(
    "ordinal_position character_maximum_length character_octet_length numeric_precision numeric_precision_radix"
    " numeric_scale datetime_precision interval_precision maximum_cardinality".split()
)
_PRECISIONS: Final[Mapping[str, Mapping[str, int]]] = {
    "int8": {"numeric_precision": 64, "numeric_precision_radix": 2, "numeric_scale": 0},
    "float8": {"numeric_precision": 53, "numeric_precision_radix": 2},
    "date": {"datetime_precision": 0},
    "timestamptz": {"datetime_precision": 6},
}
Row = Mapping[str, str | int]


def relations(datasets: Iterable[DatasetColumns]) -> dict[str, Table]:
    """Both relations, by their qualified names, over the datasets with their visible columns in order."""
    listed = tuple(datasets)
    return {
        "information_schema.tables": _table(_TABLES, (_dataset(name) for name, _ in listed)),
        "information_schema.columns": _table(_COLUMNS, (row for each in listed for row in _columns(*each))),
    }


def _table(names: Iterable[str], rows: Iterable[Row]) -> Table:
    kinds = {name: pl.Int32() if name in _NUMBERS else pl.String() for name in names}
    return Table(pl.DataFrame(list(rows), schema=kinds).lazy())


def _dataset(name: str) -> Row:
    # No INSERT writes to a dataset.
    return {**_place(name), "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}


def _columns(dataset: str, columns: Iterable[tuple[str, PgType]]) -> Iterator[Row]:
    for position, (name, kind) in enumerate(columns, 1):
        yield {
            **_place(dataset),
            "column_name": name,
            "ordinal_position": position,
            "is_nullable": "YES",
            "data_type": "ARRAY" if kind.element is not None else kind.sql_name,
            **_PRECISIONS.get(kind.name if kind.element is None else "", {}),
            "udt_catalog": CATALOG,
            "udt_schema": "pg_catalog",
            "udt_name": kind.name if kind.element is None else f"_{kind.element.name}",
            "dtd_identifier": str(position),
            "is_self_referencing": "NO",
            "is_identity": "NO",
            "identity_cycle": "NO",
            "is_generated": "NEVER",
            "is_updatable": "NO",
        }


def _place(dataset: str) -> Row:
    return {"table_catalog": CATALOG, "table_schema": SCHEMA, "table_name": dataset}
