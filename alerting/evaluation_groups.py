"""Alerts that are evaluated together: over one dataset, with windows of one end. Pure: the clock is an argument."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from alerting import schedule
from models.alert import Alert


@dataclass(frozen=True, slots=True)
class Group:
    """Alerts of one claim, over one dataset of a tenant, whose windows end at `window_end`."""

    tenant: str
    dataset: str
    window_end: datetime
    claim_id: str
    alerts: Sequence[Alert]


def group_alerts(alerts: Iterable[Alert], claim_id: str, now: datetime) -> list[Group]:
    """The groups of the alerts, each up to its latest moment that is settled; in the alerts' order.

    That is a due time of the alert's own, or the moment at which somebody asked for it, when no due time has passed
    since.
    """
    groups: dict[tuple[str, str, datetime], list[Alert]] = {}
    for alert in alerts:
        settled = now - schedule.SETTLE
        window_end = schedule.latest(alert.origin.id, alert.content.frequency_seconds, settled)
        if alert.status.next_run_at is not None and window_end < alert.status.next_run_at <= settled:
            window_end = alert.status.next_run_at
        groups.setdefault((alert.origin.tenant, alert.content.dataset, window_end), []).append(alert)
    return [Group(*key, claim_id, tuple(members)) for key, members in groups.items()]
