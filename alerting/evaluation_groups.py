"""Alerts that are evaluated together: over one window of a dataset. Pure: the clock is an argument."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from alerting import schedule
from alerting.windows import Window
from models.alert import Alert
from schemas.alerts import PROMQL

NS_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Group:
    """Alerts of one claim, over one dataset of a tenant, whose windows end at `window_end`.

    `window_seconds`: how long these are; None: the alerts are expressions, which say that themselves.
    """

    tenant: str
    dataset: str
    window_end: datetime
    window_seconds: int | None
    claim_id: str
    alerts: Sequence[Alert]

    @property
    def window(self) -> Window | None:
        """The window of all alerts, if they have one."""
        if self.window_seconds is None:
            return None
        end = int(self.window_end.timestamp())
        start = end - self.window_seconds
        return Window(self.tenant, self.dataset, start * NS_PER_SECOND, end * NS_PER_SECOND)


def group_alerts(alerts: Iterable[Alert], claim_id: str, now: datetime) -> list[Group]:
    """The groups of the alerts, each up to its latest moment that is settled; in the alerts' order.

    That is a due time of the alert's own, or the moment at which somebody asked for it, when no due time has passed
    since.
    """
    groups: dict[tuple[str, str, datetime, int | None], list[Alert]] = {}
    for alert in alerts:
        settled = now - schedule.SETTLE
        window_end = schedule.latest(alert.origin.id, alert.content.frequency_seconds, settled)
        if alert.status.next_run_at is not None and window_end < alert.status.next_run_at <= settled:
            window_end = alert.status.next_run_at
        window_seconds = None if alert.content.query_type == PROMQL else alert.content.window_seconds
        key = alert.origin.tenant, alert.content.dataset, window_end, window_seconds
        groups.setdefault(key, []).append(alert)
    return [Group(*key, claim_id, tuple(members)) for key, members in groups.items()]
