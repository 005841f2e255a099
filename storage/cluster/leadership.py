"""Whether this host does the work that is to be done once for all hosts."""

from time import monotonic
from typing import Final

from models import leader

# After a leader's death its work waits for so long. A merge may take longer than that: what keeps two leaders from
# harm is not the lease but the manifest, in which each step is one transaction that the later one loses.
LEASE_SECONDS: Final = 10.0


class Leadership:
    """This host's share in it. Not for two threads at once."""

    def __init__(self, node: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._node = node
        self._lease_seconds = lease_seconds
        self._ask_at = 0.0
        self._until = 0.0

    def holds(self) -> bool:
        """Whether this host leads now. Asks the database once in a third of a lease. Raises StorageUnavailable.

        Counted from before the database was asked: when this host believes to lead, no other does.
        """
        begin = monotonic()
        if begin >= self._ask_at:
            taken = leader.acquire(self._node, self._lease_seconds)
            self._ask_at = begin + self._lease_seconds / 3
            self._until = begin + self._lease_seconds if taken else 0.0
        return monotonic() < self._until

    def release(self) -> None:
        """Let another host lead at once. Raises StorageUnavailable."""
        self._until = 0.0
        leader.release(self._node)
