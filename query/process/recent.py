"""What was learnt lately, as much as is worth its memory."""

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Of longer texts nothing is learnt, and their beginning is their key.
LONGEST_CHARACTERS: Final = 4 * 1024
DIGEST_BYTES: Final = 16


def digest(text: str) -> bytes:
    """A key for the text."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST_BYTES).digest()


class Recent(Generic[K, V]):
    """The values under the `most` keys that were used last. Safe for threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value under the key, if it is still there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep the value in the place of the one before."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)
