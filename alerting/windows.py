"""What evaluations read: snapshots of datasets, shared by the alerts that look at one window at about one moment.

Half of the work of a small query is finding out what there is to read (docs/decisions/alerts.md).
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from models import dataset
from query.process.messages import Source
from storage.context import Layout
from storage.read.fingerprint import Fingerprint, fingerprint
from storage.read.snapshot import take_snapshot
from storage.wal.index import SegmentIndex

# A window is over when it is looked at, and what arrives for it later does not count. Its snapshot may be as old as
# this; a file that vanishes meanwhile makes the query ask for a fresh one.
SHARED_SECONDS: Final = 5.0
MOST_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Window:
    """`[start_ns, end_ns)` of a tenant's dataset."""

    tenant: str
    dataset: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class View:
    """What is to be read for a window, and its contents if they can be named."""

    source: Source
    fingerprint: Fingerprint | None


class Windows:
    """Views by window. Safe for any number of threads."""

    def __init__(self, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._layout = layout
        self._clock = clock
        self._places = SegmentIndex()
        self._lock = threading.Lock()
        self._kept: OrderedDict[Window, tuple[float, View]] = OrderedDict()

    def shared(self, window: Window) -> View:
        """What is to be read, perhaps found out for another alert. Raises DatasetNotFound, StorageUnavailable."""
        with self._lock:
            kept = self._kept.get(window)
        if kept is not None and self._clock() - kept[0] < SHARED_SECONDS:
            return kept[1]
        return self.fresh(window)

    def fresh(self, window: Window) -> View:
        """What is to be read as of now. Raises DatasetNotFound, StorageUnavailable."""
        taken_at = self._clock()
        found = dataset.find(window.tenant, window.dataset)
        snapshot = take_snapshot(self._layout, found, window.start_ns, window.end_ns)
        source = Source(snapshot, window.start_ns, window.end_ns)
        view = View(source, fingerprint(snapshot, self._places))
        with self._lock:
            self._kept[window] = (taken_at, view)
            self._kept.move_to_end(window)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return view
