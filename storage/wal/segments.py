"""Write-ahead segments: the files that acknowledged events are in until they become Parquet.

A segment has one owner, the process that holds its lock and alone appends to it. Whoever gets the lock of a segment
knows that it will never grow again. Knows bytes and files, not what is in them.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from processes.locks import try_lock
from storage.durable_files import create_locked
from storage.names import SEGMENT_SUFFIX, unique
from storage.wal.records import Buffer, Record, encode

# The kernel takes at most this many buffers in one call (IOV_MAX).
MOST_BUFFERS: Final = 1024


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment as it was listed. The first `size` bytes hold every event that was acknowledged before the listing."""

    name: str
    path: str
    size: int


class Segment:
    """A segment that this process owns. Not for two threads at once.

    After an OSError from `append` the segment is sealed and holds what it held before; a new one has to be made,
    because after a failed sync nobody knows what the disk has, and a second sync of the same file would lie.
    """

    def __init__(self, directory: Path) -> None:
        """Create an empty segment that survives a crash from here on."""
        self.name = unique()
        self.path = directory / (self.name + SEGMENT_SUFFIX)
        self.size = 0
        self.opened = monotonic()
        self._fd = create_locked(directory, self.name, SEGMENT_SUFFIX)

    @property
    def age_seconds(self) -> float:
        return monotonic() - self.opened

    def append(self, records: Sequence[Record]) -> float:
        """Write the records and sync: on return they are durable. Returns the seconds that the sync took.

        Raises OSError, and then the segment has none of them.
        """
        return self.write(self.encoded(records))

    def encoded(self, records: Sequence[Record]) -> list[Buffer]:
        """The bytes of records in this segment."""
        return [buffer for record in records for buffer in encode(record, self.name) if len(buffer)]

    def write(self, buffers: Sequence[Buffer]) -> float:
        """As `append`, of records that are encoded."""
        try:
            written = write_buffers(self._fd, buffers, self.size)
            started = monotonic()
            os.fdatasync(self._fd)
            sync_seconds = monotonic() - started
        except BaseException:
            self.cut_back(self.size)
            raise
        self.size += written
        return sync_seconds

    def cut_back(self, size: int) -> bool:
        """Remove the bytes beyond, which were not acknowledged, and seal the segment. Whether the disk let us.

        What stays was not acknowledged; its sender is told to repeat it, so it may be stored twice.
        """
        try:
            os.ftruncate(self._fd, size)
            os.fsync(self._fd)
        except OSError:
            return False
        finally:
            self.seal()
        return True

    def seal(self) -> None:
        """Let go of the segment: it will not grow any more and may be converted."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def is_sealed(self) -> bool:
        return self._fd < 0


def write_buffers(fd: int, buffers: Sequence[Buffer], offset: int) -> int:
    """Write all buffers from `offset` on, in one call if the kernel takes them; return how many bytes."""
    views = [memoryview(buffer) for buffer in buffers]
    total = sum(len(view) for view in views)
    written = 0
    while written < total:
        count = os.pwritev(fd, views[:MOST_BUFFERS], offset + written)
        if count == 0:
            raise OSError(f"wrote {written} of {total} bytes")
        written += count
        while views and count >= len(views[0]):
            count -= len(views.pop(0))
        if count:
            views[0] = views[0][count:]
    return written


def list_segments(directory: Path, without: Collection[str] = ()) -> list[SegmentRef]:
    """The segments in the directory, except those named in `without`, oldest first, with their current sizes."""
    segments = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name.removesuffix(SEGMENT_SUFFIX)
                if name != entry.name and name not in without:
                    try:
                        segments.append(SegmentRef(name, entry.path, entry.stat().st_size))
                    except FileNotFoundError:
                        # Converted and deleted since the directory was read: its events are in the manifest.
                        continue
    except FileNotFoundError:
        return []
    return sorted(segments, key=lambda segment: segment.name)


@contextmanager
def take_ownership(segment: SegmentRef) -> Iterator[bool]:
    """Lock the segment for the block if it has no living owner; yield whether that succeeded."""
    try:
        fd = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)
