"""Guessing is slowed down, and only for who guesses."""

import doctest

import pytest

from auth import backoff
from auth.backoff import FREE_PER_ADDRESS, FREE_PER_USER, LONGEST_SECONDS, Backoff
from errors import TooManyAttempts

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guard(clock: Clock) -> Backoff:
    return Backoff(clock)


def admitted(guard: Backoff, address: str, user: str) -> bool:
    try:
        guard.admit(address, user)
    except TooManyAttempts:
        return False
    return True


def exhaust(guard: Backoff) -> None:
    for _ in range(FREE_PER_USER + 1):
        guard.admit(HERE, "ann")


def test_some_wrong_passwords_are_free(guard):
    assert all(admitted(guard, HERE, "ann") for _ in range(FREE_PER_USER))


def test_then_each_attempt_doubles_the_wait(guard, clock):
    exhaust(guard)
    waits = []

    for _ in range(8):
        with pytest.raises(TooManyAttempts) as refusal:
            guard.admit(HERE, "ann")
        waits.append(refusal.value.retry_after_seconds)
        clock.seconds += waits[-1]
        guard.admit(HERE, "ann")

    assert waits == [2, 3, 5, 9, 17, 33, 61, 61]


def test_guessing_from_one_address_does_not_lock_the_user_out_elsewhere(guard):
    exhaust(guard)

    assert not admitted(guard, HERE, "ann")
    assert admitted(guard, THERE, "ann")


def test_guessing_one_user_does_not_lock_out_others_at_the_address(guard):
    exhaust(guard)

    assert admitted(guard, HERE, "bob")


def test_one_password_on_many_names_is_slowed_down_too(guard):
    assert all(admitted(guard, HERE, f"user {n}") for n in range(FREE_PER_ADDRESS + 1))
    assert not admitted(guard, HERE, "another")
    assert admitted(guard, THERE, "another")


def test_forwarder_that_repeats_an_old_password_does_not_lock_out_its_neighbours(guard, clock):
    for _ in range(10 * FREE_PER_ADDRESS):
        admitted(guard, HERE, "forwarder")
        clock.seconds += LONGEST_SECONDS / 2

    assert all(admitted(guard, HERE, f"neighbour {n}") for n in range(FREE_PER_ADDRESS // 2))


def test_right_password_wipes_the_slate(guard):
    for _ in range(3 * FREE_PER_ADDRESS):
        guard.admit(HERE, "ann")
        guard.forgive(HERE, "ann")

    assert admitted(guard, HERE, "ann")


def test_wait_ends_and_attempts_are_forgotten(guard, clock):
    exhaust(guard)

    clock.seconds += LONGEST_SECONDS * 20

    assert all(admitted(guard, HERE, "ann") for _ in range(FREE_PER_USER))


def test_refused_attempts_do_not_prolong_the_wait(guard, clock):
    exhaust(guard)
    for _ in range(1000):
        assert not admitted(guard, HERE, "ann")

    clock.seconds += 1.0

    assert admitted(guard, HERE, "ann")


def test_addresses_of_one_ipv6_network_are_one_guesser(guard):
    for n in range(FREE_PER_USER + 1):
        guard.admit(f"2001:db8::{n:x}", "ann")

    assert not admitted(guard, "2001:db8:0:0:ffff::1", "ann")
    assert admitted(guard, "2001:db8:0:1::1", "ann")


def test_mapped_ipv4_addresses_are_told_apart(guard):
    for _ in range(FREE_PER_USER + 1):
        guard.admit("::ffff:192.0.2.1", "ann")

    assert admitted(guard, "::ffff:192.0.2.2", "ann")


def test_memory_is_bounded(guard):
    for n in range(3 * backoff.REMEMBERED // 2):
        guard.admit(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", "ann")

    assert len(guard._attempts) <= backoff.REMEMBERED


def test_examples_run():
    assert doctest.testmod(backoff) == (0, 2)
