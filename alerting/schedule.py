"""When alerts are evaluated. Pure: the clock is an argument.

An alert's slots are a fixed grid of its own: `phase + k * frequency` seconds since the epoch, the phase drawn from its
id. So alerts that were made at once are not evaluated at once, and what was missed needs no list: after downtime of
any length exactly one slot is evaluated, the latest (docs/decisions/alerts.md).
"""

from datetime import UTC, datetime, timedelta
from typing import Final
from zlib import crc32

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Phases are multiples of this, so that alerts over one dataset often look at one window and share what it holds.
STEP_SECONDS: Final = 5
# An event bears the instant of its arrival and is readable a little later, when it is on disk. An evaluation looks
# up to its slot and runs this much after it, so that windows side by side count every event once.
SETTLE: Final = timedelta(seconds=2)


def latest(alert_id: str, frequency_seconds: int, now: datetime) -> datetime:
    """The alert's last slot that is not after `now`.

    >>> latest("", 60, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)).isoformat()
    '2026-01-02T03:04:00+00:00'
    """
    phase = crc32(alert_id.encode()) % (frequency_seconds // STEP_SECONDS) * STEP_SECONDS
    elapsed = (now - EPOCH) // timedelta(seconds=1)
    return EPOCH + timedelta(seconds=elapsed - (elapsed - phase) % frequency_seconds)


def following(alert_id: str, frequency_seconds: int, now: datetime) -> datetime:
    """The alert's first slot after `now`."""
    return latest(alert_id, frequency_seconds, now) + timedelta(seconds=frequency_seconds)


def upcoming_second(now: datetime) -> datetime:
    """The first whole second after `now`: a window that ends there has all that arrived until now.

    >>> upcoming_second(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)).isoformat()
    '2026-01-02T03:04:06+00:00'
    """
    return now.replace(microsecond=0) + timedelta(seconds=1)
