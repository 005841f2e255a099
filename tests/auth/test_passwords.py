"""Password hashes and their checks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from auth.passwords import Passwords, generate
from errors import TooManyAttempts


class Counted:
    """An offload that counts: each call is one argon2 computation."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return function(*args, **kwargs)


@pytest.fixture
def offload() -> Counted:
    return Counted()


@pytest.fixture
def passwords(offload: Counted) -> Passwords:
    return Passwords(offload)


def test_hash_is_argon2id_with_a_salt(passwords):
    assert passwords.hash("x").startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.hash("x") != passwords.hash("x")


def test_right_password_is_computed_once(passwords, offload):
    """Basic authentication costs argon2 once per worker, not once per request."""
    hashed = passwords.hash("right")
    offload.calls = 0

    assert all(passwords.verify(hashed, "right") for _ in range(5))

    assert offload.calls == 1


@pytest.mark.parametrize("existing", [True, False], ids=["wrong password", "unknown user"])
def test_every_wrong_attempt_costs_one_computation(passwords, offload, existing):
    """Equal work: the time does not tell whether the user exists."""
    hashed = passwords.hash("right") if existing else None
    offload.calls = 0

    assert not any(passwords.verify(hashed, "wrong") for _ in range(3))

    assert offload.calls == 3


def test_remembered_password_is_forgotten_with_its_hash(passwords):
    old, new = passwords.hash("old"), passwords.hash("new")
    assert passwords.verify(old, "old")

    assert not passwords.verify(new, "old")


def test_broken_hash_matches_nothing(passwords):
    assert not passwords.verify("$argon2id$broken", "x")


def test_generated_passwords_are_long_and_differ():
    assert len({generate() for _ in range(100)}) == 100
    assert all(len(generate()) == 32 and generate().isalnum() for _ in range(10))


def test_equal_checks_at_once_are_computed_and_admitted_once(passwords, offload):
    """A client that opens a hundred connections at its start is no guesser."""
    hashed = passwords.hash("right")
    offload.calls = 0
    admitted = []

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: passwords.verify(hashed, "right", lambda: admitted.append(1)), range(50)))

    assert all(results)
    assert (offload.calls, len(admitted)) == (1, 1)


def test_check_that_is_not_admitted_is_not_computed(passwords, offload):
    def refuse() -> None:
        raise TooManyAttempts("too many")

    offload.calls = 0
    with pytest.raises(TooManyAttempts):
        passwords.verify(None, "x", refuse)

    assert offload.calls == 0
