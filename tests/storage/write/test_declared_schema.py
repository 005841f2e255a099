"""Datasets with a static schema or a time field of their own (api.md section 3, 4: types; section 5: range)."""

from datetime import UTC, datetime

import polars as pl
import pytest

from columns import POLARS_TYPES, Batch, ColumnType, Field
from errors import InvalidEvent, InvalidRequest, SchemaMismatch
from models import dataset
from models.column import Column, Schema
from models.dataset import Dataset
from storage.write.arrival import Arrival
from storage.write.declared_schema import conform, parse_time
from tests.storage.workbench import NOON, Bench, batch_of

NS, US = ColumnType.TIMESTAMP_NS, ColumnType.TIMESTAMP_US


def declared(*columns: Column, static: bool = True, time_column: str = "p_timestamp") -> tuple[Dataset, Schema]:
    made = Dataset(1, "default", "app", time_column, None, static, "logs", NOON)
    return made, Schema(1, (Column("p_timestamp", US), *columns))


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.123456789Z", 123456789),
        ("1970-01-01T00:00:00.5", 500_000_000),
        ("1970-01-01 05:30:00+05:30", 0),
        ("1970-01-01T00:00:00-0100", 3600 * 10**9),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-02", 86400 * 10**9),
        ("1970-01-01 00:00:00,250", 250_000_000),
        ("1970-01-01T00:00:01 UTC", 10**9),
        ("22/Nov/2026:10:00:00 +0000", 1_795_341_600 * 10**9),
        ("[22/Nov/2026:11:00:00 +0100]", 1_795_341_600 * 10**9),
        ("Sun, 22 Nov 2026 10:00:00 GMT", 1_795_341_600 * 10**9),
        ("1795341600", 1_795_341_600 * 10**9),
        ("1795341600.123", 1_795_341_600_123 * 10**6),
        ("1795341600123", 1_795_341_600_123 * 10**6),
        ("1795341600123456", 1_795_341_600_123_456 * 10**3),
        ("1795341600123456789", 1_795_341_600_123_456_789),
    ],
)
def test_time_is_read_exactly(text: str, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize("text", ["", "yesterday", "1970-13-01", "1970-01-01T25:00:00Z", "0", "1970-01-01T00:00:00.Z"])
def test_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


@pytest.mark.parametrize("number", [1795305592.123, 1795305592123.0, 1795305592123000.0], ids=["s", "ms", "us"])
def test_float_is_a_unix_time_as_nginx_writes_it(number: float) -> None:
    """api.md section 4: whole or with a fraction, told apart by magnitude."""
    target, schema = declared(Column("at", NS), static=False, time_column="at")

    made = conform(batch_of(at=[number]), target, schema)

    assert made.columns[0].to_physical().to_list() == [1_795_305_592_123_000_000]


@pytest.mark.parametrize("number", [float("nan"), float("inf")], ids=str)
def test_number_that_is_not_finite_is_no_time(number: float) -> None:
    target, schema = declared(Column("at", NS), static=False, time_column="at")

    with pytest.raises(InvalidEvent, match="event 0"):
        conform(batch_of(at=[number]), target, schema)


def test_text_and_integers_become_the_declared_time_together() -> None:
    target, schema = declared(Column("at", NS), static=False, time_column="at")
    sent = batch_of(at=["1970-01-01T00:00:01Z", None])
    numbers = pl.Series("at", [None, 2], dtype=pl.Int64)

    (field,) = (made := conform(_with(sent, Field("at", ColumnType.INT64), numbers), target, schema)).fields

    assert field == Field("at", NS)
    assert made.columns[0].to_physical().to_list() == [10**9, 2 * 10**9]


def _with(batch: Batch, field: Field, values: pl.Series) -> Batch:
    return Batch((*batch.fields, field), (*batch.columns, values), batch.height)


def test_text_that_is_no_time_in_the_time_field_names_its_event() -> None:
    target, schema = declared(Column("at", NS), static=False, time_column="at")

    with pytest.raises(InvalidEvent, match="'at' of event 1") as raised:
        conform(batch_of(at=["1970-01-01", "soon"]), target, schema)

    assert raised.value.details == {"index": 1}


def test_text_outside_declared_columns_stays_text() -> None:
    target, schema = declared(Column("at", NS), Column("seen", NS), static=False, time_column="at")
    sent = batch_of(at=["1970-01-01"], seen=["1970-01-01"])

    assert conform(sent, target, schema).fields == (Field("at", NS), Field("seen", ColumnType.UTF8))


@pytest.mark.parametrize(
    ("wanted", "value", "stored"),
    [
        (ColumnType.FLOAT64, 3, 3.0),
        (ColumnType.INT64, 3, 3),
        (ColumnType.DATE, "1970-01-02", datetime(1970, 1, 2, tzinfo=UTC).date()),
        (US, "1970-01-01T00:00:00.000001Z", datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
    ],
)
def test_static_schema_takes_what_fits(wanted: ColumnType, value: object, stored: object) -> None:
    made = conform(batch_of(x=[value]), *declared(Column("x", wanted)))

    assert made.fields == (Field("x", wanted),)
    assert made.columns[0].dtype == POLARS_TYPES[wanted]
    assert made.columns[0].to_list() == [stored]


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (ColumnType.INT64, 1.5),
        (ColumnType.INT64, "1"),
        (ColumnType.UTF8, 1),
        (ColumnType.BOOL, "true"),
        (ColumnType.FLOAT64, 2**53 + 1),
        (NS, True),
    ],
)
def test_static_schema_refuses_another_type(wanted: ColumnType, value: object) -> None:
    with pytest.raises(SchemaMismatch, match="'x'"):
        conform(batch_of(x=[value]), *declared(Column("x", wanted)))


@pytest.mark.parametrize("value", ["1970-01-01T12:00:00Z", "1970-01-01T00:00:00.0000001Z", "2300-01-01"])
def test_time_that_a_declared_column_cannot_hold_exactly_is_refused(value: str) -> None:
    wanted = ColumnType.DATE if "12:00" in value else US

    with pytest.raises(InvalidEvent):
        conform(batch_of(x=[value]), *declared(Column("x", wanted)))


def test_static_schema_refuses_unknown_fields() -> None:
    with pytest.raises(SchemaMismatch, match="'y'") as raised:
        conform(batch_of(x=[1], y=[1]), *declared(Column("x", ColumnType.INT64)))

    assert raised.value.details == {"field": "y"}


def test_dataset_with_its_own_time_stores_and_ranges_by_it(bench: Bench) -> None:
    bench.app = dataset.create("default", "timed", time_column="at")
    bench.storage.append(bench.app, batch_of(at=["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]), Arrival(NOON))
    noon = int(NOON.timestamp()) * 10**9

    before = bench.rows(None, noon)["at"].to_list()
    bench.convert()

    assert before == bench.rows(None, noon)["at"].to_list() == [datetime(2020, 1, 1, tzinfo=UTC)]
    assert len(list(bench.layout.root.rglob("date=20?0-01-01/hour=00/*.parquet"))) == 2


def test_event_with_something_else_in_the_time_field_is_refused(bench: Bench) -> None:
    timed = dataset.create("default", "timed", time_column="at")

    with pytest.raises(InvalidEvent, match="'at'"):
        bench.storage.append(timed, batch_of(at=[True]), Arrival(NOON))


def test_static_dataset_takes_the_servers_own_columns(bench: Bench) -> None:
    static = dataset.create("default", "static", static_schema=True, fields=[Field("x", ColumnType.INT64)])

    bench.storage.append(static, batch_of(x=[1]), Arrival(NOON, extra={"p_env": "prod"}))

    bench.app = static
    assert bench.rows().select("x", "p_env").rows() == [(1, "prod")]


@pytest.mark.parametrize(
    "fields",
    [
        [Field("p_timestamp", US)],
        [Field("x", US), Field("x", US)],
        [Field("at", ColumnType.UTF8)],
    ],
    ids=["reserved", "twice", "time that is text"],
)
@pytest.mark.usefixtures("database")
def test_impossible_declarations_are_refused(fields: list[Field]) -> None:
    with pytest.raises(InvalidRequest):
        dataset.create("default", "static", static_schema=True, time_column="at", fields=fields)
