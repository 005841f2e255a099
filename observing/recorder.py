"""Stores Weir's own log lines soon after they were written, and its numbers every minute or so.

Nothing waits for it: lines go into a bounded buffer, and a thread of its own (a greenlet under gunicorn) stores them.
"""

import json
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

import logs
from columns import Batch
from errors import InvalidRequest, TooLarge, WeirError
from logs import Line
from metrics.exposition import Sample
from observing import rows
from observing.rows import Row
from processes.locks import try_lock

logger = logging.getLogger(__name__)

# At about 300 bytes each. With the longest tracebacks they take some 20 MB.
MOST_LINES: Final = 1000
LINES_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0
CLOSE_SECONDS: Final = 5.0

# Returns when the events are durable; raises WeirError.
Store = Callable[[Batch], None]
# Called with an outcome, "stored" or "dropped", and the number of rows that had it.
Count = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class SelfIngestTarget:
    """The dataset (tenant and name) that gets Weir's own events, and the interval at which its numbers are stored."""

    dataset: tuple[str, str]
    sample_seconds: float


class Recorder:
    """The recorder of one worker. It owns the buffer between loggers and the dataset.

    One worker of a host holds the lock and stores the numbers of all its workers. `sample` reads the numbers.
    """

    def __init__(
        self, own: SelfIngestTarget, store: Store, sample: Callable[[], Iterable[Sample]], count: Count, lock: Path
    ) -> None:
        self._own, self._store, self._sample, self._count = own, store, sample, count
        self._lock_path = lock
        self._lock: int | None = None
        self._host = socket.gethostname()
        self._waiting: deque[Line] = deque()
        # Of lines. Counted by whatever thread logs, and so without a lock: one in a race may be missed.
        self._dropped = 0
        self._sampled_at = monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observing", daemon=True)
        self._handler = logs.RelayHandler(self.put)

    def start(self) -> None:
        """Begin to keep this process's log lines."""
        for each in _root_loggers():
            each.addHandler(self._handler)
        self._thread.start()

    def close(self) -> None:
        """Store the waiting lines, unless that takes long, and stop keeping lines."""
        for each in _root_loggers():
            each.removeHandler(self._handler)
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_SECONDS)
        if self._lock is not None:
            os.close(self._lock)

    def put(self, line: Line) -> None:
        """Keep a line. If too many lines wait already, because storage refuses them, drop the line and count it."""
        if len(self._waiting) < MOST_LINES:
            self._waiting.append(line)
        else:
            self._dropped += 1

    def on_packet(self, packet: bytes) -> None:
        """Keep a line that another process of this host relayed (logs.relay)."""
        self.put(json.loads(packet))

    def _run(self) -> None:
        # What is logged on the way into the dataset must not go there.
        logs.is_kept.set(False)
        pause = LINES_SECONDS
        while not self._stopping.wait(pause):
            pause = LINES_SECONDS if self._succeeds() else min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._succeeds()

    def _succeeds(self) -> bool:
        """Do a round; whether storage took what there was. Whatever goes wrong, the next round has its turn."""
        try:
            self.round()
        except WeirError as error:
            logger.info("Weir's own events wait: %s", error)
            return False
        except Exception:
            logger.exception("Weir's own events are not stored")
            return False
        return True

    def round(self) -> None:
        """Store the lines that wait, and the numbers if that is due. Raises what storage raises."""
        dropped, self._dropped = self._dropped, 0
        self._count("dropped", dropped)
        self._store_lines()
        if monotonic() >= self._sampled_at + self._own.sample_seconds and self._leads():
            self._sampled_at = monotonic()
            self._store_numbers()

    def _store_lines(self) -> None:
        """Lines that are refused for now stay where they are."""
        lines = list(islice(self._waiting, MOST_LINES))
        if lines:
            self._keep([rows.of_line(each, self._host) for each in lines])
        for _ in lines:
            self._waiting.popleft()

    def _store_numbers(self) -> None:
        """Numbers that are refused are dropped: later ones say more."""
        samples = rows.of_samples(self._sample(), self._host, datetime.now(UTC), self._own.dataset)
        try:
            self._keep(samples)
        except WeirError:
            self._count("dropped", len(samples))
            raise

    def _keep(self, batches: Sequence[Row]) -> None:
        """Store the rows, or give them up when they cannot be. Raises what may pass: DiskFull, Overloaded, ..."""
        try:
            self._store(rows.batch(batches))
        except (InvalidRequest, TooLarge) as error:
            logger.warning("%s does not take Weir's own events: %s", self._own.dataset[1], error)
            self._count("dropped", len(batches))
        except WeirError:
            raise
        except Exception:
            logger.exception("Weir's own events are dropped")
            self._count("dropped", len(batches))
        else:
            self._count("stored", len(batches))

    def _leads(self) -> bool:
        """Whether this process is the host's that stores numbers. The kernel frees the lock when it dies."""
        if self._lock is not None:
            return True
        descriptor = os.open(self._lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        if not try_lock(descriptor):
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True


def _root_loggers() -> tuple[logging.Logger, ...]:
    """The loggers that hand nothing on: the root, and gunicorn's, which have handlers of their own."""
    return logging.root, logging.getLogger("gunicorn.error")
