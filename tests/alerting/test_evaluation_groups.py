"""Which alerts are evaluated together."""

from dataclasses import replace
from datetime import timedelta

from alerting.evaluation_groups import group_alerts
from alerting.schedule import SETTLE
from models.alert import Alert
from tests.alerting.samples import NOON
from tests.alerting.samples import alert as sample


def alerts(number: int, **members: object) -> list[Alert]:
    made = [sample(**members) for _ in range(number)]
    return [replace(each, origin=replace(each.origin, id=f"alert {n}")) for n, each in enumerate(made)]


def test_groups_are_of_one_dataset_and_slot_and_lose_nobody():
    claimed = [*alerts(100), *alerts(100, dataset="other"), *alerts(100, frequency_seconds=120)]

    found = group_alerts(claimed, "lease", NOON)

    assert sorted(id(alert) for group in found for alert in group.alerts) == sorted(map(id, claimed))
    assert all({alert.content.dataset for alert in group.alerts} == {group.dataset} for group in found)
    assert all(timedelta() <= NOON - SETTLE - group.window_end < timedelta(seconds=120) for group in found)
    assert len({(group.dataset, group.window_end) for group in found}) == len(found) < len(claimed) / 4


def test_tenants_are_never_together():
    (mine,) = alerts(1)
    theirs = replace(mine, origin=replace(mine.origin, tenant="other"))

    assert [group.tenant for group in group_alerts([mine, theirs], "lease", NOON)] == ["default", "other"]


def test_alert_that_somebody_asked_for_is_evaluated_up_to_that_moment():
    """And not up to a slot of its own, which may be a day ago."""
    asked = NOON - SETTLE - timedelta(seconds=1)
    (daily,) = alerts(1, frequency_seconds=86_400)

    (group,) = group_alerts([replace(daily, status=replace(daily.status, next_run_at=asked))], "lease", NOON)

    assert group.window_end == asked


def test_alert_that_waited_for_long_is_evaluated_up_to_its_latest_slot():
    (late,) = alerts(1, frequency_seconds=60)

    (group,) = group_alerts(
        [replace(late, status=replace(late.status, next_run_at=NOON - timedelta(days=3)))], "lease", NOON
    )

    assert timedelta() <= NOON - SETTLE - group.window_end < timedelta(seconds=60)
