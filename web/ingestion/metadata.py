"""What requests say of metrics, on its way into the database: noted in memory, written by a thread, if it is new.

Prometheus sends all of it every minute, and with version 2.0 of remote write with every request.
"""

import logging
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final

from metric_columns import MetricMetadata
from models.write_behind import WriteBehind

logger = logging.getLogger(__name__)

EVERY_SECONDS: Final = 1.0
# What is remembered as written; when that is full, it starts again from nothing, which costs one write of all.
MOST_KNOWN: Final = 200_000

Said = Mapping[str, MetricMetadata]


class MetadataRecorder:
    """Hands what is new or has changed to `write`, by dataset. The thread starts with the first of it."""

    def __init__(self, write: Callable[[int, Said], None], every_seconds: float = EVERY_SECONDS) -> None:
        self._write = write
        self._known: dict[tuple[int, str], MetricMetadata] = {}
        self._pending: dict[tuple[int, str], MetricMetadata] = {}
        self._lock = Lock()
        self._behind = WriteBehind(self.flush, every_seconds, "metric-metadata")

    def note(self, dataset_id: int, said: Said) -> None:
        """Costs a look-up for each metric: no input or output on the request's way."""
        known = self._known
        changed = {(dataset_id, name): each for name, each in said.items() if known.get((dataset_id, name)) != each}
        if not changed:
            return
        with self._lock:
            if len(known) + len(changed) > MOST_KNOWN:
                known.clear()
            known |= changed
            self._pending |= changed
        self._behind.begin()

    def flush(self) -> None:
        """Write what was noted. When the database is away it is kept for the next time."""
        with self._lock:
            pending, self._pending = self._pending, {}
        by_dataset: dict[int, dict[str, MetricMetadata]] = {}
        for (dataset_id, name), each in pending.items():
            by_dataset.setdefault(dataset_id, {})[name] = each
        for dataset_id, said in by_dataset.items():
            try:
                self._write(dataset_id, said)
            except Exception as error:
                # Whatever it was, the thread must outlive it: nobody would start another.
                logger.warning("metadata of %d metrics not written yet: %s", len(said), error)
                with self._lock:
                    self._pending = {(dataset_id, name): each for name, each in said.items()} | self._pending

    def close(self) -> None:
        """Stop the thread and write the rest."""
        self._behind.close()
