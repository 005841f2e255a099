"""Passwords: argon2id hashes, checked at equal cost whether the user exists or not."""

import hmac
import os
import secrets
import string
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import Final, ParamSpec, Protocol, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from errors import Overloaded

P = ParamSpec("P")
R = TypeVar("R")

# OWASP's password storage sheet: 19 MiB, two passes, one lane. More memory would let a flood of wrong passwords
# take the worker's memory; docs/decisions/identity.md has the times.
MEMORY_KIB: Final = 19 * 1024
PASSES: Final = 2
# Hashes at once in one worker: the rest of the pool of threads stays free for disk writes.
AT_ONCE: Final = 2
REMEMBERED: Final = 4096
# Equal checks share a lock; different ones rarely do.
LOCKS: Final = 64
LONGEST_WAIT_SECONDS: Final = 10.0
GENERATED_LENGTH: Final = 32
ALPHABET: Final = string.ascii_letters + string.digits


class Offload(Protocol):
    """Runs a function where it does not block the worker (`runtime.offload`)."""

    def __call__(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...


def generate() -> str:
    """A fresh password: 32 letters and digits, 190 bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(GENERATED_LENGTH))


class Passwords:
    """Hashes and checks. One per worker: it remembers which password matched which hash.

    That fact never changes, so remembering it needs no expiry; a changed password is another hash. It is kept under a
    keyed digest, whose key exists only in this process.
    """

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._hasher = PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)
        self._slots = BoundedSemaphore(AT_ONCE)
        self._single = [Lock() for _ in range(LOCKS)]
        self._nobody = self._hasher.hash(generate())
        self._key = os.urandom(32)
        self._matched: OrderedDict[bytes, None] = OrderedDict()

    def hash(self, password: str) -> str:
        """The argon2id hash, with its parameters and salt, in the PHC format."""
        with self._slots:
            return self._offload(self._hasher.hash, password)

    def verify(self, password_hash: str | None, password: str, admit: Callable[[], None] = lambda: None) -> bool:
        """Whether the password is the hashed one. `None`, for an unknown user, costs as much as a wrong password.

        `admit` is called before anything is computed, and may raise to prevent it. Of equal checks at once one is
        computed: the first hundred requests of a client that starts cost one.
        """
        fact = hmac.digest(self._key, f"{password_hash}\0{password}".encode(), "sha256")
        if self._knows(fact):
            return True
        with self._single[fact[0] % len(self._single)]:
            if self._knows(fact):
                return True
            admit()
            matches = self._matches(password_hash or self._nobody, password) and password_hash is not None
            if matches:
                self._remember(fact)
            return matches

    def _matches(self, password_hash: str, password: str) -> bool:
        if not self._slots.acquire(timeout=LONGEST_WAIT_SECONDS):
            raise Overloaded("too many passwords are being checked")
        try:
            return self._offload(_matches, self._hasher, password_hash, password)
        finally:
            self._slots.release()

    def _knows(self, fact: bytes) -> bool:
        if fact not in self._matched:
            return False
        with suppress(KeyError):  # another thread has forgotten it meanwhile
            self._matched.move_to_end(fact)
        return True

    def _remember(self, fact: bytes) -> None:
        self._matched[fact] = None
        if len(self._matched) > REMEMBERED:
            self._matched.popitem(last=False)


def _matches(hasher: PasswordHasher, password_hash: str, password: str) -> bool:
    try:
        return hasher.verify(password_hash, password)
    except (Argon2Error, InvalidHashError):
        return False
