"""The table of what senders stored: added up, named, forgotten after a day."""

from datetime import UTC, datetime, timedelta

import pytest

from models import api_key, dataset, sender_count
from models.api_key import NewApiKey
from models.base import database as catalogue
from models.dataset import Dataset
from models.sender_count import Bucket, Counted, Sender, Sent, bucket_of

NOW = datetime.now(UTC)
BEGINS = bucket_of(NOW)
ANN = Sender("native", "ann")
KEY = Sender("api_key", "k1")


@pytest.fixture
def app(database: None) -> Dataset:
    return dataset.create("default", "app")


def bucket(app: Dataset, sender: Sender, begins: datetime = BEGINS) -> Bucket:
    return Bucket(app.id, sender, begins)


def test_what_several_workers_add_is_one_number(app: Dataset) -> None:
    earlier = NOW - timedelta(seconds=1)
    sender_count.add([(bucket(app, ANN), Sent(NOW, 1, 10, 1)), (bucket(app, KEY), Sent(NOW, 5, 50, 1))])
    sender_count.add([(bucket(app, ANN), Sent(earlier, 2, 20, 3))])

    (of_key, of_ann) = sender_count.find("default", app.id, NOW)
    assert of_ann == Counted(ANN, "ann", BEGINS, Sent(NOW, 3, 30, 4))
    assert of_key == Counted(KEY, None, BEGINS, Sent(NOW, 5, 50, 1)), "a key that is deleted has no name"


def test_a_key_has_the_name_that_its_tenant_gave_it(app: Dataset) -> None:
    catalogue.execute_sql("INSERT INTO tenant (id) VALUES ('other')")
    for tenant, name in (("default", "shipper"), ("other", "not ours")):
        key = NewApiKey(f"k-{tenant}", tenant, name, name.encode(), b"", "admin", NOW, None)
        api_key.create(key, [])
    ours, theirs = (Sender("api_key", f"k-{tenant}") for tenant in ("default", "other"))
    sender_count.add([(bucket(app, ours), Sent(NOW, 1, 1, 1)), (bucket(app, theirs), Sent(NOW, 1, 1, 1))])

    assert [each.name for each in sender_count.find("default", app.id, NOW)] == ["shipper", None]


def test_only_buckets_that_end_after_the_instant_are_found(app: Dataset) -> None:
    before = BEGINS - timedelta(minutes=5)
    sender_count.add([(bucket(app, ANN, each), Sent(each, 1, 1, 1)) for each in (before, BEGINS)])

    assert [each.begins for each in sender_count.find("default", app.id, BEGINS)] == [BEGINS]
    found = sender_count.find("default", app.id, BEGINS - timedelta(seconds=1))
    assert [each.begins for each in found] == [before, BEGINS]


def test_a_dataset_that_is_gone_has_none_and_takes_none(app: Dataset) -> None:
    sender_count.add([(bucket(app, ANN), Sent(NOW, 1, 1, 1))])
    dataset.delete("default", "app")

    sender_count.add([(bucket(app, ANN), Sent(NOW, 1, 1, 1))])

    assert sender_count.find("default", app.id, NOW) == []


def test_a_day_is_kept(app: Dataset) -> None:
    # Of this instant, and a bucket away from the edge: the tests before may have taken half an hour.
    now = datetime.now(UTC)
    kept, old = bucket_of(now - timedelta(hours=23, minutes=55)), bucket_of(now - timedelta(hours=24, minutes=15))
    sender_count.add([(bucket(app, ANN, each), Sent(each, 1, 1, 1)) for each in (old, kept)])

    assert sender_count.expire() == 1
    assert [each.begins for each in sender_count.find("default", app.id, old)] == [kept]
    assert sender_count.expire() == 0
