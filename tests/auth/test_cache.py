"""What a worker remembers of credentials: whose they are, until anything changes, and never the credentials."""

import pickle
from contextlib import AbstractContextManager, nullcontext

from auth.cache import IdentityCache, Resolved
from auth.identity import Identity, Kind

SECRET = "api key\0default\x007f0c1e5e-3f77-4f4c-9a3e-0c5f2a4cb5ee"
ANN = Resolved(Identity("default", Kind.NATIVE, "ann", "ann", (), ()))


class Moments:
    """A generation that stands where the test puts it."""

    def __init__(self) -> None:
        self.now: int | None = 1

    def read(self) -> int | None:
        return self.now

    def changing(self) -> AbstractContextManager[None]:
        return nullcontext()


def gone() -> None:
    """What loading gives when the credential was deleted."""


def test_a_credential_is_known_until_something_changes():
    """Spec 3: a deleted key is refused by every later request."""
    moments = Moments()
    cache = IdentityCache(moments)

    assert cache.resolve(SECRET, lambda: ANN) == ANN
    assert cache.resolve(SECRET, gone) == ANN
    assert cache.resolve(SECRET + "x", gone) is None
    moments.now = 2
    assert cache.resolve(SECRET, gone) is None


def test_nothing_is_known_while_something_changes():
    moments = Moments()
    cache = IdentityCache(moments)
    cache.resolve(SECRET, lambda: ANN)

    moments.now = None

    assert cache.resolve(SECRET, gone) is None


def test_a_credential_itself_is_not_kept_and_its_digest_is_of_this_process_alone():
    one, other = IdentityCache(Moments()), IdentityCache(Moments())
    for cache in (one, other):
        cache.resolve(SECRET, lambda: ANN)

    kept = pickle.dumps(one._kept)

    assert SECRET.encode() not in kept
    assert SECRET.rpartition("\0")[2].encode() not in kept
    assert not set(one._kept) & set(other._kept)
