"""Random numbers of one statement: PostgreSQL's own sequence after `setseed`, the system's entropy without.

The generator is xoroshiro128** (Blackman, Vigna 2018) with a state made by splitmix64, as PostgreSQL 15 and later have
it (pg_prng.c), so the same seed gives the same numbers there and here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np

from query.parameters import RandomState

_MASK: Final = 2**64 - 1
_DOUBLE_BITS: Final = 52
"""A random float8 is a multiple of 2 to the minus so many (pg_prng_double)."""
_SEED_RANGE: Final = 2**52 - 1
_ENTROPY_BYTES: Final = 1 << 12


def state_of(seed: float) -> RandomState:
    """The state that `setseed` makes of a number from -1 to 1 (pg_prng_fseed).

    >>> RandomNumbers(state_of(0.5)).call().doubles(2).tolist()
    [0.9851677175347999, 0.825301858027981]
    """
    first, second = (_mixed(int(_SEED_RANGE * seed) + step * 0x9E3779B97F4A7C15) for step in (1, 2))
    return first, second


def _mixed(value: int) -> int:
    """One output of splitmix64."""
    value &= _MASK
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def _outputs(state: RandomState) -> Iterator[tuple[int, RandomState]]:
    """The numbers of 64 bits that follow a state, each with the state after it."""
    first, second = state
    while True:
        scrambled = first * 5 & _MASK
        value = ((scrambled << 7 | scrambled >> 57) & _MASK) * 9 & _MASK
        second ^= first
        first = ((first << 24 | first >> 40) ^ second ^ second << 16) & _MASK
        second = (second << 37 | second >> 27) & _MASK
        yield value, (first, second)


@dataclass(slots=True)
class RandomNumbers:
    """The numbers that a statement draws. `start` None: nobody asked for a certain sequence.

    PostgreSQL computes row by row, so the calls of a select list take turns; here each call takes the numbers of its
    turns for all rows at once. Calls that see different numbers of rows take theirs from the same places.
    """

    start: RandomState | None = None
    calls: "list[RandomCall]" = field(default_factory=list)

    def call(self, width: int = 1) -> "RandomCall":
        """A further call of a function, while the statement is compiled; it draws so many numbers for a row."""
        self.calls.append(RandomCall(self, self.width(), width))
        return self.calls[-1]

    def width(self) -> int:
        """How many numbers all calls draw for a row."""
        return sum(call.width for call in self.calls)

    def end(self) -> RandomState | None:
        """Where the next statement of the session goes on, once this one is answered."""
        turns = max((-(-call.drawn // call.width) for call in self.calls), default=0)
        if self.start is None or turns == 0:
            return self.start
        return next(islice(_outputs(self.start), turns * self.width() - 1, None))[1]


class RandomCall:
    """One call of a function of a statement: of those of each row it takes `width`, and has `drawn` so many."""

    def __init__(self, numbers: RandomNumbers, place: int, width: int) -> None:
        self._numbers, self._place, self.width = numbers, place, width
        self._integers: Iterator[int] | None = None
        self.drawn = 0

    def doubles(self, count: int) -> np.ndarray:
        """So many float8, from 0 and below 1."""
        if self._numbers.start is None:
            bits = np.frombuffer(os.urandom(8 * count), np.uint64)
        else:
            bits = np.fromiter(self.integers(), np.uint64, count)
        return (bits >> np.uint64(64 - _DOUBLE_BITS)) * 2.0**-_DOUBLE_BITS

    def integers(self) -> Iterator[int]:
        """The next numbers of 64 bits, without end."""
        if self._integers is None:
            self._integers = _entropy() if self._numbers.start is None else self._sequence(self._numbers.start)
        return self._integers

    def _sequence(self, start: RandomState) -> Iterator[int]:
        of_row = self._numbers.width()
        for index, (value, _) in enumerate(islice(_outputs(start), self._place, None)):
            if index % of_row < self.width:
                self.drawn += 1
                yield value


def _entropy() -> Iterator[int]:
    while True:
        yield from np.frombuffer(os.urandom(_ENTROPY_BYTES), np.uint64).tolist()


_current: ContextVar[RandomNumbers | None] = ContextVar("random_numbers", default=None)


def current() -> RandomNumbers:
    """Those of the statement that is being compiled."""
    return _current.get() or RandomNumbers()


@contextmanager
def drawing(numbers: RandomNumbers) -> Iterator[None]:
    """While a statement is compiled: what its calls draw from."""
    token = _current.set(numbers)
    try:
        yield
    finally:
        _current.reset(token)
