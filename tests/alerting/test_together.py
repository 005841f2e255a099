"""Alerts that are evaluated together: asked only what may have changed, and none suffers for another."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from alerting import asking, evaluation, state_machine
from models import alert, role
from models.alert import Evaluated, State, Status, set_evaluated
from models.authored import Origin
from query.process.messages import Source
from query.process.result import Result
from query.question import Question
from query.service import QueryService
from tests.alerting.conftest import World
from tests.alerting.samples import NOON
from tests.alerting.samples import content as sample

MINUTE = timedelta(minutes=1)
Resolve = Callable[[tuple[str, ...], tuple[str, ...]], Mapping[str, Source]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were asked."""
    found: list[str] = []
    run = QueryService.run

    def recorded(self: QueryService, question: Question, resolve: Resolve, is_gone: Callable[[], bool]) -> Result:
        found.append(question.sql)
        return run(self, question, resolve, is_gone)

    monkeypatch.setattr(QueryService, "run", recorded)
    return found


def test_query_is_asked_again_when_something_has_changed(world: World, asked: list[str]):
    made = world.make_alert(query="SELECT count(*) FROM app", window_seconds=3600)
    world.bench.append(NOON, n=[1, 2])
    for _ in range(3):
        world.run(after=2 * MINUTE)
    assert (len(asked), world.status(made).last_value) == (1, 2)

    world.bench.append(world.now, n=[3])
    world.run(after=2 * MINUTE)
    assert (len(asked), world.status(made).last_value) == (2, 3)

    world.bench.convert()
    for _ in range(2):
        world.run(after=2 * MINUTE)
    assert (len(asked), world.status(made).last_value) == (3, 3)

    world.run(after=timedelta(hours=1))
    assert (len(asked), world.status(made).last_value) == (4, 0)


def test_query_that_asks_for_the_time_is_asked_each_time(world: World, asked: list[str]):
    made = world.make_alert(query="SELECT extract(epoch FROM now()) FROM app LIMIT 1", window_seconds=3600)
    world.bench.append(NOON, n=[1])
    world.run(after=2 * MINUTE)
    before = world.status(made).last_value
    world.run(after=2 * MINUTE)

    assert len(asked) == 2
    assert world.status(made).last_value == (before or 0) + 120


def test_changed_query_is_asked_at_once(world: World, asked: list[str]):
    made = world.make_alert(query="SELECT count(*) FROM app", window_seconds=3600)
    world.bench.append(NOON, n=[1, 5])
    world.run(after=2 * MINUTE)
    changed = sample(query="SELECT sum(n) FROM app", window_seconds=3600, threshold=1e9)
    alert.replace(made, changed, world.now, world.now + MINUTE)
    world.run(after=2 * MINUTE)

    assert world.status(made).last_value == 6


def test_author_who_lost_the_right_gets_no_known_answer(world: World):
    made = world.make_alert(window_seconds=3600)
    world.bench.append(NOON, n=[1])
    world.run(after=2 * MINUTE)
    role.put("default", "writer", [{"privilege": "writer", "resource": {"dataset": "elsewhere"}}])

    world.run(after=2 * MINUTE)

    assert world.status(made).state is State.DISABLED


def test_bad_alerts_do_not_harm_the_others_of_their_group(world: World, monkeypatch: pytest.MonkeyPatch):
    world.bench.append(NOON, level=["error"])
    bad = [
        world.make_alert(query=query)
        for query in ("SELECT nothing FROM app", "SELECT 1 / 0 FROM app", "SELECT level FROM app")
    ]
    poison = world.make_alert(threshold=666.0)
    good = [world.make_alert() for _ in range(20)]
    judge = state_machine.evaluate

    def judged(rows: list[state_machine.Row], comparison: str, threshold: float) -> state_machine.Result:
        if threshold == 666.0:
            raise RuntimeError("a defect of ours")
        return judge(rows, comparison, threshold)

    monkeypatch.setattr(evaluation.state_machine, "evaluate", judged)
    world.now += 2 * MINUTE
    world.evaluate(alert.claim("lease", world.now, world.now, world.now + MINUTE, 100), "lease")

    assert [world.status(each).last_value for each in good] == [1] * 20
    assert all(world.status(each).last_error for each in bad)
    assert world.status(poison).last_evaluated_at is None


def test_query_process_that_dies_takes_only_its_own_alert(world: World, monkeypatch: pytest.MonkeyPatch):
    """One of the group needs more memory than a query may use."""
    world.bench.append(NOON, n=[1])
    hungry = "SELECT count(*) FROM app, generate_series(1, 20000) AS a, generate_series(1, 20000) AS b GROUP BY a, b"
    greedy = world.make_alert(query=hungry)
    good = [world.make_alert(query=f"SELECT count(*) + {n} FROM app") for n in range(5)]

    world.run(after=2 * MINUTE)

    assert world.status(greedy).last_error is not None
    assert [world.status(each).last_value for each in good] == [1, 2, 3, 4, 5]


def test_group_that_takes_too_long_is_broken_up(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(asking, "SHARING_SECONDS", 0.0)
    # A minute has twelve phases: of thirteen alerts, two are in one group.
    made = [world.make_alert() for _ in range(13)]
    world.now += 2 * MINUTE
    claimed = alert.claim("lease", world.now, world.now, world.now + MINUTE, 100)
    world.evaluate(claimed, "lease")
    left = alert.claim("other", world.now, world.now, world.now + MINUTE, 100)

    assert 0 < len(left) < 13
    world.evaluate(left, "other")
    world.run()
    assert all(world.status(each).last_evaluated_at is not None for each in made)


def test_what_cannot_be_kept_does_not_hold_up_the_others(world: World):
    first, second, third = (world.make_alert() for _ in range(3))
    world.now += 2 * MINUTE
    alert.claim("lease", world.now, world.now, world.now + MINUTE, 100)
    writer = world.rounds.evaluator.writer
    for origin, error in ((first, None), (second, "no \x00 in text"), (third, None)):
        claimed = world.read(origin)
        status = Status(last_value=5, last_error=error, last_evaluated_at=world.now, next_run_at=world.now)
        writer.keep(claimed, state_machine.Outcome(status), None, world.now, "lease")

    writer.flush()
    writer.flush()

    assert [world.status(each).last_value for each in (first, second, third)] == [5, None, 5]


def test_evaluations_are_kept_only_under_their_lease_and_keep_integers_and_fractions(world: World):
    made: list[Origin] = [world.make_alert() for _ in range(3)]
    world.now += 2 * MINUTE
    alert.claim("lease", world.now, world.now, world.now + MINUTE, 100)
    values = zip(made, ("lease", "lease", "lost"), (1, 2.5, 3), strict=True)

    set_evaluated(
        [Evaluated(each.id, claim_id, Status(last_value=value, next_run_at=NOON)) for each, claim_id, value in values]
    )

    assert [world.status(each).last_value for each in made] == [1, 2.5, None]
