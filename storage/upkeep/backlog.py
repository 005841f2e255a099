"""The backlog of this host: the segments that wait for conversion. It shows whether maintenance keeps up."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ulid import ULID

from models import segment
from storage.context import Layout
from storage.wal.segments import list_segments


@dataclass(frozen=True, slots=True)
class Backlog:
    """The segments that are not converted (some still grow), and the age of the oldest, 0 without any."""

    segments: int
    bytes: int
    oldest_seconds: float


def backlog(layout: Layout, now: datetime) -> Backlog:
    """The backlog of this host. Raises StorageUnavailable."""
    segments = list_segments(layout.staging)
    converted = segment.converted([each.name for each in segments])
    waiting = [each for each in segments if each.name not in converted]
    oldest = min((ULID.from_str(each.name).datetime for each in waiting), default=now)
    return Backlog(
        segments=len(waiting),
        bytes=sum(each.size for each in waiting),
        oldest_seconds=max(0.0, (now.astimezone(UTC) - oldest).total_seconds()),
    )
