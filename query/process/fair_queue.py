"""The queue of one worker's queries that wait for a slot: bounded, and fair between callers.

A caller who holds a full share of slots does not block the others: only tickets that are ready can be first.
"""

from collections import OrderedDict, deque
from typing import Final

from errors import Overloaded

RETRY_AFTER_SECONDS: Final = 2


class FairQueue:
    """Callers take turns: a caller with a hundred queries does not delay another caller's one.

    Not synchronised; its owner holds a lock.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tickets: OrderedDict[str, deque[object]] = OrderedDict()
        self._length = 0
        self._ready: set[object] = set()

    def __len__(self) -> int:
        return self._length

    def join(self, caller: str) -> object:
        """A ticket at the end of the caller's own queue. Raises Overloaded when too many wait already."""
        if self._length >= self._limit:
            raise Overloaded(f"{self._length} queries wait already", RETRY_AFTER_SECONDS, limit=self._limit)
        ticket = object()
        self._tickets.setdefault(caller, deque()).append(ticket)
        self._length += 1
        return ticket

    def is_next_of(self, caller: str, ticket: object) -> bool:
        """Whether it is the first ticket of its caller."""
        return self._tickets[caller][0] is ticket

    def mark_ready(self, ticket: object) -> None:
        """Record that its caller may hold another slot."""
        self._ready.add(ticket)

    def is_first(self, ticket: object) -> bool:
        """Whether it is the first of all tickets that are ready."""
        return next((queue[0] for queue in self._tickets.values() if queue[0] in self._ready), None) is ticket

    def leave(self, caller: str, ticket: object) -> None:
        """Remove a ticket, served or not. A caller who was served goes behind the other callers."""
        queue = self._tickets[caller]
        was_first = self.is_first(ticket)
        queue.remove(ticket)
        self._ready.discard(ticket)
        self._length -= 1
        if not queue:
            del self._tickets[caller]
        elif was_first:
            self._tickets.move_to_end(caller)
