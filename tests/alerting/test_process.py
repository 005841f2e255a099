"""Claims, leases and deliveries of the alerting process: docs/decisions/alerts.md."""

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from alerting import process
from alerting.process import CLAIMED_AHEAD
from models import alert, delivery, target
from models.alert import State, Status
from models.base import connection
from models.delivery import MOST_PENDING
from tests.alerting.conftest import World

MINUTE = timedelta(minutes=1)
ALWAYS = {"operator": ">=", "threshold": 0.0}


def test_of_several_hosts_one_evaluates(world: World):
    made = {world.make_alert().id for _ in range(40)}
    world.now += 2 * MINUTE
    claims: list[str] = []

    def claim(lease: str) -> None:
        with connection():
            while got := alert.claim(lease, world.now, world.now, world.now + MINUTE, 3):
                claims.extend(each.origin.id for each in got)

    hosts = [threading.Thread(target=claim, args=(f"host {number}",)) for number in range(4)]
    for host in hosts:
        host.start()
    for host in hosts:
        host.join()

    assert sorted(claims) == sorted(made)


def test_alert_of_a_host_that_died_is_taken_over_when_its_lease_ends(world: World):
    made = world.make_alert()
    world.now += 2 * MINUTE
    alert.claim("dead host", world.now, world.now, world.now + MINUTE, 10)

    world.run()
    before = world.status(made).last_evaluated_at
    world.run(after=MINUTE)

    assert before is None
    assert world.status(made).last_evaluated_at is not None


def test_what_this_host_s_process_before_had_claimed_is_done_at_once(world: World):
    """It was killed half-way, and nobody else has this host's claims."""
    made = world.make_alert(**ALWAYS, targets=[world.make_target()], notify_seconds=86_400)
    other = world.make_alert(**ALWAYS, targets=[world.make_target()], notify_seconds=86_400)
    world.now += 2 * MINUTE
    host, hour = world.rounds.host, world.now + 60 * MINUTE
    (due,) = [each for each in alert.claim("lease", world.now, world.now, hour, 10) if each.origin.id == other.id]
    world.evaluate([due], "lease")
    assert delivery.claim(f"{host}/killed", world.now, hour, 10)
    alert.release([made.id], "lease")
    assert alert.claim(f"{host}/killed", world.now, world.now, hour, 10)
    world.run()
    assert world.receiver.received == []

    world.new_rounds().take_over()
    world.run()

    assert len(world.receiver.received) == 2
    assert world.status(made).last_evaluated_at is not None


def test_claims_of_another_host_are_left_alone(world: World):
    made = world.make_alert()
    world.now += 2 * MINUTE
    alert.claim(f"{world.rounds.host}x/1", world.now, world.now, world.now + 60 * MINUTE, 10)

    world.rounds.take_over()
    world.run()

    assert world.status(made).last_evaluated_at is None


def test_disabled_alert_is_not_claimed(world: World):
    made = world.make_alert()
    alert.set_status(made, Status(state=State.DISABLED))

    assert alert.claim("lease", world.now + MINUTE, world.now + 5 * MINUTE, world.now + MINUTE, 10) == []


def test_delivery_is_tried_until_it_is_taken(world: World):
    """At least once, with back-off."""
    world.receiver.answers = [(503, {}), (500, {}), (200, {})]
    made = world.make_alert(**ALWAYS, notify_seconds=86_400, targets=[world.make_target()])

    for _ in range(5):
        world.run(after=MINUTE)

    (only,) = world.log(made)
    assert (only.attempts, only.last_status, only.last_error, only.delivered_at is None) == (3, 200, None, False)
    assert len({got.headers["X-Weir-Delivery"] for got in world.receiver.received}) == 1


def test_delivery_of_a_host_that_died_is_delivered_by_another(world: World):
    made = world.make_alert(**ALWAYS, notify_seconds=86_400, targets=[world.make_target()])
    world.now += 2 * MINUTE
    (due,) = alert.claim("lease", world.now, world.now, world.now + MINUTE, 10)
    world.evaluate([due], "lease")
    delivery.claim("dead host", world.now, world.now + MINUTE, 10)

    world.run()
    before = len(world.receiver.received)
    world.run(after=2 * MINUTE)

    assert (before, len(world.receiver.received)) == (0, 1)
    assert world.log(made)[0].delivered_at is not None


def test_notices_of_one_alert_arrive_in_order(world: World):
    """`resolved` waits for the `triggered` that is still being retried."""
    world.receiver.answers = [(503, {})]
    made = world.make_alert(threshold=2.0, targets=[world.make_target()], notify_seconds=86_400)
    world.bench.append(world.now, level=["error"] * 3)

    for _ in range(10):
        world.run(after=MINUTE)
    while_away = {got.json["state"] for got in world.receiver.received}
    world.receiver.answers = [(200, {})]
    for _ in range(15):
        world.run(after=MINUTE)

    assert while_away == {"triggered"}
    assert [got.json["state"] for got in world.receiver.received[-2:]] == ["triggered", "resolved"]
    assert [each.kind for each in world.log(made)] == ["resolved", "triggered"]


def test_target_that_is_away_does_not_hold_up_others(world: World):
    with_away = world.make_target("/away")
    world.receiver.answers = [(503, {}), (200, {})]
    made = world.make_alert(**ALWAYS, notify_seconds=86_400, targets=[with_away, world.make_target("/there")])

    world.run(after=2 * MINUTE)

    assert sorted(each.delivered_at is None for each in world.log(made)) == [False, True]


def test_reminders_do_not_pile_up_for_a_target_that_is_away(world: World):
    world.receiver.answers = [(503, {})]
    made = world.make_alert(**ALWAYS, notify_seconds=60, targets=[world.make_target()])

    for _ in range(5):
        world.run(after=MINUTE)

    assert len(world.log(made)) == 1


def test_target_that_comes_back_gets_no_flood(world: World):
    made = world.make_alert()
    hook = world.make_target()

    for number in range(MOST_PENDING * 2):
        kind = "triggered" if number % 2 == 0 else "resolved"
        delivery.enqueue(made.id, [hook], kind, {"state": kind}, world.now)

    pending = [each for each in world.log(made) if each.next_attempt_at is not None]
    assert len(pending) == MOST_PENDING
    assert len(world.log(made)) == MOST_PENDING * 2


def test_bad_target_does_not_take_a_thread_away(world: World):
    made = world.make_alert(**ALWAYS, targets=[world.make_target() for _ in range(10)])
    for each in target.list_all("default")[:9]:
        target.replace(each.origin, target.Content(each.content.name, each.content.kind, b"garbage" * 5), world.now)

    world.run(after=2 * MINUTE)

    assert sorted(each.delivered_at is None for each in world.log(made)) == [False] + [True] * 9
    assert world.rounds.deliverers.room == 4 * CLAIMED_AHEAD


def test_old_history_is_forgotten(world: World):
    made = world.make_alert(**ALWAYS, targets=[world.make_target()])
    world.run(after=2 * MINUTE)

    delivery.forget(world.now + timedelta(days=1))

    assert world.log(made) == []


def test_alerts_of_one_of_several_hosts_look_at_what_the_others_have(world: World, tmp_path: Path) -> None:
    settings = replace(world.settings, data_dir=tmp_path / "other", advertise_url="http://10.0.0.1:8000")

    several = process.build(settings, world.queries)

    assert several.evaluator.windows._layout.peers is not None
    assert process.build(world.settings, world.queries).evaluator.windows._layout.peers is None
