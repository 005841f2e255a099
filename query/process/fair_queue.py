"""The line of one worker's queries that wait for a slot: bounded, and fair between callers.

A caller who holds all slots of theirs does not stand in the others' way: only places that are ready can be first.
"""

from collections import OrderedDict, deque
from typing import Final

from errors import Overloaded

RETRY_AFTER_SECONDS: Final = 2


class FairQueue:
    """Callers take turns: who sends a hundred queries delays their own, not another caller's one.

    Not synchronised; its owner holds a lock.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._places: OrderedDict[str, deque[object]] = OrderedDict()
        self._length = 0
        self._ready: set[object] = set()

    def __len__(self) -> int:
        return self._length

    def join(self, caller: str) -> object:
        """A place at the end of the caller's own line. Raises Overloaded when too many wait already."""
        if self._length >= self._limit:
            raise Overloaded(f"{self._length} queries wait already", RETRY_AFTER_SECONDS, limit=self._limit)
        place = object()
        self._places.setdefault(caller, deque()).append(place)
        self._length += 1
        return place

    def is_next_of(self, caller: str, place: object) -> bool:
        """Whether no place of the caller's own is before this one."""
        return self._places[caller][0] is place

    def set_ready(self, place: object) -> None:
        """Say that its caller may hold another slot."""
        self._ready.add(place)

    def is_first(self, place: object) -> bool:
        """Whether it is its turn, of all that are ready."""
        return next((line[0] for line in self._places.values() if line[0] in self._ready), None) is place

    def leave(self, caller: str, place: object) -> None:
        """Give up a place, served or not. A caller who was served goes behind the other callers."""
        line = self._places[caller]
        was_first = self.is_first(place)
        line.remove(place)
        self._ready.discard(place)
        self._length -= 1
        if not line:
            del self._places[caller]
        elif was_first:
            self._places.move_to_end(caller)
