"""Slots: docs/decisions/alerts.md."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from ulid import ULID

from alerting import schedule

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize("frequency", [60, 300, 420, 86_400])
def test_slots_are_a_grid_without_gaps(frequency: int):
    slot = schedule.following("some alert", frequency, NOON)

    assert timedelta() < slot - NOON <= timedelta(seconds=frequency)
    assert schedule.following("some alert", frequency, slot) == slot + timedelta(seconds=frequency)
    assert schedule.latest("some alert", frequency, slot) == slot
    almost = slot + timedelta(seconds=frequency, microseconds=-1)
    assert schedule.latest("some alert", frequency, almost) == slot
    assert schedule.following("some alert", frequency, almost) == slot + timedelta(seconds=frequency)


def test_after_downtime_only_the_latest_slot_is_due():
    missed = schedule.following("some alert", 60, NOON)
    up_again = missed + timedelta(hours=7, seconds=13)

    slot = schedule.latest("some alert", 60, up_again)

    assert timedelta() <= up_again - slot < timedelta(seconds=60)
    assert schedule.following("some alert", 60, slot) > up_again


def test_alerts_made_at_once_are_not_evaluated_at_once():
    slots = Counter(schedule.following(str(ULID()), 60, NOON) for _ in range(1000))

    assert len(slots) == 60 // schedule.STEP_SECONDS
    assert max(slots.values()) < 150
