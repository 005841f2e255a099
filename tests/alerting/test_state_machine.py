"""The state machine: docs/alerts.md."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from alerting import state_machine
from alerting.state_machine import NoticeKind, Outcome, Result, evaluate
from errors import InvalidSQL
from models.alert import State, Status
from models.alert_event import Kind
from tests.alerting.samples import NOON, alert

MINUTE = timedelta(minutes=1)
BEYOND, WITHIN = Result(12, ({"count": 12},)), Result(3, ())


@pytest.mark.parametrize(
    ("comparison", "is_beyond"),
    [(">", [0, 0, 1]), ("<", [1, 0, 0]), ("=", [0, 1, 0]), ("!=", [1, 0, 1]), (">=", [0, 1, 1]), ("<=", [1, 1, 0])],
)
def test_value_is_compared_with_the_threshold(comparison: str, is_beyond: list[int]):
    assert [len(evaluate([{"n": value}], comparison, 10.0).rows) for value in (9, 10, 11)] == is_beyond


def test_every_row_is_compared_by_its_last_number():
    rows = [{"code": 500, "host": "a", "n": 11}, {"code": 500, "host": "b", "n": 9}, {"code": 7, "host": "c", "n": 12}]

    assert evaluate(rows, ">", 10) == Result(11, (rows[0], rows[2]))
    assert evaluate([{"n": 11, "host": "a"}], ">", 10) == Result(11, ({"n": 11, "host": "a"},))


@pytest.mark.parametrize(
    "rows",
    [[], [{"max": None}], [{"host": "a", "max": None}], [{"n": None}, {"n": 3}]],
    ids=["no row", "null", "null beside text", "null beside a number"],
)
def test_nothing_is_not_beyond_anything(rows: list):
    assert evaluate(rows, "!=", 3).rows == ()


@pytest.mark.parametrize("value", ["12", True, [12], {"n": 12}], ids=type)
def test_result_without_numbers_cannot_be_compared(value: object):
    with pytest.raises(InvalidSQL):
        evaluate([{"n": value}], ">", 10)


def outcomes_of(status: Status, *verdicts: Result, start: datetime = NOON, **content: object) -> list[Outcome]:
    """The outcomes of evaluations a minute apart, each from the status that the last one left."""
    outcomes = []
    for number, verdict in enumerate(verdicts):
        slot = start + number * MINUTE
        outcomes.append(state_machine.advance(alert(status, **content), verdict, slot, slot + MINUTE))
        status = outcomes[-1].status
    return outcomes


def notices(outcomes: list[Outcome]) -> list[str | None]:
    return [None if each.notice is None else str(each.notice) for each in outcomes]


def test_alert_is_triggered_once_and_resolved_once():
    outcomes = outcomes_of(Status(), WITHIN, BEYOND, BEYOND, WITHIN, WITHIN)

    assert [str(each.status.state) for each in outcomes] == [
        "not-triggered",
        "triggered",
        "triggered",
        "not-triggered",
        "not-triggered",
    ]
    assert notices(outcomes) == [None, "triggered", None, "resolved", None]
    assert [[str(event.kind) for event in each.events] for each in outcomes] == [
        [],
        ["triggered"],
        [],
        ["not-triggered"],
        [],
    ]
    assert (outcomes[1].status.last_value, outcomes[1].status.last_triggered_at) == (12, NOON + MINUTE)


def test_reminders_keep_the_notification_interval():
    outcomes = outcomes_of(Status(), *[BEYOND] * 8, notify_seconds=180)

    assert [each.notice is not None for each in outcomes] == [True, False, False, True, False, False, True, False]
    assert sum(len(each.events) for each in outcomes) == 1


def test_muted_alert_notifies_nobody_until_the_mute_ends():
    muted = Status(muted_until=NOON + 2 * MINUTE)

    outcomes = outcomes_of(muted, BEYOND, BEYOND, BEYOND, WITHIN)

    assert notices(outcomes) == [None, None, "triggered", "resolved"]
    assert outcomes[0].status.state is State.TRIGGERED


def test_nobody_is_told_of_the_end_of_what_nobody_was_told():
    assert notices(outcomes_of(Status(muted_until=NOON + MINUTE), BEYOND, WITHIN)) == [None, None]


def test_triggered_again_is_told_again_within_the_interval():
    assert notices(outcomes_of(Status(), BEYOND, WITHIN, BEYOND)) == ["triggered", "resolved", "triggered"]


def test_failure_keeps_the_state_and_is_recorded_when_it_begins_and_ends():
    triggered = outcomes_of(Status(), BEYOND)[-1].status

    first = state_machine.fail(alert(triggered), "no such column", NOON + MINUTE, NOON + 2 * MINUTE)
    second = state_machine.fail(alert(first.status), "no such column", NOON + 2 * MINUTE, NOON + 3 * MINUTE)
    again = state_machine.advance(alert(second.status), BEYOND, NOON + 3 * MINUTE, NOON + 4 * MINUTE)

    assert (first.status.state, first.status.last_error, first.notice) == (State.TRIGGERED, "no such column", None)
    assert [event.kind for event in (*first.events, *second.events, *again.events)] == [Kind.FAILED, Kind.RECOVERED]
    assert again.status.last_error is None


def test_disabling_is_told_unless_muted():
    outcome = state_machine.disable(alert(), "ann may not", NOON)
    silent = state_machine.disable(alert(replace(alert().status, muted_until=NOON + MINUTE)), "ann may not", NOON)

    assert (outcome.status.state, outcome.status.disabled_reason) == (State.DISABLED, "ann may not")
    assert outcome.status.next_run_at is None
    assert (outcome.notice, silent.notice) == (NoticeKind.DISABLED, None)
