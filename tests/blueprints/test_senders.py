"""Who sends how much to a dataset, over HTTP: by key and user, added up over all workers."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from blueprints.senders import by_sender
from models.sender_count import Counted, Sender, Sent
from tests.running import Service, wait_until

NOW = datetime(2026, 1, 2, 3, 9, tzinfo=UTC)
FIVE = timedelta(minutes=5)


@pytest.fixture
def name() -> str:
    return f"sent-{uuid.uuid4().hex[:12]}"


def senders(service: Service, name: str, query: str = "") -> Any:
    answer = service.call("GET", f"/api/v1/logstream/{name}/senders{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_key_and_user_has_its_numbers(service: Service, name: str) -> None:
    key = service.make_key(f"shop-{name}", {"privilege": "ingestor", "resource": {"dataset": name}})
    for _ in range(3):
        service.ingest(name, [{"a": 1}, {"a": 2}], **{"X-API-Key": key}).raise_for_status()
    service.ingest(name, {"a": 1})

    def counted() -> bool:
        return sum(each["requests"] for each in senders(service, name)["senders"]) == 4

    wait_until(counted)
    found = senders(service, name)
    assert found["bucketSeconds"] == 300
    of_key, of_admin = found["senders"]
    assert (of_key["kind"], of_key["name"]) == ("api_key", f"shop-{name}")
    assert (of_key["events"], of_key["bytes"], of_key["requests"]) == (6, 3 * len(b'[{"a": 1}, {"a": 2}]'), 3)
    assert sum(each["events"] for each in of_key["buckets"]) == 6
    assert of_key["eventsPerSecond"] > 0
    assert (of_admin["kind"], of_admin["id"], of_admin["events"]) == ("native", "admin", 1)


def test_repetitions_are_not_counted_as_they_are_not_stored(service: Service, name: str) -> None:
    for _ in range(2):
        service.ingest(name, {"a": 1}, **{"Idempotency-Key": name})
    service.ingest(name, {"a": 2})

    wait_until(lambda: sum(each["requests"] for each in senders(service, name)["senders"]) == 2)
    assert senders(service, name)["senders"][0]["events"] == 2


@pytest.mark.parametrize("hours", ["0", "25", "x"])
def test_hours_are_one_to_a_day(service: Service, name: str, hours: str) -> None:
    service.ingest(name, {"a": 1})

    answer = service.call("GET", f"/api/v1/logstream/{name}/senders?hours={hours}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_a_dataset_that_there_is_not_is_404(service: Service, name: str) -> None:
    answer = service.call("GET", f"/api/v1/logstream/{name}/senders")

    assert (answer.status_code, answer.json()["code"]) == (404, "dataset_not_found")


def counted(sender: str, begins: datetime, events: int) -> Counted:
    return Counted(Sender("native", sender), sender, begins, Sent(begins, events, 10 * events, 1))


def test_rates_are_of_the_bucket_under_way_and_the_one_before() -> None:
    """03:09 is four minutes into its bucket: nine minutes count."""
    under_way = NOW - timedelta(minutes=4)
    found = by_sender([counted("ann", under_way - 2 * FIVE, 1000), counted("ann", under_way - FIVE, 540)], NOW)

    assert [(each["events"], each["eventsPerSecond"], each["bytesPerSecond"]) for each in found] == [(1540, 1.0, 10.0)]


def test_who_stored_most_comes_first() -> None:
    found = by_sender([counted("ann", NOW - FIVE, 1), counted("bob", NOW - FIVE, 2), counted("ann", NOW, 2)], NOW)

    assert [(each["name"], each["events"]) for each in found] == [("ann", 3), ("bob", 2)]
