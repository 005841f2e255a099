"""Alerts that are evaluated together: over one dataset, up to one slot. Pure: the clock is an argument."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from alerting import schedule
from models.alert import Alert


@dataclass(frozen=True, slots=True)
class Group:
    """Alerts claimed under one lease, over one dataset of a tenant, whose windows end with one slot."""

    tenant: str
    dataset: str
    slot: datetime
    lease: str
    alerts: Sequence[Alert]


def group_alerts(alerts: Iterable[Alert], lease: str, now: datetime) -> list[Group]:
    """The groups of the alerts, each up to its latest moment that is settled; in the alerts' order.

    That is a slot of the alert's own, or the moment at which somebody asked for it, when no slot has passed since.
    """
    found: dict[tuple[str, str, datetime], list[Alert]] = {}
    for alert in alerts:
        settled = now - schedule.SETTLE
        slot = schedule.latest(alert.origin.id, alert.content.frequency_seconds, settled)
        if alert.status.next_run_at is not None and slot < alert.status.next_run_at <= settled:
            slot = alert.status.next_run_at
        found.setdefault((alert.origin.tenant, alert.content.dataset, slot), []).append(alert)
    return [Group(*key, lease, tuple(members)) for key, members in found.items()]
