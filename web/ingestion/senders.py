"""How much each sender stores: counted in memory, added to the database by a thread every few seconds."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import Final

from models.sender_count import BUCKET_SECONDS, Bucket, Sender, Sent, bucket_of
from models.write_behind import WriteBehind

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 5.0
# While the database is away, what is counted waits in memory: so many buckets, of some 300 bytes.
MOST_PENDING: Final = 20_000

Write = Callable[[Sequence[tuple[Bucket, Sent]]], None]


# The dataset, the sender and the number of the bucket since 1970: found in a sixth of a Bucket's time.
Key = tuple[int, str, int]


class SenderCounter:
    """Counts by dataset, sender and five minutes. Safe for any number of threads."""

    def __init__(self, write: Write, every_seconds: float = EVERY_SECONDS) -> None:
        self._write = write
        self._pending: dict[Key, Sent] = {}
        self._lock = Lock()
        self._behind = WriteBehind(self.flush, every_seconds, "sender-counts")

    def note(self, dataset_id: int, sender: str, at: datetime, events: int, body_bytes: int) -> None:
        """A request of the sender (`kind:id`) was stored. Costs a look-up: no input or output on the request's way."""
        self._add((dataset_id, sender, int(at.timestamp()) // BUCKET_SECONDS), at, events, body_bytes, 1)
        self._behind.begin()

    def flush(self) -> None:
        """Write what was counted. When the database is away it is kept for the next time."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if not pending:
            return
        try:
            self._write([(_bucket(key, sent), sent) for key, sent in pending.items()])
        except Exception as error:
            # Whatever it was, the thread must outlive it: nobody would start another.
            logger.warning("what %d senders stored is not written yet: %s", len(pending), error)
            for key, sent in pending.items():
                self._add(key, sent.latest, sent.events, sent.body_bytes, sent.requests)

    def close(self) -> None:
        """Stop the thread and write the rest."""
        self._behind.close()

    def _add(self, key: Key, at: datetime, events: int, body_bytes: int, requests: int) -> None:
        with self._lock:
            found = self._pending.get(key)
            if found is not None:
                found.add(at, events, body_bytes, requests)
            elif len(self._pending) < MOST_PENDING:
                self._pending[key] = Sent(at, events, body_bytes, requests)


def _bucket(key: Key, sent: Sent) -> Bucket:
    kind, _, id_ = key[1].partition(":")
    return Bucket(key[0], Sender(kind, id_), bucket_of(sent.latest))
