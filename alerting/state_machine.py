"""The state machine of an alert (docs/alerts.md): from rows to a verdict, from a verdict to the next state. Pure."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from errors import InvalidSQL
from models.alert import Alert, Content, State, Status
from models.alert_event import Event
from models.alert_event import Kind as EventKind

Row = Mapping[str, object]

COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}


class NoticeKind(StrEnum):
    TRIGGERED = "triggered"
    RESOLVED = "resolved"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Result:
    """`value` is that of the first row beyond the threshold, else of the first row; `rows` are all beyond it."""

    value: float | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation comes to: the alert's new status, what goes into its history, who is told of what."""

    status: Status
    events: tuple[Event, ...] = ()
    notice: NoticeKind | None = None


def evaluate(rows: Sequence[Row], comparison: str, threshold: float) -> Result:
    """Compare the last column of numbers with the threshold, row by row; the other columns say what a row is of.

    No row, and null, are not beyond anything. Raises InvalidSQL when no column holds numbers.

    >>> evaluate([{"host": "a", "count": 3}, {"host": "b", "count": 12}], ">", 10)
    Result(value=12, rows=({'host': 'b', 'count': 12},))
    """
    if not rows:
        return Result(None, ())
    column = _value_column(rows)
    if column is None:
        return Result(None, ())
    numbers = [(_number(row[column]), row) for row in rows]
    is_beyond = COMPARISONS[comparison]
    beyond = [(number, row) for number, row in numbers if number is not None and is_beyond(number, threshold)]
    return Result((beyond or numbers)[0][0], tuple(row for _, row in beyond))


def advance(alert: Alert, result: Result, window_end: datetime, following: datetime) -> Outcome:
    """The outcome of a successful evaluation whose window ends at `window_end`."""
    status = replace(
        alert.status, last_value=result.value, last_error=None, last_evaluated_at=window_end, next_run_at=following
    )
    recovered = () if alert.status.last_error is None else (Event(window_end, EventKind.RECOVERED, result.value),)
    was_triggered = alert.status.state is State.TRIGGERED
    if result.rows and was_triggered:
        outcome = _stay_triggered(status, alert.content, window_end)
    elif result.rows:
        outcome = _trigger(status, window_end)
    elif was_triggered:
        outcome = _resolve(status, window_end)
    else:
        outcome = Outcome(status)
    return replace(outcome, events=(*recovered, *outcome.events))


def fail(alert: Alert, error: str, window_end: datetime, following: datetime) -> Outcome:
    """The outcome of a failed evaluation: the state stays, and the history shows when the failures began."""
    status = replace(alert.status, last_error=error, last_evaluated_at=window_end, next_run_at=following)
    began = alert.status.last_error is None
    return Outcome(status, (Event(window_end, EventKind.FAILED, detail=error),) if began else ())


def disable(alert: Alert, reason: str, window_end: datetime) -> Outcome:
    """The outcome when the author lost the right to the query: the alert is disabled, and its targets get a notice."""
    status = replace(alert.status, state=State.DISABLED, disabled_reason=reason, next_run_at=None)
    event = Event(window_end, EventKind.DISABLED, detail=reason)
    return Outcome(status, (event,), None if _is_muted(status, window_end) else NoticeKind.DISABLED)


def _trigger(status: Status, window_end: datetime) -> Outcome:
    is_muted = _is_muted(status, window_end)
    triggered = replace(
        status,
        state=State.TRIGGERED,
        last_triggered_at=window_end,
        last_notified_at=status.last_notified_at if is_muted else window_end,
    )
    event = Event(window_end, EventKind.TRIGGERED, status.last_value)
    return Outcome(triggered, (event,), None if is_muted else NoticeKind.TRIGGERED)


def _stay_triggered(status: Status, content: Content, window_end: datetime) -> Outcome:
    """Send a reminder after every interval, and at once if no notice was sent because the alert was muted."""
    interval = timedelta(seconds=content.notify_seconds)
    notified_at = status.last_notified_at
    is_due = not _was_notified(status) or notified_at is None or window_end >= notified_at + interval
    if _is_muted(status, window_end) or not is_due:
        return Outcome(status)
    return Outcome(replace(status, last_notified_at=window_end), notice=NoticeKind.TRIGGERED)


def _resolve(status: Status, window_end: datetime) -> Outcome:
    """Send a notice if one was sent when the alert was triggered."""
    event = Event(window_end, EventKind.RESOLVED, status.last_value)
    is_notified = _was_notified(status) and not _is_muted(status, window_end)
    resolved = replace(
        status, state=State.NOT_TRIGGERED, last_notified_at=window_end if is_notified else status.last_notified_at
    )
    return Outcome(resolved, (event,), NoticeKind.RESOLVED if is_notified else None)


def _was_notified(status: Status) -> bool:
    """Whether a notice went out since it was last triggered."""
    told, since = status.last_notified_at, status.last_triggered_at
    return told is not None and since is not None and told >= since


def _is_muted(status: Status, at: datetime) -> bool:
    return status.muted_until is not None and at < status.muted_until


def _value_column(rows: Sequence[Row]) -> str | None:
    """The last column of numbers. None when there is none but one that is null throughout, as `max` of no rows."""
    columns = list(rows[0])
    for column in reversed(columns):
        if any(_number(row[column]) is not None for row in rows):
            return column
    if any(all(row[column] is None for row in rows) for column in columns):
        return None
    raise InvalidSQL("an alert compares a number, and no column of the result holds numbers", field="query")


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
