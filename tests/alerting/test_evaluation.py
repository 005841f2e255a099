"""Evaluation over real data by real query processes: docs/alerts.md."""

from datetime import timedelta

import pytest

from models import alert, alert_event, api_key, dataset, role, tenant, user
from models.alert import State
from models.api_key import NewApiKey
from models.authored import Author, Origin
from models.user import NewUser
from tests.alerting.conftest import WRITER, World
from tests.alerting.samples import NOON
from tests.alerting.samples import alert as sample

MINUTE = timedelta(minutes=1)


def kinds(world: World, origin: Origin) -> list[str]:
    return [str(event.kind) for event in alert_event.latest(origin.id, 100)]


def test_alert_is_triggered_told_resolved_and_told_again(world: World):
    hook = world.make_target()
    made = world.make_alert(threshold=2.0, targets=[hook])
    world.bench.append(NOON, level=["error"] * 3)

    world.run(after=2 * MINUTE)
    triggered = world.status(made)
    world.run(after=6 * MINUTE)

    assert (triggered.state, triggered.last_value) == (State.TRIGGERED, 3)
    assert (world.status(made).state, world.status(made).last_value) == (State.NOT_TRIGGERED, 0)
    assert kinds(world, made) == ["not-triggered", "triggered"]
    assert [got.json["state"] for got in world.receiver.received] == ["triggered", "resolved"]
    assert [(each.kind, each.attempts, each.last_status) for each in world.log(made)] == [
        ("resolved", 1, 200),
        ("triggered", 1, 200),
    ]


def test_windows_side_by_side_count_every_event_once(world: World):
    made = world.make_alert(threshold=1000.0, window_seconds=60)
    for second in range(300):
        world.bench.append(NOON + timedelta(seconds=second), n=[second])
    counted = []

    for _ in range(7):
        world.run(after=MINUTE)
        counted.append(world.status(made).last_value)

    assert sum(value or 0 for value in counted) == 300
    assert max(value or 0 for value in counted) == 60


def test_rows_of_groups_are_each_compared(world: World):
    query = "SELECT level, count(*) AS n FROM app GROUP BY level ORDER BY level"
    made = world.make_alert(query=query, threshold=1.0, targets=[world.make_target()])
    world.bench.append(NOON, level=["debug", "error", "error"])

    world.run(after=2 * MINUTE)

    assert world.receiver.received[0].json["rows"] == [{"level": "error", "n": 2}]
    assert world.status(made).last_value == 2


def test_numeric_results_are_numbers(world: World):
    made = world.make_alert(query="SELECT 0.1 + 0.2 + sum(n) FROM app", operator="=", threshold=6.3)
    world.bench.append(NOON, n=[1, 2, 3])

    world.run(after=2 * MINUTE)

    assert world.status(made).state is State.TRIGGERED


def test_now_in_a_query_is_the_end_of_the_window(world: World):
    made = world.make_alert(query="SELECT extract(epoch FROM now()) FROM app", window_seconds=3600)
    world.bench.append(NOON, n=[1])

    world.run(after=2 * MINUTE)

    status = world.status(made)
    assert status.last_evaluated_at is not None
    assert status.last_value == status.last_evaluated_at.timestamp()


def test_what_was_missed_is_caught_up_once(world: World):
    """Issue: caught up once, never in a storm."""
    made = world.make_alert(operator=">=", threshold=0.0, targets=[world.make_target()])

    world.run(after=timedelta(days=3))

    status = world.status(made)
    assert len(world.receiver.received) == 1
    assert status.next_run_at is not None
    assert world.now - timedelta(seconds=2) < status.next_run_at <= world.now + MINUTE


def test_author_who_lost_the_right_disables_the_alert(world: World):
    made = world.make_alert(targets=[world.make_target()])
    role.put("default", "writer", [{"privilege": "reader", "resource": {"dataset": "app"}}])

    world.run(after=2 * MINUTE)
    world.run(after=2 * MINUTE)

    status = world.status(made)
    assert (status.state, status.next_run_at) == (State.DISABLED, None)
    assert status.disabled_reason == "ann, its author: this needs the privilege writer on dataset app"
    assert kinds(world, made) == ["disabled"]
    assert [got.json["reason"] for got in world.receiver.received] == [status.disabled_reason]


def test_deleted_author_disables_the_alert(world: World):
    made = world.make_alert()
    user.delete("default", "ann")

    world.run(after=2 * MINUTE)

    assert world.status(made).disabled_reason == "ann, its author: the identity was deleted or has expired"


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT nothing FROM app", "nothing"),
        ("SELECT level::int FROM app", "invalid input syntax"),
        ("SELECT level FROM app", "numbers"),
        ("SELECT n, repeat('x', 100000) FROM app, generate_series(1, 50) AS n", "1 MiB"),
    ],
    ids=["unknown column", "bad cast", "no number", "too large"],
)
def test_query_that_fails_is_told_and_keeps_the_state(world: World, query: str, part: str):
    world.bench.append(NOON, level=["error"])
    made = world.make_alert(query=query)

    world.run(after=2 * MINUTE)

    status = world.status(made)
    assert part in str(status.last_error)
    assert (status.state, kinds(world, made)) == (State.NOT_TRIGGERED, ["failed"])


def test_alert_on_a_deleted_dataset_fails_until_there_is_one_again(world: World):
    made = world.make_alert()
    dataset.delete("default", "app")
    world.run(after=2 * MINUTE)
    failed = world.status(made).last_error

    dataset.create("default", "app")
    world.run(after=2 * MINUTE)

    assert failed == "there is no dataset 'app'"
    assert (world.status(made).last_error, kinds(world, made)) == (None, ["recovered", "failed"])


def test_evaluation_of_an_alert_that_was_changed_meanwhile_counts_for_nothing(world: World):
    made = world.make_alert(operator=">=", threshold=0.0, targets=[world.make_target()])
    world.now += 2 * MINUTE
    (claimed,) = alert.claim("a lease", world.now, world.now, world.now + MINUTE, 10)
    alert.replace(made, sample(title="other").content, world.now, world.now + timedelta(hours=1))

    world.evaluate([claimed], "a lease")

    assert world.status(made).state is State.NOT_TRIGGERED
    assert world.log(made) == []


def test_muting_meanwhile_outlives_an_evaluation(world: World):
    made = world.make_alert(threshold=-1.0)
    world.now += 2 * MINUTE
    (claimed,) = alert.claim("a lease", world.now, world.now, world.now + MINUTE, 10)
    alert.set_muting(made, NOON + timedelta(days=1))

    world.evaluate([claimed], "a lease")

    assert world.status(made).muted_until == NOON + timedelta(days=1)


def test_rights_are_those_of_the_author_in_the_alert_s_own_tenant(world: World):
    """Another tenant's user of the same name is somebody else."""
    made = world.make_alert()
    tenant.create("other", NOON)
    role.put("other", "writer", WRITER)
    user.create("other", NewUser("ann", "hash", NOON), ["writer"])
    user.delete("default", "ann")

    world.run(after=2 * MINUTE)

    assert world.status(made).state is State.DISABLED


def test_expired_key_disables_its_alerts(world: World):
    key = NewApiKey("K1", "default", "key", b"d", b"s", "ann", NOON, NOON + timedelta(minutes=5))
    api_key.create(key, ["writer"])
    made = world.make_alert(author=Author("api_key", "K1", "key"))

    world.run(after=2 * MINUTE)
    before = world.status(made).state
    world.run(after=4 * MINUTE)

    assert (before, world.status(made).state) == (State.NOT_TRIGGERED, State.DISABLED)


def test_promql_alert_compares_each_series(world: World):
    """Issue: alerts may be PromQL as well as SQL. The last value before the end of the window counts."""
    made = world.make_alert(query="load_average > 0", query_type="promql", threshold=1.5, targets=[world.make_target()])
    times = [NOON + timedelta(seconds=30)] * 2
    world.bench.append(
        NOON, metric_name=["load_average"] * 2, host=["a", "b"], data_point_value=[1.0, 2.5], time_unix_nano=times
    )

    world.run(after=2 * MINUTE)

    assert (world.status(made).state, world.status(made).last_value) == (State.TRIGGERED, 2.5)


def test_promql_alert_that_cannot_be_evaluated_says_why(world: World):
    made = world.make_alert(query="load_average[5m]", query_type="promql")
    world.bench.append(NOON, metric_name=["load_average"], data_point_value=[1.0], time_unix_nano=[NOON])

    world.run(after=2 * MINUTE)

    assert "an alert compares numbers" in (world.status(made).last_error or "")
