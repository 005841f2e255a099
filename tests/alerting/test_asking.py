"""Alerts of one window share a scan, and each has the outcome that it has alone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from alerting import asking, schedule
from errors import Overloaded, QueryTooLarge
from models import alert, role
from models.alert import State
from models.authored import Origin
from query.process.messages import Source
from query.question import Question
from query.service import QueryService, SharedRuns
from tests.alerting.conftest import World
from tests.alerting.samples import NOON

MINUTE = timedelta(minutes=1)
QUERIES = (
    "SELECT count(*) FROM app WHERE n > {}",
    "SELECT level, count(*) AS c FROM app WHERE n <> {} GROUP BY level ORDER BY level",
    "SELECT max(n) + {} FROM app",
    "SELECT avg(n) FROM app WHERE level = 'error' AND n <> {}",
    "SELECT n FROM app WHERE n < {} ORDER BY n LIMIT 1",
)


@pytest.fixture(autouse=True)
def one_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """All alerts have the same slots."""
    monkeypatch.setattr(schedule, "STEP_SECONDS", 60)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The statements of each scan."""
    found: list[list[str]] = []
    sharing = QueryService.sharing

    def recorded(
        self: QueryService, question: Question, statements: Sequence[str], name: str, take: Callable[[], Source]
    ) -> AbstractContextManager[SharedRuns]:
        found.append(list(statements))
        return sharing(self, question, statements, name, take)

    monkeypatch.setattr(QueryService, "sharing", recorded)
    return found


@pytest.fixture
def lonely(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were asked alone."""
    found: list[str] = []
    run = QueryService.run

    def recorded(self: QueryService, question: Question, *arguments: object, **named: object) -> object:
        found.append(question.sql)
        return run(self, question, *arguments, **named)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(QueryService, "run", recorded)
    return found


def made(world: World, count: int = 15) -> list[Origin]:
    world.bench.append(NOON, n=list(range(9)), level=["error", "info", None] * 3)
    world.bench.convert()
    world.bench.append(NOON, n=[20, None], level=["error", "info"])
    return [
        world.make_alert(query=QUERIES[n % len(QUERIES)].format(n), window_seconds=600, threshold=1e9)
        for n in range(count)
    ]


def values(world: World, alerts: Sequence[Origin]) -> list[float | None]:
    return [world.status(each).last_value for each in alerts]


def test_alerts_of_a_window_share_a_scan(
    world: World, shared: list[list[str]], lonely: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts = made(world)
    world.run(after=2 * MINUTE)
    together = values(world, alerts)

    monkeypatch.setattr(asking, "FEWEST", 1_000)
    world.rounds = world.new_rounds()
    world.run(after=MINUTE)

    assert [len(each) for each in shared] == [15]
    assert len(lonely) == 15
    assert values(world, alerts) == together
    assert None not in together[:4]


def test_known_answers_are_not_asked_for(world: World, shared: list[list[str]], lonely: list[str]) -> None:
    made(world)
    world.run(after=2 * MINUTE)
    world.run(after=MINUTE)

    assert [len(each) for each in shared] == [15]
    assert lonely == []


def test_alerts_of_several_windows_share_by_window(world: World, shared: list[list[str]]) -> None:
    made(world, 3)
    for n in range(4):
        world.make_alert(query=f"SELECT count(*) + {n} FROM app", window_seconds=300)
    world.make_alert(query="SELECT count(*) FROM app", window_seconds=3600)

    world.run(after=2 * MINUTE)

    assert sorted(len(each) for each in shared) == [3, 4]


def test_process_that_dies_takes_only_the_alert_that_killed_it(
    world: World, shared: list[list[str]], lonely: list[str]
) -> None:
    hungry = "SELECT count(*) FROM app, generate_series(1, 20000) AS a, generate_series(1, 20000) AS b GROUP BY a, b"
    alerts = made(world, 4)
    greedy = world.make_alert(query=hungry, window_seconds=600)
    alerts += [world.make_alert(query=f"SELECT count(*) + {n} FROM app", window_seconds=600) for n in range(5)]

    world.run(after=2 * MINUTE)

    assert world.status(greedy).last_error is not None
    assert values(world, alerts[4:]) == [11, 12, 13, 14, 15]
    # Those that waited for it too long scan again.
    assert hungry in shared[0]
    assert all(hungry not in each for each in shared[1:])
    assert hungry not in lonely


def test_scan_that_fails_leaves_each_alert_to_itself(
    world: World, lonely: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise QueryTooLarge("together they are too much")

    monkeypatch.setattr(QueryService, "sharing", fail)
    alerts = made(world, 3)

    world.run(after=2 * MINUTE)

    assert len(lonely) == 3
    assert all(world.status(each).last_error is None for each in alerts)


def test_one_that_fails_in_the_scan_fails_alone(world: World, lonely: list[str]) -> None:
    """Its condition is computed for all of them."""
    alerts = made(world, 3)
    bad = world.make_alert(query="SELECT count(*) FROM app WHERE 1 / (n - n) > 0", window_seconds=600)

    world.run(after=2 * MINUTE)

    assert world.status(bad).last_error == "division by zero"
    assert all(world.status(each).last_error is None for each in alerts)
    assert lonely == []


def test_without_a_slot_all_are_postponed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Iterator[None]:
        raise Overloaded("no query slot became free", 1)

    alerts = made(world, 3)
    world.now += 2 * MINUTE
    claimed = alert.claim("lease", world.now, world.now, world.now + MINUTE, 100)
    with monkeypatch.context() as patch:
        patch.setattr(QueryService, "sharing", refuse)
        world.evaluate(claimed, "lease")

    assert values(world, alerts) == [None] * 3
    world.run(after=MINUTE)
    assert None not in values(world, alerts)


def test_rights_are_asked_for_after_the_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing = QueryService.sharing

    def and_then(self: QueryService, *arguments: object) -> AbstractContextManager[SharedRuns]:
        role.put("default", "writer", [{"privilege": "writer", "resource": {"dataset": "elsewhere"}}])
        return sharing(self, *arguments)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(QueryService, "sharing", and_then)
    alerts = made(world, 3)

    world.run(after=2 * MINUTE)

    assert {world.status(each).state for each in alerts} == {State.DISABLED}
