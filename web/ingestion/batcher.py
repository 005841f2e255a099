"""Small requests, stored together: those that arrive while one batch is being written make up the next batch.

One thread per worker (a greenlet under gunicorn) decodes each batch, so that every request pays only a share of that
work. On two cores a single event costs about half as much this way (docs/decisions/ingestion.md).
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Final

from columns import Batch
from errors import InternalError, InvalidRequest, TooLarge, WeirError
from ingest.decoded import NotTogether
from models.dataset import Dataset
from runtime import give_way
from storage.write.arrival import Arrival, Share
from storage.write.engine import Storage

logger = logging.getLogger(__name__)

# Processor time that decoding may take of the hub at once; the rest waits for the next batch.
BUILD_SECONDS: Final = 0.01
# Bounds of what that is in bytes, which differs by a factor of ten from shape to shape.
LEAST_BYTES: Final = 64 * 1024
MOST_BYTES: Final = 1024 * 1024
# How long a batch may wait until its worker has nothing else to do. A worker that is never idle waits as long.
MOST_SECONDS: Final = 0.01


@dataclass(slots=True)
class PendingRequest:
    """One small request that waits for its batch: its body, the number of its events, and how it ended."""

    target: Dataset
    body: bytes
    arrival: Arrival
    events: int = 0
    answered: threading.Event = field(default_factory=threading.Event)
    error: WeirError | None = None

    def answer(self, error: WeirError | None) -> None:
        self.error = error
        self.answered.set()


class Batcher:
    """Stores the small requests of one worker and protocol in batches. Safe for any number of greenlets.

    `decode_together` gives the events of several bodies and how many each body has; it raises NotTogether for bodies
    that only `decode_alone` decodes right.
    """

    def __init__(
        self,
        storage: Storage,
        decode_together: Callable[[Sequence[bytes]], tuple[Batch, list[int]]],
        decode_alone: Callable[[bytes], Batch],
    ) -> None:
        self._storage = storage
        self._decode_together = decode_together
        self._decode_alone = decode_alone
        self._most_bytes = LEAST_BYTES
        self._arrived: deque[PendingRequest] = deque()
        self._has_arrived = threading.Event()
        # Of the thread alone: those that have arrived, in their order.
        self._waiting: list[PendingRequest] = []
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None

    def store(self, request: PendingRequest) -> int:
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
                self._thread = threading.Thread(target=self._run, name="batcher", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            if not self._waiting:
                self._has_arrived.wait()
                self._has_arrived.clear()
                # Requests that have reached this worker, but not yet this place, share the batch's cost.
                give_way(MOST_SECONDS)
            self._admit()
            if self._waiting:
                self._store(self._take())

    def _admit(self) -> None:
        while self._arrived:
            self._waiting.append(self._arrived.popleft())

    def _take(self) -> list[PendingRequest]:
        """The next requests of one dataset, in the order of arrival."""
        first = self._waiting[0].target.id
        taken: list[PendingRequest] = []
        left: list[PendingRequest] = []
        size = 0
        for request in self._waiting:
            if request.target.id == first and (not taken or size + len(request.body) <= self._most_bytes):
                taken.append(request)
                size += len(request.body)
            else:
                left.append(request)
        self._waiting = left
        return taken

    def _store(self, requests: Sequence[PendingRequest]) -> None:
        """Store a batch and answer its requests.

        One bad body must not fail its neighbours: on a refusal the batch is split in halves until the culprit is alone.
        """
        try:
            self._append(requests)
        except (InvalidRequest, TooLarge, NotTogether):
            if len(requests) == 1:
                requests[0].answer(_outcome(self._append_alone, requests[0]))
            else:
                middle = len(requests) // 2
                self._store(requests[:middle])
                self._store(requests[middle:])
        except WeirError as error:
            _answer_all(requests, error)
        except Exception as error:
            logger.exception("storing %d requests failed", len(requests))
            _answer_all(requests, InternalError(f"the events could not be stored: {type(error).__name__}"))
        else:
            _answer_all(requests, None)

    def _append(self, requests: Sequence[PendingRequest]) -> None:
        bodies = [request.body for request in requests]
        begun = process_time()
        batch, counts = self._decode_together(bodies)
        self._most_bytes = affordable_bytes(sum(map(len, bodies)), process_time() - begun)
        shares = [Share(request.arrival, count) for request, count in zip(requests, counts, strict=True) if count]
        self._storage.append_shared(requests[0].target, batch, shares)
        for request, count in zip(requests, counts, strict=True):
            request.events = count

    def _append_alone(self, request: PendingRequest) -> None:
        batch = self._decode_alone(request.body)
        self._storage.append(request.target, batch, request.arrival)
        request.events = batch.height


def affordable_bytes(size: int, seconds: float) -> int:
    """How much to decode at once, after `size` bytes took so long.

    >>> affordable_bytes(200 * 1024, 0.005)
    409600
    """
    return min(MOST_BYTES, max(LEAST_BYTES, int(size * BUILD_SECONDS / max(seconds, 1e-6))))


def _outcome(store: Any, request: PendingRequest) -> WeirError | None:
    try:
        store(request)
    except WeirError as error:
        return error
    except Exception as error:
        logger.exception("storing a request failed")
        return InternalError(f"the events could not be stored: {type(error).__name__}")
    return None


def _answer_all(requests: Sequence[PendingRequest], error: WeirError | None) -> None:
    for request in requests:
        request.answer(error)
