"""Who does the work that is to be done once: one host at a time, and another one when it is gone."""

import pytest

from errors import StorageUnavailable
from models import leader
from storage.cluster import leadership
from storage.cluster.leadership import Leadership
from storage.upkeep.maintenance import PeriodicTask, Tasks
from tests.storage.workbench import Bench

pytestmark = pytest.mark.usefixtures("database")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(leadership, "monotonic", made)
    return made


def test_one_host_leads_and_another_follows_at_once_when_it_lets_go(clock: Clock) -> None:
    first, second = Leadership("a", 60), Leadership("b", 60)

    assert [first.holds(), second.holds(), first.holds()] == [True, False, True]
    assert leader.current() == "a"
    first.release()
    clock.now += 60 / 3
    assert [second.holds(), first.holds()] == [True, False]


def test_lease_that_is_not_renewed_goes_to_another(clock: Clock) -> None:
    """A lease in the past is what a dead leader leaves behind."""
    assert Leadership("a", -1).holds() is False
    assert leader.current() is None

    assert Leadership("b", 60).holds()
    assert leader.current() == "b"


def test_leader_that_lost_the_database_does_not_go_on(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Leadership("a", 60)
    assert held.holds()

    def away(*_: object) -> bool:
        raise StorageUnavailable("away")

    monkeypatch.setattr(leader, "acquire", away)
    clock.now += 60 / 3 + 1
    with pytest.raises(StorageUnavailable):
        held.holds()
    held._ask_at = float("inf")
    clock.now += 60

    assert not held.holds()


def test_only_the_leader_does_what_is_to_be_done_once(bench: Bench) -> None:
    done: list[str] = []
    leads = [True, False]

    def task(name: str) -> PeriodicTask:
        return PeriodicTask(lambda: done.append(name) or 0, 0)

    for each in leads:
        tasks = Tasks(bench.layout, 0, lambda: None, (task("own"),), (task("led"),), leads=lambda now=each: now)
        tasks.round()

    assert done == ["own", "led", "own"]
