"""Columns that are dropped, and what one sender may add (docs/storage.md, "Columns")."""

import pytest

from errors import ColumnNotFound, InvalidRequest, TooManyColumns
from models import column, dataset, file
from models.column import Limits
from models.file import File
from storage.upkeep.compaction import compact
from storage.write.arrival import Arrival, Share
from storage.write.engine import Storage
from tests.storage.workbench import NOON, Bench, batch_of


def drop(bench: Bench, name: str) -> None:
    found = column.schema(bench.app.id).by_name[name]
    bench.storage.drop_column("default", "app", str(found.id))


def append(bench: Bench, **columns: list[object]) -> None:
    """As a request does: the dataset is looked up."""
    bench.append(target=bench.storage.find("default", "app"), **columns)


def values(bench: Bench, name: str) -> list[object]:
    """Of the column that has this name now."""
    stored = column.schema(bench.app.id).stored(name)
    return [] if stored is None else bench.rows()[stored].drop_nulls().to_list()


def test_a_dropped_column_is_gone_from_segments_and_files(bench: Bench) -> None:
    bench.append(x=[1], y=[1])
    bench.convert()
    bench.append(x=[2], y=[2])

    drop(bench, "x")

    assert "x" not in bench.rows().columns
    assert sorted(values(bench, "y")) == [1, 2]


def test_a_column_of_the_same_name_comes_again_with_another_type(bench: Bench) -> None:
    append(bench, x=[1])
    bench.convert()
    append(bench, x=[2])

    drop(bench, "x")
    append(bench, x=["text"])

    assert column.schema(bench.app.id).by_name["x"].type == "utf8"
    assert values(bench, "x") == ["text"]
    bench.convert()
    assert values(bench, "x") == ["text"]
    drop(bench, "x")
    append(bench, x=[0.5])
    assert values(bench, "x") == [0.5]


def test_another_worker_knows_with_its_next_request(bench: Bench) -> None:
    other = Storage(bench.layout, flush_seconds=60)
    other.append(other.find("default", "app"), batch_of(x=[1]), Arrival(NOON))

    drop(bench, "x")
    other.append(other.find("default", "app"), batch_of(x=[2]), Arrival(NOON))

    assert values(bench, "x") == [2]
    other.close()


def test_conversion_and_compaction_leave_the_values_out(bench: Bench) -> None:
    for number in range(8):
        bench.append(x=["sensitive"], y=[number])
        if number:
            bench.convert()
    drop(bench, "x")
    bench.append(y=[8])
    bench.convert()

    assert compact(bench.layout) > 1

    live = [each for each in _files(bench) if "x" in each.stats]
    assert live == []
    assert sorted(values(bench, "y")) == list(range(9))


def _files(bench: Bench) -> list[File]:
    return list(file.find(bench.app.id, None, None, ("x",)))


@pytest.mark.parametrize("name", ["p_timestamp", "p_src_ip", "p_user_agent"])
def test_what_every_row_has_is_not_dropped(bench: Bench, name: str) -> None:
    with pytest.raises(InvalidRequest):
        drop(bench, name)

    assert name in column.schema(bench.app.id).by_name


def test_the_time_column_and_the_partition_field_are_not_dropped(bench: Bench) -> None:
    made = dataset.create("default", "timed", time_column="moment", custom_partition="region")
    bench.append(target=made, moment=["2026-01-02T12:00:00Z"], region=["eu"])
    known = column.schema(made.id).by_name

    for name in ("moment", "region"):
        with pytest.raises(InvalidRequest):
            bench.storage.drop_column("default", "timed", str(known[name].id))


@pytest.mark.parametrize("number", ["0", "99", "-1", "x", "9" * 40])
def test_a_column_that_is_not_there_is_not_found(bench: Bench, number: str) -> None:
    with pytest.raises(ColumnNotFound):
        bench.storage.drop_column("default", "app", number)


def test_one_sender_cannot_use_up_the_columns(bench: Bench) -> None:
    bench.storage._limits = Limits(columns=20, new=5, own=8)

    def send(sender: str | None, *names: str) -> None:
        arrival = Arrival(NOON, sender=sender)
        bench.storage.append(bench.storage.find("default", "app"), batch_of(**{name: [1] for name in names}), arrival)

    with pytest.raises(TooManyColumns, match="one request may bring 5"):
        send("key:a", *"abcdef")
    send("key:a", *"abcde")
    with pytest.raises(TooManyColumns, match="at most 8"):
        send("key:a", *"fghi")
    send("key:a", *"abcfgh")
    with pytest.raises(TooManyColumns):
        send("key:a", "i")
    send("key:b", "level")
    send("key:a", "level", "a")
    drop(bench, "a")
    send("key:a", "i")

    assert values(bench, "level") == [1, 1]
    assert values(bench, "i") == [1]


def test_new_columns_of_several_senders_are_each_its_own(bench: Bench) -> None:
    """Requests that are stored together are stored apart when one of them brings a column (web/batcher.py)."""
    shares = (Share(Arrival(NOON, sender="key:a"), 1), Share(Arrival(NOON, sender="key:b"), 1))

    with pytest.raises(TooManyColumns):
        bench.storage.append_shared(bench.app, batch_of(x=[1, 2]), shares)
    bench.storage.append(bench.app, batch_of(x=[1]), shares[0].arrival)
    bench.storage.append_shared(bench.app, batch_of(x=[1, 2]), shares)

    assert column.schema(bench.app.id).by_name["x"].added_by == "key:a"
    assert values(bench, "x") == [1, 1, 2]
