"""Schema changes are exact and the same for everybody, whoever comes first."""

import multiprocessing

import pytest

from columns import ColumnType, Field
from errors import DatasetNotFound, TooManyColumns
from models import base, column, dataset
from models.column import Change, Column, Limits, arrange

pytestmark = pytest.mark.usefixtures("database")

X_INT = Field("x", ColumnType.INT64)
X_TEXT = Field("x", ColumnType.UTF8)


def test_new_dataset_has_the_arrival_columns_with_the_timestamp_first() -> None:
    made = dataset.create("default", "app")

    assert [each.name for each in column.schema(made.id).columns] == ["p_timestamp", "p_src_ip", "p_user_agent"]


def test_event_columns_stand_between_the_timestamp_and_the_other_arrival_columns() -> None:
    made = dataset.create("default", "app")

    schema = column.evolve(made.id, Change(add=(X_INT, Field("a", ColumnType.JSON))), Limits(10), None)

    assert [each.name for each in schema.columns] == ["p_timestamp", "x", "a", "p_src_ip", "p_user_agent"]
    assert schema == column.schema(made.id)


def test_first_type_of_a_name_stays() -> None:
    made = dataset.create("default", "app")
    column.evolve(made.id, Change(add=(X_INT,)), Limits(10), None)

    schema = column.evolve(made.id, Change(add=(X_TEXT,)), Limits(10), None)

    assert schema.by_name["x"].type is ColumnType.INT64


def test_integer_column_widens_once_and_never_holds_large_integers_after() -> None:
    made = dataset.create("default", "app")
    column.evolve(made.id, Change(add=(X_INT,)), Limits(10), None)

    column.evolve(made.id, Change(widen=("x",)), Limits(10), None)
    schema = column.evolve(made.id, Change(hold_large=("x",)), Limits(10), None)

    assert (schema.by_name["x"].type, schema.by_name["x"].holds_large) == (ColumnType.FLOAT64, False)


def test_a_column_of_lists_of_integers_widens_to_lists_of_floats() -> None:
    made = dataset.create("default", "app")
    column.evolve(made.id, Change(add=(Field("x", ColumnType.LIST_INT64),)), Limits(10), None)

    schema = column.evolve(made.id, Change(widen=("x",)), Limits(10), None)

    assert (schema.by_name["x"].type, schema.by_name["x"].holds_large) == (ColumnType.LIST_FLOAT64, False)


def test_column_that_holds_large_integers_never_widens() -> None:
    made = dataset.create("default", "app")
    column.evolve(made.id, Change(add=(X_INT,), hold_large=("x",)), Limits(10), None)

    schema = column.evolve(made.id, Change(widen=("x",)), Limits(10), None)

    assert (schema.by_name["x"].type, schema.by_name["x"].holds_large) == (ColumnType.INT64, True)


def test_only_the_named_column_widens() -> None:
    made = dataset.create("default", "app")
    column.evolve(made.id, Change(add=(X_INT, Field("y", ColumnType.INT64))), Limits(10), None)

    schema = column.evolve(made.id, Change(widen=("x",)), Limits(10), None)

    assert schema.by_name["y"].type is ColumnType.INT64


def test_column_limit_refuses_with_the_numbers_and_changes_nothing() -> None:
    """api.md section 4: at most 1,000 columns, a setting."""
    made = dataset.create("default", "app")

    with pytest.raises(TooManyColumns, match=r"2 new columns, which makes 5 .* at most 4") as raised:
        column.evolve(made.id, Change(add=(X_INT, Field("y", ColumnType.BOOL))), Limits(4), None)

    assert raised.value.details == {"limit": 4}
    assert "x" not in column.schema(made.id).by_name


def test_deleted_dataset_takes_no_columns() -> None:
    made = dataset.create("default", "app")
    dataset.delete("default", "app")

    with pytest.raises(DatasetNotFound):
        column.evolve(made.id, Change(add=(X_INT,)), Limits(10), None)


def test_arrangement_keeps_the_order_of_appearance_within_each_part() -> None:
    names = ["p_b", "z", "p_timestamp", "a", "p_a"]

    arranged = arrange(Column(name, ColumnType.UTF8) for name in names)

    assert [each.name for each in arranged] == ["p_timestamp", "z", "a", "p_b", "p_a"]


def _add_many(url: str, dataset_id: int, kind: ColumnType) -> None:
    base.bind(url)
    for number in range(20):
        column.evolve(
            dataset_id, Change(add=(Field(f"c{number}", kind), Field(f"{kind}{number}", kind))), Limits(100), None
        )


def test_two_processes_that_first_see_the_same_columns_agree(database_url: str) -> None:
    made = dataset.create("default", "app")
    context = multiprocessing.get_context("spawn")
    kinds = (ColumnType.INT64, ColumnType.UTF8)
    rivals = [context.Process(target=_add_many, args=(database_url, made.id, kind)) for kind in kinds]

    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()

    schema = column.schema(made.id)
    assert [rival.exitcode for rival in rivals] == [0, 0]
    assert len(schema.columns) == 3 + 20 + 40
