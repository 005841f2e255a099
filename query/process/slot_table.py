"""What the workers of one host share: slots for running queries, the queue for them, and the list of all queries.

One slot is reserved for privileged queries (`Query.privileged`), and no caller holds all of the others.

All of it is files under one directory that are locked as long as their owner lives. The kernel drops the locks of
a process that dies in whatever way, so nothing needs cleaning up by hand (docs/decisions/query-processes.md).
"""

import contextlib
import errno
import json
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

from processes.locks import try_lock, unlock, wait_for_lock
from processes.shares import Shares

QUERY: Final = ".query"
CANCEL: Final = ".cancel"
WAITING: Final = ".waiting"
# Privileged queries, which may take the reserved slot, wait in a queue of their own.
PRIVILEGED: Final = ".ahead"
UNPUBLISHED: Final = ".new"
# A worker at the head of the queue that does not take a free slot for so long is stuck: others pass it.
PATIENCE_SECONDS: Final = 0.25
# A file is locked and published right after it was created; one that is still unpublished after this never will be.
PUBLISH_SECONDS: Final = 60.0
# Of writes on a disk that is full, for everybody or for us.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Query:
    """A query that waits or runs. `identity` is kind and name of who asked; `started_at` is RFC 3339.

    `privileged`: an administrator's or an alert's, which may take the reserved slot.
    """

    id: str
    tenant: str
    identity: str
    sql: str
    started_at: str
    privileged: bool = False

    @property
    def caller(self) -> str:
        """Whose share of the slots it takes."""
        return f"{self.tenant}/{self.identity}"


class SlotTable:
    """The shared directory, as one worker process sees it. Not for use by several processes through a fork.

    It has `slots` for everybody, and one more that is reserved.
    """

    def __init__(self, directory: Path, slots: int) -> None:
        self._directory = directory
        self._count = slots
        self._files: list[IO[str]] = []
        self._held_slots: set[int] = set()
        self._shares = Shares(directory / "shares.lock")
        self._free_since: dict[bool, float] = {}

    def open(self) -> None:
        """Create what is missing and open the slots. Safe to call again."""
        if not self._files:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Running statements hold literals. An earlier version has made it for everybody.
            self._directory.chmod(0o700)
            self._files = [(self._directory / f"slot-{number}.lock").open("w") for number in range(self._count + 1)]
            self._shares.open()

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()
        self._held_slots.clear()
        self._shares.close()

    def try_share(self, query: Query) -> int | None:
        """One of the slots that the caller may hold at once, wherever on the host; None: it holds as many already.

        A caller's share is all slots but one, at least one; a privileged caller's also includes the reserved slot.
        """
        return self._shares.take(query.caller, self._count if query.privileged else max(1, self._count - 1))

    def release_share(self, number: int) -> None:
        self._shares.give_back(number)

    def try_slot(self, entry: "LockedFile | None", *, privileged: bool = False) -> int | None:
        """A slot for `entry` of the queue (None: not in it yet), or None: not now."""
        number = self._lock_any(privileged=privileged)
        if number is None or self._is_next(entry, PRIVILEGED if privileged else WAITING):
            self._free_since.pop(privileged, None)
            return number
        since = self._free_since.setdefault(privileged, time.monotonic())
        if time.monotonic() - since > PATIENCE_SECONDS:
            del self._free_since[privileged]
            return number
        self.release_slot(number)
        return None

    def holds_all(self, *, privileged: bool = False) -> bool:
        """Whether all slots that one may take are this worker's, so that no other process can free one."""
        return self._held_slots.issuperset(self._open_to(privileged))

    def _open_to(self, privileged: bool) -> range:
        return range(self._count + 1 if privileged else self._count)

    def release_slot(self, number: int) -> None:
        self._held_slots.discard(number)
        if self._files:
            unlock(self._files[number])

    def enqueue(self, *, privileged: bool = False) -> "LockedFile":
        """An entry behind all that wait now. The monotonic clock is the same for all processes of a host."""
        suffix = PRIVILEGED if privileged else WAITING
        return self._publish(f"{time.monotonic_ns():020d}-{uuid.uuid4().hex}{suffix}", "")

    def enter(self, query: Query) -> "LockedFile":
        """List a query until the entry is closed."""
        return self._publish(query.id + QUERY, json.dumps(asdict(query)))

    def queries(self, tenant: str) -> list[Query]:
        """The queries of a tenant that wait or run on this host, oldest first."""
        listed_queries = [self._read(path) for path in self._directory.glob("*" + QUERY)]
        mine = [query for query in listed_queries if query is not None and query.tenant == tenant]
        return sorted(mine, key=lambda query: (query.started_at, query.id))

    def count(self) -> int:
        """How many queries of all tenants wait or run on this host."""
        return sum(self._read(path) is not None for path in self._directory.glob("*" + QUERY))

    def cancel(self, query_id: str) -> None:
        """Ask the owner of a listed query to end it; the owner looks several times a second."""
        (self._directory / (query_id + CANCEL)).touch()

    def cancel_by_prefix(self, prefix: str) -> None:
        """The same for every query whose id begins so."""
        for path in self._directory.glob(f"{prefix}*{QUERY}"):
            self.cancel(path.name.removesuffix(QUERY))

    def is_cancelled(self, query_id: str) -> bool:
        return (self._directory / (query_id + CANCEL)).exists()

    def _lock_any(self, *, privileged: bool) -> int | None:
        for number in self._open_to(privileged) if self._files else ():
            if number not in self._held_slots and try_lock(self._files[number]):
                self._held_slots.add(number)
                return number
        return None

    def _is_next(self, entry: "LockedFile | None", suffix: str) -> bool:
        """Whether no live entry is before `entry` in this queue."""
        for name in sorted(name for name in os.listdir(self._directory) if name.endswith(suffix)):
            if entry is not None and name == entry.path.name:
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
        """A file that appears complete and locked, so that whoever sees it unlocked knows its owner is gone.

        On a full disk there is none: the query runs all the same, is in no list, and waits without a place in the line.
        """
        path, unpublished = self._directory / name, self._directory / (name + UNPUBLISHED)
        try:
            file = _create_locked(unpublished, content)
        except OSError as error:
            unpublished.unlink(missing_ok=True)
            if error.errno not in NO_ROOM:
                raise
            return LockedFile(path, None)
        unpublished.rename(path)
        return LockedFile(path, file)

    def sweep(self) -> None:
        """Remove what processes that died have left."""
        for path in self._leftovers():
            if _sweep_if_dead(path):
                self._forget(path)

    def _leftovers(self) -> Iterator[Path]:
        for suffix in (QUERY, WAITING, PRIVILEGED):
            yield from self._directory.glob("*" + suffix)
        for path in self._directory.glob("*" + UNPUBLISHED):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > PUBLISH_SECONDS:
                    yield path


class LockedFile:
    """A file of the shared directory that is there as long as this is open."""

    def __init__(self, path: Path, file: IO[bytes] | None) -> None:
        self.path = path
        self._file = file

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self.path.with_suffix(CANCEL).unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()


def _create_locked(path: Path, content: str) -> IO[bytes]:
    # Unbuffered, so that what did not fit is not tried again when the file is closed.
    file = path.open("wb", buffering=0)
    try:
        wait_for_lock(file)
        _write(file, content.encode())
    except OSError:
        file.close()
        raise
    return file


def _write(file: IO[bytes], content: bytes) -> None:
    """All of it, which a nearly full disk may take in two parts. Raises OSError."""
    while content:
        content = content[file.write(content) :]


def _sweep_if_dead(path: Path) -> bool:
    """True if nobody holds the lock of the file, which is then removed; also if it is gone already."""
    try:
        with path.open() as file:
            if not try_lock(file):
                return False
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return True
    except FileNotFoundError:
        return True
