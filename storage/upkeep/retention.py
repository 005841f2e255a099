"""Retention: events older than their dataset keeps them are deleted, a file at a time."""

from datetime import UTC, datetime, timedelta

from models import dataset, file
from storage.times import to_us


def expire_all(now: datetime | None = None) -> int:
    """Remove every file whose events are all older than its dataset keeps them; return how many.

    Such a file leaves queries at once and the disk after the grace.
    """
    now = now or datetime.now(UTC)
    return sum(
        file.expire(dataset_id, to_us(now - timedelta(days=days)) * 1000, now)
        for dataset_id, days in dataset.retained()
    )
