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
    """The groups of the alerts, in the alerts' order. A window ends at the alert's latest due time that is settled."""
    groups: dict[tuple[str, str, datetime], list[Alert]] = {}
    for alert in alerts:
        window_end = schedule.latest(alert.origin.id, alert.content.frequency_seconds, now - schedule.SETTLE)
        groups.setdefault((alert.origin.tenant, alert.content.dataset, window_end), []).append(alert)
    return [Group(*key, claim_id, tuple(members)) for key, members in groups.items()]
