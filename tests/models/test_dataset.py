"""Datasets are found by tenant and name, and a name that is free again means a new dataset."""

import pytest

from columns import ColumnType, Field
from errors import DatasetExists, DatasetNotFound
from models import column, dataset, generation

pytestmark = pytest.mark.usefixtures("database")


def test_created_dataset_is_found_with_everything_it_was_created_with() -> None:
    made = dataset.create(
        "acme", "app", time_column="at", custom_partition="region", static_schema=True, telemetry_type="traces"
    )

    assert dataset.find("acme", "app") == made
    assert (made.time_column, made.custom_partition, made.static_schema) == ("at", "region", True)


def test_static_fields_follow_the_arrival_timestamp() -> None:
    made = dataset.create("default", "app", fields=[Field("level", ColumnType.UTF8)])

    assert [each.name for each in column.schema(made.id).columns][:2] == ["p_timestamp", "level"]


def test_deletion_advances_the_generation_with_its_commit() -> None:
    """What other hosts keep of the dataset is stale from then on."""
    dataset.create("acme", "app")
    before = generation.current()

    dataset.delete("acme", "app")

    assert generation.current() == before + 1


def test_name_exists_once_in_a_tenant_and_again_in_another() -> None:
    dataset.create("acme", "app")
    dataset.create("other", "app")

    with pytest.raises(DatasetExists, match="'app'"):
        dataset.create("acme", "app")


def test_list_holds_the_tenants_own_datasets_by_name() -> None:
    for tenant, name in (("acme", "b"), ("acme", "a"), ("other", "c")):
        dataset.create(tenant, name)

    assert [each.name for each in dataset.find_all("acme")] == ["a", "b"]


def test_unknown_dataset_is_not_found() -> None:
    with pytest.raises(DatasetNotFound, match="'nothing'"):
        dataset.find("default", "nothing")


def test_recreated_dataset_is_another_one_without_the_old_columns() -> None:
    old = dataset.create("default", "app", fields=[Field("x", ColumnType.BOOL)])
    dataset.delete("default", "app")

    new = dataset.create("default", "app")

    assert new.id != old.id
    assert "x" not in column.schema(new.id).by_name
    assert dataset.find_many([old.id, new.id]) == [new]


def test_deleting_what_is_not_there_is_not_found() -> None:
    with pytest.raises(DatasetNotFound):
        dataset.delete("default", "app")
