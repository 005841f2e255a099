"""Write-ahead segments: the files that acknowledged events are in until they become Parquet.

A segment has one owner, the process that holds its lock and alone appends to it. Whoever gets the lock of a segment
knows that it will never grow again. Knows bytes and files, not what is in them.
"""

import fcntl
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from storage.names import SEGMENT_SUFFIX, UNFINISHED_SUFFIX, unique
from storage.wal.records import Buffer, Record, encode

# The kernel takes at most this many buffers in one call (IOV_MAX).
MOST_BUFFERS: Final = 1024


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment as it was listed: everything that was acknowledged before is within the first `size` bytes."""

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

    def append(self, frames: Sequence[Record]) -> float:
        """Write the frames and sync: on return they are durable. Returns the seconds that the sync took.

        Raises OSError, and then none of them is there.
        """
        buffers = [buffer for frame in frames for buffer in encode(frame, self.name) if len(buffer)]
        try:
            written = _write(self._fd, buffers, self.size)
            started = monotonic()
            os.fdatasync(self._fd)
            sync_seconds = monotonic() - started
        except BaseException:
            self._cut_back()
            raise
        self.size += written
        return sync_seconds

    def _cut_back(self) -> None:
        """Take away what was not acknowledged, as far as the disk lets us, and let go."""
        try:
            os.ftruncate(self._fd, self.size)
            os.fsync(self._fd)
        except OSError:
            # What stays was not acknowledged; its sender was told to repeat it, so it may be stored twice.
            pass
        finally:
            self.seal()

    def seal(self) -> None:
        """Let go of the segment: it will not grow any more and may be converted."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def is_sealed(self) -> bool:
        return self._fd < 0


def _write(fd: int, buffers: Sequence[Buffer], offset: int) -> int:
    """Write all buffers from `offset` on, in one call if the kernel takes them; return how many bytes."""
    views = [memoryview(buffer) for buffer in buffers]
    total = sum(len(view) for view in views)
    done = 0
    while done < total:
        count = os.pwritev(fd, views[:MOST_BUFFERS], offset + done)
        if count == 0:
            raise OSError(f"wrote {done} of {total} bytes")
        done += count
        while views and count >= len(views[0]):
            count -= len(views.pop(0))
        if count:
            views[0] = views[0][count:]
    return done


def list_segments(directory: Path, without: Collection[str] = ()) -> list[SegmentRef]:
    """The segments there are, but for those of the names `without`, oldest first, each with its size as of now."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name.removesuffix(SEGMENT_SUFFIX)
                if name != entry.name and name not in without:
                    try:
                        found.append(SegmentRef(name, entry.path, entry.stat().st_size))
                    except FileNotFoundError:
                        # Converted and deleted since the directory was read: its events are in the manifest.
                        continue
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda staged: staged.name)


def create_locked(directory: Path, name: str, suffix: str) -> int:
    """The descriptor of a new empty file that survives a crash and that this process holds the lock of."""
    unfinished = directory / (name + UNFINISHED_SUFFIX)
    fd = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o640)
    try:
        # Before it has the name that others look for, so none of them can be first.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.fsync(fd)
        os.rename(unfinished, directory / (name + suffix))
        sync_directory(directory)
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock of the file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


@contextmanager
def owned(staged: SegmentRef) -> Iterator[bool]:
    """Whether the segment has no living owner, which stays so during the block."""
    try:
        fd = os.open(staged.path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)


def sync_directory(directory: Path | str) -> None:
    """Make the directory's entries durable: after a crash, names created or removed before are so still."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: Path, root: Path) -> None:
    """Create the directory, below `root`, so that it survives a crash.

    Every directory on the way is synced even if it was there: whoever made it may have died before it could.
    """
    path.mkdir(parents=True, exist_ok=True)
    for each in (path, *path.parents):
        if each == root:
            break
        sync_directory(each.parent)
