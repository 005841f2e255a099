"""How times look in answers."""

from datetime import UTC, datetime


def rfc3339(at: datetime | None) -> str | None:
    """The time in UTC to the microsecond: `2026-01-02T03:04:05.678901Z`."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
