"""Slows down who guesses passwords, by address and by address and user together, and nobody else.

A user whose name is being guessed from elsewhere is not touched, and neither is one whose password this worker has
seen to be right before (auth/passwords.py). Counted per worker, so a host allows the limits times its workers.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from errors import TooManyAttempts

# Typing errors are free; from then on each attempt doubles the wait.
FREE_PER_USER: Final = 10
# Names tried wrongly from one address, while leaving room for an office behind it.
FREE_PER_ADDRESS: Final = 100
LONGEST_SECONDS: Final = 60.0
FORGOTTEN_SECONDS: Final = 900.0
REMEMBERED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Attempts:
    """Wrong attempts of late; no other is admitted before `next_at`."""

    count: int
    next_at: float
    last_at: float


NONE: Final = Attempts(0, 0.0, 0.0)


class Backoff:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._attempts: OrderedDict[tuple[str, ...], Attempts] = OrderedDict()

    def admit(self, address: str, user: str) -> None:
        """Count an attempt. It counts as wrong until `forgive`, so parallel attempts cannot evade the limit.

        An address is charged per name, not per attempt: a forwarder that repeats an old password forever is one wrong
        name, and does not lock out others who share its address. Raises TooManyAttempts.
        """
        now = self._clock()
        network = _network(address)
        network_record, user_record = self._recent((network,), now), self._recent((network, user), now)
        wait = max(user_record.next_at, network_record.next_at if user_record is NONE else 0.0) - now
        if wait > 0:
            raise TooManyAttempts("too many wrong passwords from this address", retry_after_seconds=int(wait) + 1)
        if user_record is NONE:
            self._keep((network,), _after(network_record, FREE_PER_ADDRESS, now))
        self._keep((network, user), _after(user_record, FREE_PER_USER, now))

    def forgive(self, address: str, user: str) -> None:
        """The attempt was right."""
        network = _network(address)
        before = self._attempts.get((network,))
        if self._attempts.pop((network, user), None) is not None and before is not None:
            self._attempts[network,] = Attempts(before.count - 1, 0.0, before.last_at)

    def _recent(self, key: tuple[str, ...], now: float) -> Attempts:
        found = self._attempts.get(key, NONE)
        return NONE if now - found.last_at > FORGOTTEN_SECONDS else found

    def _keep(self, key: tuple[str, ...], attempts: Attempts) -> None:
        self._attempts[key] = attempts
        with suppress(KeyError):  # another thread has forgiven it meanwhile
            self._attempts.move_to_end(key)
        if len(self._attempts) > REMEMBERED:
            self._attempts.popitem(last=False)


def _after(before: Attempts, free: int, now: float) -> Attempts:
    """
    >>> _after(Attempts(9, 0.0, 0.0), free=10, now=5.0)
    Attempts(count=10, next_at=5.0, last_at=5.0)
    >>> _after(Attempts(12, 0.0, 0.0), free=10, now=5.0)
    Attempts(count=13, next_at=9.0, last_at=5.0)
    """
    count = before.count + 1
    excess = count - free
    wait = 0.0 if excess <= 0 else min(2.0 ** min(excess - 1, 10), LONGEST_SECONDS)
    return Attempts(count, now + wait, now)


def _network(address: str) -> str:
    """The network of one subscriber: an IPv4 address, or the /64 in which a subscriber chooses IPv6 addresses."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if not isinstance(ip, IPv6Address):
        return address
    return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
