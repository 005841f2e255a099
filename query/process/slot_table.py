"""What the workers of one host share: slots for running queries, the line for them, and the list of all queries.

All of it is files under one directory that are locked as long as their owner lives. The kernel drops the locks of
a process that dies in whatever way, so nothing needs cleaning up by hand (docs/decisions/query-processes.md).
"""

import contextlib
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

QUERY: Final = ".query"
CANCEL: Final = ".cancel"
WAITING: Final = ".waiting"
UNPUBLISHED: Final = ".new"
# A worker at the head of the line that does not take a free slot for so long is stuck: it is passed by.
PATIENCE_SECONDS: Final = 0.25
# A file is locked and published right after it was created; one that is still unpublished after this never will be.
PUBLISH_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Query:
    """A query that waits or runs. `identity` is kind and name of who asked; `started_at` is RFC 3339."""

    id: str
    tenant: str
    identity: str
    sql: str
    started_at: str


class SlotTable:
    """The shared directory, as one worker process sees it. Not for use by several processes through a fork."""

    def __init__(self, directory: Path, slots: int) -> None:
        self._directory = directory
        self._count = slots
        self._files: list[IO[str]] = []
        self._held: set[int] = set()
        self._free_since: float | None = None

    def open(self) -> None:
        """Create what is missing and open the slots. Safe to call again."""
        if not self._files:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._files = [(self._directory / f"slot-{number}.lock").open("w") for number in range(self._count)]

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()
        self._held.clear()

    def try_slot(self, place: "LockedFile | None") -> int | None:
        """A slot for the one at `place` in the line (None: not in it yet), or None: not now."""
        number = self._lock_any()
        if number is None or self._is_next(place):
            self._free_since = None
            return number
        self._free_since = self._free_since or time.monotonic()
        if time.monotonic() - self._free_since > PATIENCE_SECONDS:
            self._free_since = None
            return number
        self.release_slot(number)
        return None

    @property
    def holds_all(self) -> bool:
        """Whether all slots of the host are this worker's, so that no other process can free one."""
        return len(self._held) == self._count

    def release_slot(self, number: int) -> None:
        self._held.discard(number)
        if self._files:
            fcntl.flock(self._files[number], fcntl.LOCK_UN)

    def stand_in_line(self) -> "LockedFile":
        """A place behind all that stand there now. The monotonic clock is the same for all processes of a host."""
        return self._publish(f"{time.monotonic_ns():020d}-{uuid.uuid4().hex}{WAITING}", "")

    def enter(self, query: Query) -> "LockedFile":
        """List a query until the entry is closed."""
        return self._publish(query.id + QUERY, json.dumps(asdict(query)))

    def queries(self, tenant: str) -> list[Query]:
        """The queries of a tenant that wait or run on this host, oldest first."""
        found = [self._read(path) for path in self._directory.glob("*" + QUERY)]
        mine = [query for query in found if query is not None and query.tenant == tenant]
        return sorted(mine, key=lambda query: (query.started_at, query.id))

    def count(self) -> int:
        """How many queries of all tenants wait or run on this host."""
        return sum(self._read(path) is not None for path in self._directory.glob("*" + QUERY))

    def cancel(self, query_id: str) -> None:
        """Ask the owner of a listed query to end it; the owner looks several times a second."""
        (self._directory / (query_id + CANCEL)).touch()

    def is_cancelled(self, query_id: str) -> bool:
        return (self._directory / (query_id + CANCEL)).exists()

    def _lock_any(self) -> int | None:
        for number, file in enumerate(self._files):
            if number not in self._held and _try_lock(file):
                self._held.add(number)
                return number
        return None

    def _is_next(self, place: "LockedFile | None") -> bool:
        """Whether nobody alive stands before `place`."""
        for name in sorted(name for name in os.listdir(self._directory) if name.endswith(WAITING)):
            if place is not None and name == place.path.name:
                return True
            if not _sweep_if_dead(self._directory / name):
                return False
        return True

    def _read(self, path: Path) -> Query | None:
        if _sweep_if_dead(path):
            self._forget(path)
            return None
        try:
            return Query(**json.loads(path.read_text("utf-8")))
        except FileNotFoundError:
            return None

    def _forget(self, path: Path) -> None:
        path.with_suffix(CANCEL).unlink(missing_ok=True)

    def _publish(self, name: str, content: str) -> "LockedFile":
        """A file that appears complete and locked, so that whoever sees it unlocked knows its owner is gone."""
        unpublished = self._directory / (name + UNPUBLISHED)
        file = unpublished.open("w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(content)
        file.flush()
        path = self._directory / name
        unpublished.rename(path)
        return LockedFile(path, file)

    def sweep(self) -> None:
        """Remove what processes that died have left."""
        for path in self._leftovers():
            if _sweep_if_dead(path):
                self._forget(path)

    def _leftovers(self) -> Iterator[Path]:
        for suffix in (QUERY, WAITING):
            yield from self._directory.glob("*" + suffix)
        for path in self._directory.glob("*" + UNPUBLISHED):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > PUBLISH_SECONDS:
                    yield path


class LockedFile:
    """A file of the shared directory that is there as long as this is open."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.path = path
        self._file = file

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self.path.with_suffix(CANCEL).unlink(missing_ok=True)
        self._file.close()


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep_if_dead(path: Path) -> bool:
    """True if nobody holds the lock of the file, which is then removed; also if it is gone already."""
    try:
        with path.open() as file:
            if not _try_lock(file):
                return False
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return True
    except FileNotFoundError:
        return True
