"""Copies of hot objects on the local disk, shared by all processes of the host, within a limit of bytes.

A copy is there whole or not at all: it gets its name by a rename when it has the size that the manifest says. Files
never change and names are never used again, so a copy is never stale. What was used within the grace is not evicted,
because a query may be about to open it; when nothing else is left to evict, new files are not kept but read remotely.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config import Settings
from errors import StorageUnavailable
from models.values.file import File
from processes.locks import wait_for_lock
from storage.context import CacheLimits, Layout
from storage.files.disk_watermark import used_percent
from storage.names import PARQUET_SUFFIX, UNFINISHED_SUFFIX, require_stored, unique

logger = logging.getLogger(__name__)

# The content of the object of that path. Raises StorageUnavailable, OSError.
Read = Callable[[str], Iterator[bytes]]

MIB: Final = 1024 * 1024
SEEN_SUFFIX: Final = ".seen"
# Held by whoever takes or makes room, and where they write down what is taken.
LOCK: Final = "lock"
LEDGER: Final = "taken"
# Up to here a whole file takes about as many requests as the part of it that a query needs; a larger one is fetched
# when it is wanted a second time (docs/decisions/storage.md).
SMALL_BYTES: Final = 4 * MIB
# What one query fetches before it begins. The rest of what it reads it reads remotely.
FETCH_BYTES: Final = 64 * MIB
FETCHERS: Final = 8
# A file that a query was told of may be opened until the longest query is over.
GRACE_MARGIN_SECONDS: Final = 60.0
# A copy's time of use is as exact as this; the margin of the grace is larger.
TOUCH_SECONDS: Final = 10.0
# Large files that one query marks as wanted.
MOST_MARKS: Final = 100
# How long it counts that a file was wanted before.
SEEN_SECONDS: Final = 3600.0


def limits(settings: Settings) -> CacheLimits | None:
    """What the settings allow; None: nothing is to be kept."""
    if not settings.object_cache_bytes:
        return None
    grace = settings.query_timeout_seconds + GRACE_MARGIN_SECONDS
    return CacheLimits(settings.object_cache_bytes, grace, settings.disk_low_water_percent)


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    size: int
    used_at: float


@dataclass(frozen=True, slots=True)
class Cache:
    """The copies below `root`. Plain values, so that it can be sent to another process; any number may share it."""

    root: Path
    limits: CacheLimits

    @classmethod
    def of(cls, layout: Layout) -> "Cache | None":
        """The layout's cache; None when it has none."""
        return None if layout.url is None or layout.cached is None else cls(layout.cache, layout.cached)

    def find(self, file: File) -> Path | None:
        """The copy of the file, which stays for the grace. Raises StorageUnavailable for a path that is not ours."""
        path = self.root / require_stored(file.path)
        try:
            status = path.stat()
            if status.st_size == file.bytes:
                if time.time() - status.st_mtime > TOUCH_SECONDS:
                    os.utime(path)
                return path
            path.unlink()
        except FileNotFoundError:
            pass
        return None

    def obtain(self, files: Sequence[File], read: Read) -> dict[str, Path]:
        """The copies of those of the files that have one, after copying those that are worth it, by the files' paths.

        A store that is away is no error here: what could not be copied is not in the result.
        """
        copies = {file.path: copy for file in files if (copy := self.find(file)) is not None}
        wanted = self._worth_it([file for file in files if file.path not in copies])
        admitted = self._admit(wanted) if wanted else []
        if admitted:
            with ThreadPoolExecutor(min(FETCHERS, len(admitted))) as fetchers:
                fetched = fetchers.map(lambda each: self._fetch(each[0], each[1], read), admitted)
                copies |= {path: copy for path, copy in fetched if copy is not None}
        return copies

    def keep(self, content: Path, path: str) -> None:
        """Take over a file that has just become the object `path`; it is deleted if there is no room for it."""
        target = self.root / require_stored(path)
        with self._locked() as room, suppress(OSError):
            if room.make(content.stat().st_size):
                target.parent.mkdir(parents=True, exist_ok=True)
                content.rename(target)
        content.unlink(missing_ok=True)

    def tidy(self, is_known: Callable[[Sequence[str]], set[str]]) -> None:
        """Delete the copies of objects that are not known any more, and count what is left."""
        paths = self.paths()
        self.drop(sorted(set(paths) - is_known(paths)))
        with self._locked() as room:
            room.count()

    def drop(self, paths: Sequence[str]) -> None:
        """Delete the copies of objects that are deleted."""
        for path in paths:
            (self.root / require_stored(path)).unlink(missing_ok=True)

    def paths(self) -> list[str]:
        """The objects that there are copies of."""
        return [str(each.path.relative_to(self.root)) for each in self._entries() if each.path.suffix == PARQUET_SUFFIX]

    def _worth_it(self, files: Sequence[File]) -> list[File]:
        """Those to be copied now, the latest first: together within what one query fetches."""
        chosen, left, marks = [], FETCH_BYTES, MOST_MARKS
        for file in reversed(files):
            if file.bytes > left or (file.bytes > SMALL_BYTES and not marks):
                continue
            marks -= file.bytes > SMALL_BYTES
            if file.bytes <= SMALL_BYTES or self._was_wanted(file):
                chosen.append(file)
                left -= file.bytes
        return chosen

    def _was_wanted(self, file: File) -> bool:
        """Whether the file was wanted before and not long ago; from now on it was."""
        mark = self.root / (file.path + SEEN_SUFFIX)
        try:
            return time.time() - mark.stat().st_mtime < SEEN_SECONDS
        except FileNotFoundError:
            return False
        finally:
            with suppress(OSError):
                # Somebody else may just be removing the directory, which was empty.
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()

    def _admit(self, files: Sequence[File]) -> list[tuple[File, Path]]:
        """Those of the files that there is room for, each with a file to fetch into, which takes that room already."""
        admitted = []
        with self._locked() as room:
            for file in files:
                if room.make(file.bytes):
                    unfinished = (self.root / file.path).with_name(unique() + UNFINISHED_SUFFIX)
                    unfinished.parent.mkdir(parents=True, exist_ok=True)
                    unfinished.touch()
                    os.truncate(unfinished, file.bytes)
                    admitted.append((file, unfinished))
        return admitted

    def _fetch(self, file: File, unfinished: Path, read: Read) -> tuple[str, Path | None]:
        target = self.root / file.path
        try:
            with unfinished.open("r+b") as copy:
                for piece in read(file.path):
                    copy.write(piece)
                size = copy.tell()
            if size == file.bytes:
                with self._lock():
                    # Whoever counts what is taken must not miss a file that changes its name meanwhile.
                    unfinished.rename(target)
                return file.path, target
            logger.warning("%s has %d bytes instead of %d", file.path, size, file.bytes)
        except (StorageUnavailable, OSError) as error:
            logger.info("%s is not kept: %s", file.path, error)
        unfinished.unlink(missing_ok=True)
        return file.path, None

    @contextmanager
    def _locked(self) -> Iterator["_Room"]:
        """What room there is, which nobody else takes or makes during the block."""
        with self._lock():
            # A disk that fills up is for events that nobody has yet, not for copies.
            is_full = used_percent(self.root) >= self.limits.disk_percent
            ledger = self.root / LEDGER
            before = time.time() - self.limits.grace_seconds
            room = _Room(_read(ledger), self._entries, 0 if is_full else self.limits.bytes, before)
            # Whoever is killed in the block leaves none, and the next one counts.
            ledger.unlink(missing_ok=True)
            try:
                yield room
            finally:
                ledger.write_text(str(room.taken), "ascii")

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / LOCK).open("a") as lock:
            wait_for_lock(lock)
            yield

    def _entries(self) -> list["_Entry"]:
        entries = []
        for directory, _, names in os.walk(self.root):
            for name in set(names) - {LOCK, LEDGER}:
                path = Path(directory, name)
                with suppress(FileNotFoundError):
                    status = path.stat()
                    entries.append(_Entry(path, status.st_size, status.st_mtime))
        return entries


def _read(ledger: Path) -> int | None:
    """The bytes taken as they were written down; None if they were not."""
    try:
        return int(ledger.read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


class _Room:
    """How much is taken, and what may go for more.

    What is taken was written down when it was taken, and what was deleted since is not, so it is never too little; the
    files themselves are looked at only when it seems too much.
    """

    def __init__(
        self, taken: int | None, entries: Callable[[], Sequence[_Entry]], limit_bytes: int, before: float
    ) -> None:
        self._entries, self._limit_bytes, self._before = entries, limit_bytes, before
        self._evictable: list[_Entry] | None = None
        self.taken = taken or 0
        if taken is None:
            self.count()

    def make(self, size: int) -> bool:
        """Whether so many bytes fit, after evicting what was not used for longest; if so they are taken."""
        if self.taken + size > self._limit_bytes:
            self._evict(size)
        if self.taken + size > self._limit_bytes:
            return False
        self.taken += size
        return True

    def count(self) -> None:
        """Look at the files themselves. Marks that count no more are deleted."""
        entries = self._entries()
        self.taken = sum(each.size for each in entries)
        for entry in entries:
            if entry.path.suffix == SEEN_SUFFIX and entry.used_at < time.time() - SEEN_SECONDS:
                entry.path.unlink(missing_ok=True)
        unused = (each for each in entries if each.used_at < self._before and each.size)
        # The one that was not used for longest is the last.
        self._evictable = sorted(unused, key=lambda entry: -entry.used_at)

    def _evict(self, size: int) -> None:
        if self._evictable is None:
            self.count()
        evictable = self._evictable or []
        # Nothing is given up for a file that does not fit anyway, unless the disk is full.
        if self._limit_bytes and self.taken + size - sum(each.size for each in evictable) > self._limit_bytes:
            return
        while evictable and self.taken + size > self._limit_bytes:
            oldest = evictable.pop()
            oldest.path.unlink(missing_ok=True)
            with suppress(OSError):
                # As far as nothing else is left in them.
                os.removedirs(oldest.path.parent)
            self.taken -= oldest.size
