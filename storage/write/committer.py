"""Group commit: whatever is queued while one sync runs goes into the next. Knows rows, not requests.

One thread per process takes the queue, and `offload` runs the blocking part. Under gevent the thread is a greenlet
(the standard library is patched) and `offload` has to leave the hub; it must not be a pool that long work can fill,
or acknowledgements wait for queries. Elsewhere `offload` may simply call its argument.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

import polars as pl

from errors import Overloaded, ShuttingDown, StorageUnavailable
from storage.wal.records import Buffer, Record, to_payload
from storage.wal.segments import Segment
from storage.write.gathering import Gatherer

logger = logging.getLogger(__name__)

R = TypeVar("R")

MIB: Final = 1024 * 1024
# Conversion reads a segment whole; larger ones cost memory there, smaller ones make more files.
SEGMENT_BYTES: Final = 32 * MIB
# One write; what is queued beyond it waits for the next sync, which keeps the first ones' acknowledgement early.
COMMIT_BYTES: Final = 16 * MIB
# A request with more rows than fit into this gets a record of its own.
LARGE_BYTES: Final = 128 * 1024


class Offload(Protocol):
    def __call__(self, function: Callable[[], R], /) -> R: ...


def inline(function: Callable[[], R], /) -> R:
    """The offload of a process without gevent: the calling thread does it."""
    return function()


class CopyFailed(Exception):
    """No other host keeps a copy of what was to be appended."""


class CopyStream(Protocol):
    """The copy of one segment on another host, while it grows: `send`, then `wait`."""

    def send(self, offset: int, added: Any, /) -> None:
        """Append what follows the first `offset` bytes. Raises CopyFailed."""

    def wait(self) -> None:
        """Return when what was sent is durable there. Raises CopyFailed."""

    def close(self) -> None: ...


class Copier(Protocol):
    """Has copies kept on other hosts (storage.cluster.copying)."""

    def encoded(self, buffers: Sequence[Buffer], /) -> Any:
        """What `send` takes; pure and heavy."""

    def begin(self, segment: str, /) -> CopyStream:
        """Have a copy kept of a new segment. Raises CopyFailed, StorageUnavailable."""

    def end(self, segment: str, size: int, /) -> None:
        """Have only so many bytes of a copy count. Raises StorageUnavailable."""


# Called after each commit with the number of its requests, its seconds, and those of its sync.
OnCommit = Callable[[int, float, float], None]


def ignore(requests: int, seconds: float, sync_seconds: float) -> None:
    """The callback of a committer whose commits nobody counts."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Stored rows of one dataset, as one request brought them. Times in ns since 1970, both inclusive."""

    dataset_id: int
    frame: pl.DataFrame
    tmin: int
    tmax: int
    body_bytes: int = 0
    notes: bytes = b""


@dataclass(slots=True)
class _Request:
    rows: Rows
    size: int
    answered: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def answer(self, error: BaseException | None) -> None:
        self.error = error
        self.answered.set()


# Records and their rows.
_Stored = list[tuple[Record, pl.DataFrame]]


@dataclass(frozen=True, slots=True)
class _Encoded:
    """What is to be written to a segment: its bytes, the same for a copy, and the records that they are."""

    segment: Segment
    buffers: list[Buffer]
    copied: Any
    stored: _Stored


class Committer:
    """Makes rows durable. Owns the process's segment."""

    def __init__(
        self,
        staging: Path,
        *,
        offload: Offload = inline,
        flush_seconds: float = 5.0,
        max_queued_bytes: int = 256 * MIB,
        segment_bytes: int = SEGMENT_BYTES,
        on_commit: OnCommit = ignore,
        copier: Copier | None = None,
    ) -> None:
        """`copier`: what has a copy kept of everything before it is acknowledged; None: this disk is enough."""
        self._staging = staging
        self._copier = copier
        # The copy of a segment, which is the current one or one before it.
        self._copy: tuple[Segment, CopyStream] | None = None
        self._offload = offload
        self._flush_seconds = flush_seconds
        self._max_queued_bytes = max_queued_bytes
        self._segment_bytes = segment_bytes
        self._on_commit = on_commit
        self._segment: Segment | None = None
        self._gatherer: Gatherer | None = None
        self._lock = threading.Lock()
        self._has_work = threading.Event()
        self._queue: list[_Request] = []
        self._queued_bytes = 0
        self._closing = False
        self._thread: threading.Thread | None = None

    def append(self, rows: Rows) -> None:
        """Return when the rows are on stable storage.

        Raises Overloaded when too much waits already, StorageUnavailable when the disk failed, ShuttingDown.
        In each case the rows are not stored.
        """
        request = _Request(rows, int(rows.frame.estimated_size()))
        self._enqueue(request)
        request.answered.wait()
        if isinstance(request.error, CopyFailed):
            raise StorageUnavailable("no other host keeps a copy of the events now") from request.error
        if request.error is not None:
            raise StorageUnavailable("the events could not be written to disk") from request.error

    def _enqueue(self, request: _Request) -> None:
        with self._lock:
            if self._closing:
                raise ShuttingDown("the server is shutting down")
            # An empty queue takes a request of any size: web/bodies.py limited the size when it read the request.
            if self._queue and self._queued_bytes + request.size > self._max_queued_bytes:
                raise Overloaded("too many events wait to be written")
            self._queue.append(request)
            self._queued_bytes += request.size
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
                self._thread.start()
        self._has_work.set()

    def close(self) -> None:
        """Commit what is queued, seal the segment and refuse what comes later."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._has_work.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            if not (self._queue or self._closing):
                self._has_work.wait(self._flush_in())
                self._has_work.clear()
            # Read before the queue: every request was queued before the committer began to close.
            is_closing = self._closing
            batch = self._take_batch()
            if batch:
                self._commit(batch)
                self._gather()
            is_last = is_closing and not batch
            if is_last or self._flush_in() == 0:
                self._offload(self._roll)
            if is_last:
                self._end_copy()
                return

    def _flush_in(self) -> float | None:
        """Seconds until the segment is old enough to be sealed; None without a segment."""
        if self._segment is None:
            return None
        return max(0.0, self._flush_seconds - self._segment.age_seconds)

    def _take_batch(self) -> list[_Request]:
        batch: list[_Request] = []
        size = 0
        with self._lock:
            while self._queue and (not batch or size + self._queue[0].size <= COMMIT_BYTES):
                batch.append(self._queue.pop(0))
                size += batch[-1].size
            self._queued_bytes -= size
        return batch

    def _commit(self, batch: Sequence[_Request]) -> None:
        """Answer all of `batch`: durable, or all failed."""
        error: BaseException | None = None
        started = monotonic()
        try:
            sync_seconds = self._store(batch)
        except Exception as caught:
            # Nothing was acknowledged, and the next commit starts with a new segment.
            logger.exception("commit of %d requests failed", len(batch))
            error = caught
            self._roll()
        for request in batch:
            request.answer(error)
        if error is None:
            self._report(len(batch), monotonic() - started, sync_seconds)

    def _report(self, requests: int, seconds: float, sync_seconds: float) -> None:
        """Report the commit after the requests were answered: if counting fails, the rows are durable all the same."""
        try:
            self._on_commit(requests, seconds, sync_seconds)
        except Exception:
            logger.exception("a commit could not be counted")

    def _store(self, batch: Sequence[_Request]) -> float:
        """Return the seconds of the sync."""
        if self._copier is None:
            return self._offload(lambda: self._write(batch))
        try:
            return self._store_twice(batch, self._copier)
        except CopyFailed as error:
            # Another host may keep the copy of another segment.
            logger.warning("%s; another host is asked", error)
            return self._store_twice(batch, self._copier)

    def _write(self, batch: Sequence[_Request]) -> float:
        stored = _records(batch)
        records = [record for record, _ in stored]
        sync_seconds = self._segment_for(records).append(records)
        self._gather_later(stored)
        return sync_seconds

    def _store_twice(self, batch: Sequence[_Request], copier: Copier) -> float:
        """Here and on another host at once. Raises CopyFailed, and then the segment has nothing of it."""
        encoded = self._offload(lambda: self._encode(batch, copier))
        segment, size = encoded.segment, encoded.segment.size
        try:
            copy = self._copy_of(segment, copier)
            copy.send(size, encoded.copied)
            sync_seconds = self._offload(lambda: segment.write(encoded.buffers))
            copy.wait()
        except CopyFailed as error:
            self._take_back(segment, size, copier, error)
            raise
        except Exception:
            copier.end(segment.name, size)
            raise
        self._gather_later(encoded.stored)
        return sync_seconds

    def _take_back(self, segment: Segment, size: int, copier: Copier, reason: CopyFailed) -> None:
        """Have neither copy count beyond these bytes, so that they may be stored in another segment."""
        if not self._offload(lambda: segment.cut_back(size)):
            raise OSError("what has no copy could not be taken back") from reason
        self._offload(self._roll)
        copier.end(segment.name, size)

    def _copy_of(self, segment: Segment, copier: Copier) -> CopyStream:
        """Raises CopyFailed, StorageUnavailable."""
        if self._copy is not None and self._copy[0] is segment:
            return self._copy[1]
        self._end_copy()
        self._copy = segment, copier.begin(segment.name)
        return self._copy[1]

    def _end_copy(self) -> None:
        """Not for another thread than the committer's: it closes a connection."""
        if self._copy is not None:
            self._copy[1].close()
            self._copy = None

    def _encode(self, batch: Sequence[_Request], copier: Copier) -> _Encoded:
        stored = _records(batch)
        records = [record for record, _ in stored]
        segment = self._segment_for(records)
        buffers = segment.encoded(records)
        return _Encoded(segment, buffers, copier.encoded(buffers), stored)

    def _segment_for(self, records: Sequence[Record]) -> Segment:
        """The current segment, or a new one if the records would make it too large."""
        if self._segment is not None and self._segment.size + sum(each.size for each in records) > self._segment_bytes:
            self._roll()
        if self._segment is None:
            self._segment = Segment(self._staging)
            self._gatherer = Gatherer(self._segment)
        return self._segment

    def _gather_later(self, stored: _Stored) -> None:
        """Note what is durable in the current segment."""
        if self._gatherer is not None:
            self._gatherer.add(stored)

    def _gather(self) -> None:
        """Gather small records, if it is time, once all that wait for their commit are answered."""
        if self._gatherer is not None and self._gatherer.is_due:
            self._offload(self._gatherer.gather)

    def _roll(self) -> None:
        segment, self._segment = self._segment, None
        gatherer, self._gatherer = self._gatherer, None
        if gatherer is not None:
            gatherer.finish()
        if segment is not None:
            segment.seal()


def _records(batch: Sequence[_Request]) -> _Stored:
    joined = [_joined(group) for group in _groups(batch)]
    return [(_to_record(each), each.frame) for each in joined]


def _groups(requests: Sequence[_Request]) -> list[list[Rows]]:
    """The rows of each record, in the order of arrival."""
    groups: dict[object, list[Rows]] = {}
    for request in requests:
        groups.setdefault(_record_key(request), []).append(request.rows)
    return list(groups.values())


def _record_key(request: _Request) -> object:
    """The key by which rows share a record: the dataset and the columns.

    Large rows get a record of their own, since joining them would cost a copy and save next to nothing.
    """
    rows = request.rows
    return id(rows) if request.size > LARGE_BYTES else (rows.dataset_id, tuple(rows.frame.schema.items()))


def _joined(group: Sequence[Rows]) -> Rows:
    """The rows of a record as if one request had brought them."""
    if len(group) == 1:
        return group[0]
    return Rows(
        dataset_id=group[0].dataset_id,
        frame=pl.concat([each.frame for each in group], rechunk=True),
        tmin=min(each.tmin for each in group),
        tmax=max(each.tmax for each in group),
        body_bytes=sum(each.body_bytes for each in group),
        notes=b"".join(each.notes for each in group),
    )


def _to_record(rows: Rows) -> Record:
    return Record(
        dataset_id=rows.dataset_id,
        rows=rows.frame.height,
        tmin=rows.tmin,
        tmax=rows.tmax,
        body_bytes=rows.body_bytes,
        payload=to_payload(rows.frame),
        notes=rows.notes,
    )
