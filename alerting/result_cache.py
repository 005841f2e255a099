"""What alerts' queries answered the last time, with what they read: over the same they are not asked again.

Most datasets get nothing most of the time, and then an evaluation costs a comparison (docs/decisions/alerts.md).
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from storage.read.fingerprint import Fingerprint

LARGEST_BYTES: Final = 4 * 1024
MOST_BYTES: Final = 16 * 1024 * 1024
# What an answer takes besides its bytes, as a round number above it.
OVERHEAD_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class CachedResult:
    """The result of a query as JSON, and the fingerprint that it was computed from."""

    query: str
    fingerprint: Fingerprint
    data: bytes

    @property
    def size(self) -> int:
        return OVERHEAD_BYTES + len(self.query) + len(self.data)


class ResultCache:
    """By alert, the latest used last. Safe for any number of threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, CachedResult] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def recall(self, alert_id: str, query: str, fingerprint: Fingerprint | None) -> bytes | None:
        """What the alert's query answers, if it is known to answer that still."""
        with self._lock:
            entry = self._kept.get(alert_id)
            if entry is None or fingerprint is None or entry.query != query or entry.fingerprint != fingerprint:
                return None
            self._kept.move_to_end(alert_id)
            return entry.data

    def keep(self, alert_id: str, answer: CachedResult) -> None:
        """Replace what is known of the alert, if the answer is small."""
        with self._lock:
            former = self._kept.pop(alert_id, None)
            self._bytes -= former.size if former is not None else 0
            if len(answer.data) > LARGEST_BYTES:
                return
            self._kept[alert_id] = answer
            self._bytes += answer.size
            while self._bytes > MOST_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].size
