"""What a file says of its columns, by readers that are not ours (docs/decisions/open-files.md)."""

from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as parquet
import pytest

from columns import POLARS_TYPES, ColumnType, Field
from models import column, dataset, file
from models.column import Column, Schema
from models.dataset import Dataset
from models.file import File
from storage.context import Layout
from storage.files.parquet import Origin, write
from storage.files.statistics import Condition
from storage.read.scan import scan
from storage.read.snapshot import Snapshot, take_snapshot
from tests.storage.workbench import NOON, Bench

VALUES = {
    ColumnType.BOOL: True,
    ColumnType.INT64: -(2**63),
    ColumnType.FLOAT64: 0.1,
    ColumnType.UTF8: "ü",
    ColumnType.JSON: '{"a":1}',
    ColumnType.DATE: date(2026, 1, 2),
    ColumnType.TIMESTAMP_US: datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC),
    ColumnType.TIMESTAMP_NS: 1_767_323_045_678_901_234,
    ColumnType.LIST_BOOL: [True, None],
    ColumnType.LIST_INT64: [1, None],
    ColumnType.LIST_FLOAT64: [0.5],
    ColumnType.LIST_UTF8: ["a", ""],
}
SCHEMA = Schema(7, tuple(Column(kind.value, kind, id=number) for number, kind in enumerate(VALUES, start=1)))
TARGET = Dataset(7, "default", "app", "timestamp_us", None, False, "logs", NOON)


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, File]:
    """A file with a column of every type."""
    series = [pl.Series(kind.value, [value]).cast(POLARS_TYPES[kind]) for kind, value in VALUES.items()]
    made = write(Layout(tmp_path), "default/app/date=2026-01-02/hour=03", pl.DataFrame(series), Origin(TARGET, SCHEMA))
    return tmp_path / made.path, made


def test_every_column_and_list_element_has_a_field_id(written: tuple[Path, File]) -> None:
    """Iceberg, "Column Projection": columns are found by the field ids of the data file."""
    schema = parquet.ParquetFile(written[0]).schema_arrow

    ids = {each.name: int(each.metadata[b"PARQUET:field_id"]) for each in schema}
    elements = {each.name: each.type.value_field for each in schema if each.name.startswith("list")}

    assert ids == {each.name: each.id for each in SCHEMA.columns}
    assert {name: int(each.metadata[b"PARQUET:field_id"]) for name, each in elements.items()} == {
        name: ids[name] + 1_000_000_000 for name in elements
    }


def test_nanoseconds_are_plain_integers_and_other_readers_see_small_types(written: tuple[Path, File]) -> None:
    schema = parquet.read_schema(written[0])

    assert {each.name: str(each.type) for each in schema} == {
        "bool": "bool",
        "int64": "int64",
        "float64": "double",
        "utf8": "string",
        "json": "string",
        "date": "date32[day]",
        "timestamp_us": "timestamp[us, tz=UTC]",
        "timestamp_ns": "int64",
        "list_bool": "list<element: bool>",
        "list_int64": "list<element: int64>",
        "list_float64": "list<element: double>",
        "list_utf8": "list<element: string>",
    }


def test_pyarrow_reads_every_value(written: tuple[Path, File]) -> None:
    (row,) = parquet.read_table(written[0]).to_pylist()

    assert row == {kind.value: value for kind, value in VALUES.items()}


def test_duckdb_reads_every_value(written: tuple[Path, File]) -> None:
    duckdb = pytest.importorskip("duckdb")

    source = f"read_parquet('{written[0]}', hive_partitioning = false)"
    relation = duckdb.sql(f"SELECT * EXCLUDE (timestamp_us), epoch_us(timestamp_us) AS us FROM {source}")
    (values,) = relation.fetchall()
    row = dict(zip(relation.columns, values, strict=True))

    expected = {kind.value: value for kind, value in VALUES.items() if kind is not ColumnType.TIMESTAMP_US}
    assert row == {**expected, "us": 1_767_323_045_678_901}


def test_own_scan_gives_the_columns_their_types(written: tuple[Path, File], tmp_path: Path) -> None:
    snapshot = Snapshot(str(tmp_path), SCHEMA, TARGET.time_column, None, None, (written[1],), ())

    (row,) = scan(snapshot).cast({"timestamp_ns": pl.Int64()}).collect().rows(named=True)

    assert scan(snapshot).collect_schema() == {kind.value: POLARS_TYPES[kind] for kind in VALUES}
    assert row == {kind.value: value for kind, value in VALUES.items()}


@pytest.fixture
def nanoseconds(bench: Bench) -> Bench:
    """A dataset whose own times are nanoseconds; its file has three row groups."""
    bench.app = dataset.create("default", "spans", fields=(Field("at", ColumnType.TIMESTAMP_NS),))
    return bench


def _snapshot(bench: Bench, *conditions: Condition) -> Snapshot:
    return take_snapshot(bench.layout, bench.app, columns=["at"]).relevant([conditions] if conditions else [])


def _old_file(bench: Bench, times: list[int]) -> None:
    """A file as it was written before there was a form."""
    schema = column.schema(bench.app.id)
    rows = pl.DataFrame({"at": times}).with_columns(
        at=pl.col("at").cast(pl.Datetime("ns", "UTC")),
        p_timestamp=pl.lit(NOON).cast(pl.Datetime("us", "UTC")),
    )
    made = write(bench.layout, "default/spans/date=2026-01-02/hour=12", rows, Origin(bench.app, schema))
    rows.write_parquet(bench.layout.root / made.path)
    file.insert([File(**{**{name: getattr(made, name) for name in made.__slots__}, "format": 0})], NOON)


def test_old_and_new_files_of_nanoseconds_are_read_together(nanoseconds: Bench) -> None:
    _old_file(nanoseconds, [1, 2])
    schema = column.schema(nanoseconds.app.id)
    rows = pl.DataFrame({"at": [3, None]}).with_columns(
        at=pl.col("at").cast(pl.Datetime("ns", "UTC")), p_timestamp=pl.lit(NOON).cast(pl.Datetime("us", "UTC"))
    )
    made = write(nanoseconds.layout, "default/spans/date=2026-01-02/hour=12", rows, Origin(nanoseconds.app, schema))
    file.insert([made], NOON)

    found = scan(_snapshot(nanoseconds)).select(pl.col("at").cast(pl.Int64())).collect().to_series()
    chosen = scan(_snapshot(nanoseconds, Condition("at", ">=", 2))).filter(pl.col("at").cast(pl.Int64()) >= 2).collect()

    assert sorted(found, key=lambda value: value or 9) == [1, 2, 3, None]
    assert chosen.height == 2


def test_condition_on_nanoseconds_leaves_out_rows_of_other_times(nanoseconds: Bench) -> None:
    """The scan itself filters, on the integers of the file, whose row groups have statistics."""
    schema = column.schema(nanoseconds.app.id)
    rows = pl.DataFrame({"at": range(10)}).with_columns(
        at=pl.col("at").cast(pl.Datetime("ns", "UTC")), p_timestamp=pl.lit(NOON).cast(pl.Datetime("us", "UTC"))
    )
    file.insert([write(nanoseconds.layout, "default/spans/x=1", rows, Origin(nanoseconds.app, schema))], NOON)

    either = _snapshot(nanoseconds).relevant([[Condition("at", "<", 2)], [Condition("at", "=", 7)]])
    unbounded = _snapshot(nanoseconds).relevant([[Condition("at", "<", 2)], []])

    assert sorted(scan(either).select(pl.col("at").cast(pl.Int64())).collect().to_series()) == [0, 1, 7]
    assert scan(unbounded).collect().height == 10
