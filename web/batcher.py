"""Small requests, stored together: what arrives while one group is on its way to the disk makes up the next.

One thread per worker (a greenlet under gunicorn) does the building, so each request pays a share of it. On two cores
this makes single events about twice as cheap (docs/decisions/ingestion.md).
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Final

from errors import InternalError, InvalidRequest, TooLarge, WeirError
from ingest.json import batch_decoding, decoding
from models.dataset import Dataset
from runtime import give_way
from storage.write.arrival import Arrival, Share
from storage.write.engine import Storage

logger = logging.getLogger(__name__)

# Processor time that decoding may take of the hub at once; the rest waits for the next group.
BUILD_SECONDS: Final = 0.01
# Bounds of what that is in bytes, which differs by a factor of ten from shape to shape.
LEAST_BYTES: Final = 64 * 1024
MOST_BYTES: Final = 1024 * 1024
# How long a group may wait for a worker to have nothing else to do. Requests take longer where it always has.
MOST_SECONDS: Final = 0.01


@dataclass(slots=True)
class Small:
    """One small request: its body, how many events that turned out to have, and how it ended."""

    target: Dataset
    body: bytes
    arrival: Arrival
    events: int = 0
    answered: threading.Event = field(default_factory=threading.Event)
    error: WeirError | None = None

    def answer(self, error: WeirError | None) -> None:
        self.error = error
        self.answered.set()


class Gathering:
    """Stores small requests in groups. Safe for any number of greenlets."""

    def __init__(self, storage: Storage, max_columns: int) -> None:
        self._storage = storage
        self._max_columns = max_columns
        self._most_bytes = LEAST_BYTES
        self._arrived: deque[Small] = deque()
        self._has_arrived = threading.Event()
        # Of the thread alone: those that have arrived, in their order.
        self._waiting: list[Small] = []
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None

    def store(self, request: Small) -> int:
        """The number of the request's events, when they are on stable storage.

        Raises what `Storage.append` or decoding raises.
        """
        self._arrived.append(request)
        self._has_arrived.set()
        if self._thread is None:
            self._begin()
        request.answered.wait()
        if request.error is not None:
            raise request.error
        return request.events

    def _begin(self) -> None:
        with self._beginning:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gathering", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            if not self._waiting:
                self._has_arrived.wait()
                self._has_arrived.clear()
                # Requests that have reached this worker, but not yet this place, share the group's cost.
                give_way(MOST_SECONDS)
            self._admit()
            if self._waiting:
                self._store(self._take())

    def _admit(self) -> None:
        while self._arrived:
            self._waiting.append(self._arrived.popleft())

    def _take(self) -> list[Small]:
        """The next requests of one dataset, in the order of arrival."""
        first = self._waiting[0].target.id
        taken: list[Small] = []
        left: list[Small] = []
        size = 0
        for request in self._waiting:
            if request.target.id == first and (not taken or size + len(request.body) <= self._most_bytes):
                taken.append(request)
                size += len(request.body)
            else:
                left.append(request)
        self._waiting = left
        return taken

    def _store(self, group: Sequence[Small]) -> None:
        """Answer the whole group. Whose a refusal is is found out by halves: one bad body costs the others little."""
        try:
            self._append(group)
        except (InvalidRequest, TooLarge, batch_decoding.NotTogether):
            if len(group) == 1:
                group[0].answer(_outcome(self._append_alone, group[0]))
            else:
                middle = len(group) // 2
                self._store(group[:middle])
                self._store(group[middle:])
        except WeirError as error:
            _answer_all(group, error)
        except Exception as error:
            logger.exception("storing %d requests failed", len(group))
            _answer_all(group, InternalError(f"the events could not be stored: {type(error).__name__}"))
        else:
            _answer_all(group, None)

    def _append(self, group: Sequence[Small]) -> None:
        bodies = [request.body for request in group]
        begun = process_time()
        batch, counts = batch_decoding.decode(bodies, max_columns=self._max_columns)
        self._most_bytes = affordable_bytes(sum(map(len, bodies)), process_time() - begun)
        shares = [Share(request.arrival, count) for request, count in zip(group, counts, strict=True) if count]
        self._storage.append_shared(group[0].target, batch, shares)
        for request, count in zip(group, counts, strict=True):
            request.events = count

    def _append_alone(self, request: Small) -> None:
        batch = decoding.decode(request.body, max_columns=self._max_columns)
        self._storage.append(request.target, batch, request.arrival)
        request.events = batch.height


def affordable_bytes(size: int, seconds: float) -> int:
    """How much to decode at once, after `size` bytes took so long.

    >>> affordable_bytes(200 * 1024, 0.005)
    409600
    """
    return min(MOST_BYTES, max(LEAST_BYTES, int(size * BUILD_SECONDS / max(seconds, 1e-6))))


def _outcome(store: Any, request: Small) -> WeirError | None:
    try:
        store(request)
    except WeirError as error:
        return error
    except Exception as error:
        logger.exception("storing a request failed")
        return InternalError(f"the events could not be stored: {type(error).__name__}")
    return None


def _answer_all(group: Sequence[Small], error: WeirError | None) -> None:
    for request in group:
        request.answer(error)
