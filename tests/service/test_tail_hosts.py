"""Live tails over several hosts: what another host acknowledges, one that is missing and returns, one that leaves."""

from collections.abc import Callable, Iterator

import pytest

from tests.running import Service, wait_until
from tests.service.test_several_hosts import Deployment, bucket, deploy, node
from tests.tails import follow

pytest.importorskip("moto")
__all__ = ["bucket", "deploy"]


def numbers(rows: list[dict[str, int]]) -> list[int]:
    return sorted(row["n"] for row in rows)


@pytest.fixture
def pair(deploy: Callable[[], Deployment]) -> Iterator[tuple[Service, Service]]:
    deployment = deploy()
    # Segments are converted all the time.
    here, there = (deployment.host(name, WEIR_FLUSH_SECONDS="1").start() for name in ("here", "there"))
    yield here, there
    for each in (here, there):
        each.stop()


def test_rows_of_every_host_come_once_and_a_position_is_good_at_any_host(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.ingest("app", [{"n": -1}]).raise_for_status()
    with follow(here, "SELECT n FROM app") as first, follow(there, "SELECT n FROM app") as second:
        for number in range(60):
            (here, there)[number % 2].ingest("app", [{"n": number}]).raise_for_status()
        for tail in (first, second):
            assert numbers(tail.wait_for(60)) == list(range(60))
    for number in range(60, 80):
        (here, there)[number % 2].ingest("app", [{"n": number}]).raise_for_status()

    # In the middle of what the other host delivered.
    event = first.events[29]
    with follow(there, "SELECT n FROM app", event.id) as again:
        seen = [row["n"] for row in first.rows[:30]]
        assert numbers(again.wait_for(50)) == sorted(set(range(80)) - set(seen))


def test_a_missing_host_is_named_and_its_rows_follow_when_it_is_back(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.ingest("app", [{"n": 0}]).raise_for_status()
    with follow(here, "SELECT n FROM app") as tail:
        there.ingest("app", [{"n": 1}]).raise_for_status()
        tail.wait_for(1)
        there.kill()
        wait_until(lambda: bool(tail.named("missing")))
        here.ingest("app", [{"n": 2}]).raise_for_status()
        tail.wait_for(2)
        there.start()
        there.ingest("app", [{"n": 3}]).raise_for_status()
        wait_until(lambda: bool(tail.named("returned")))

        assert tail.named("missing")[0]["host"] == node(there)
        assert numbers(tail.wait_for(3)) == [1, 2, 3]


def test_a_deleted_key_ends_the_stream_at_another_host(pair: tuple[Service, Service]) -> None:
    here, there = pair
    here.ingest("app", [{"n": 0}]).raise_for_status()
    key = here.make_key("elsewhere", {"privilege": "reader", "resource": {"dataset": "app"}})
    key_id = here.call("GET", "/api/console/v1/apikeys").json()[0]["keyId"]
    with follow(there, "SELECT n FROM app", key=key) as tail:
        here.call("DELETE", f"/api/console/v1/apikeys/{key_id}").raise_for_status()

        assert tail.ended.wait(15)
        assert tail.named("end")[0]["code"] == "unauthenticated"
