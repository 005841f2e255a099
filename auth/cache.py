"""The identities that this worker has resolved, each kept for as long as the generation stands still."""

import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from auth.identity import Identity
from models.shared_generation import Generation

# About 1 KiB each. More credentials than this in use by one worker cost one round trip per request beyond it.
LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Resolved:
    """A verified credential: whose it is, until when it is valid, and since when the tokens it stands for are."""

    identity: Identity
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class IdentityCache:
    """Verified credentials by a digest of what was sent. Wrong ones are never kept: they would push out right ones.

    The digest is BLAKE2b (RFC 7693) under a key that nobody but this process has, and that ends with it.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._key = os.urandom(32)
        self._kept: OrderedDict[bytes, tuple[int, Resolved]] = OrderedDict()

    def resolve(self, credential: str, load: Callable[[], Resolved | None]) -> Resolved | None:
        """What `load` gives for the credential, or gave since the last change of any identity."""
        digest = blake2b(credential.encode(), digest_size=32, key=self._key).digest()
        now = self._generation.read()
        entry = self._kept.get(digest)
        if entry is not None and entry[0] == now:
            with suppress(KeyError):  # another thread has forgotten it meanwhile
                self._kept.move_to_end(digest)
            return entry[1]
        loaded = load()
        if loaded is not None and now is not None:
            self._keep(digest, (now, loaded))
        return loaded

    def _keep(self, digest: bytes, entry: tuple[int, Resolved]) -> None:
        self._kept[digest] = entry
        self._kept.move_to_end(digest)
        if len(self._kept) > LIMIT:
            self._kept.popitem(last=False)
