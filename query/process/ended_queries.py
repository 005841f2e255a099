"""The slow queries of a host that have ended: one bounded file that all of its workers append to and read.

Statements hold literals, so it lies beside the running ones, where only the service can read. Who may see which of
them is not known here.
"""

import contextlib
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final

from errors import WeirError
from processes.locks import wait_for_lock
from query.process.slot_table import Query

FILE_NAME: Final = "slow.jsonl"
LOCK_NAME: Final = "slow.lock"
MIB: Final = 1024 * 1024
# A file that has grown to this is written anew with the latest half, some milliseconds' work.
MOST_BYTES: Final = MIB
# Of one tenant: the queries of one must not push out all others'.
MOST_OF_TENANT: Final = 100
# The end of a longer statement tells little, and 100 of them would fill the file.
MOST_CHARACTERS: Final = 4000
KEPT: Final = timedelta(days=1)
DONE: Final = "done"

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Work:
    """What is known of a query while it runs, noted by who runs it. What stays None was not counted.

    `status` is the code of the error that ended it; nothing: none has.
    """

    datasets: tuple[str, ...] = ()
    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    waited_seconds: float = 0.0
    status: str = ""

    def fail(self, error: BaseException) -> None:
        """The first error is the one that ended the query.

        >>> work = Work()
        >>> work.fail(ValueError())
        >>> work.status
        'internal_error'
        """
        self.status = self.status or (error.code if isinstance(error, WeirError) else "internal_error")


@dataclass(frozen=True, slots=True)
class EndedQuery:
    """A slow query that has ended. Times of day are RFC 3339; `status` is `done` or the code of an error."""

    id: str
    tenant: str
    identity: str
    sql: str
    started_at: str
    ended_at: str
    duration_ms: int
    waited_ms: int
    datasets: tuple[str, ...]
    files: int | None
    bytes: int | None
    rows: int | None
    status: str


class EndedQueries:
    """The file of one host, as one of its processes sees it. Queries of less than `least_seconds` are not noted."""

    def __init__(self, directory: Path, least_seconds: float) -> None:
        self._directory, self._least_seconds = directory, least_seconds
        self._path = directory / FILE_NAME

    def note(self, query: Query, work: Work, seconds: float) -> None:
        """A query has ended after so long. Never fails: the query's answer does not depend on it."""
        if seconds < self._least_seconds:
            return
        line = json.dumps(asdict(_ended(query, work, seconds, datetime.now(UTC)))).encode() + b"\n"
        try:
            with self._locked():
                self._append(line)
        except OSError as error:
            logger.warning("a slow query is not in the list of those: %s", error)

    def of(self, tenant: str) -> list[EndedQuery]:
        """The tenant's queries that ended within a day, the latest first."""
        oldest = _text(datetime.now(UTC) - KEPT)
        found = [each for each in map(_parse, self._lines()) if each is not None]
        return [each for each in reversed(found) if each.tenant == tenant and each.ended_at >= oldest][:MOST_OF_TENANT]

    def _lines(self) -> list[bytes]:
        """Without the lock: a line that is being written does not parse, and the next look has it."""
        try:
            return self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []

    def _append(self, line: bytes) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size + len(line) > MOST_BYTES:
                self._shorten()
        with _opened(self._path, os.O_APPEND) as file:
            file.write(line)

    def _shorten(self) -> None:
        unpublished = self._path.with_suffix(".new")
        with _opened(unpublished, os.O_TRUNC) as file:
            file.writelines(_latest(self._lines(), MOST_BYTES // 2))
        unpublished.rename(self._path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process writes. The lock has a file of its own, for the other one is replaced."""
        with _opened(self._directory / LOCK_NAME, os.O_TRUNC) as file:
            wait_for_lock(file)
            yield


def _opened(path: Path, flag: int) -> IO[bytes]:
    """To be written, by the service alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flag, 0o600), "wb")


def _ended(query: Query, work: Work, seconds: float, now: datetime) -> EndedQuery:
    return EndedQuery(
        query.id,
        query.tenant,
        query.identity,
        query.sql if len(query.sql) <= MOST_CHARACTERS else query.sql[:MOST_CHARACTERS] + "…",
        query.started_at,
        _text(now),
        round(seconds * 1000),
        round(work.waited_seconds * 1000),
        work.datasets,
        work.files,
        work.bytes,
        work.rows,
        work.status or DONE,
    )


def _text(instant: datetime) -> str:
    """Of one length, so that texts sort as what they stand for."""
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _parse(line: bytes) -> EndedQuery | None:
    """None for half a line, which a process has left that died, or another version."""
    try:
        members = json.loads(line)
        return EndedQuery(**{**members, "datasets": tuple(members["datasets"])})
    except (ValueError, TypeError, KeyError):
        return None


def _latest(lines: list[bytes], most_bytes: int) -> list[bytes]:
    """The last of them that fit, and of each tenant no more than are shown."""
    kept: list[bytes] = []
    count: Counter[str] = Counter()
    for line in reversed(lines):
        ended = _parse(line)
        if ended is None or count[ended.tenant] == MOST_OF_TENANT:
            continue
        most_bytes -= len(line)
        if most_bytes < 0:
            break
        count[ended.tenant] += 1
        kept.append(line)
    return kept[::-1]
