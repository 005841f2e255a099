"""The border to gevent: threads for what would stop all greenlets."""

import threading
from collections.abc import Callable

import gevent
import pytest

from runtime import Pool, give_way

PATIENCE_SECONDS = 30


@pytest.fixture
def pool() -> Pool:
    return Pool(1)


def broken() -> None:
    raise LookupError("broken")


def gated(gate: threading.Event) -> Callable[[], bool]:
    return lambda: gate.wait(PATIENCE_SECONDS)


def test_caller_gets_the_result_or_the_error(pool: Pool):
    assert pool.run(divmod, 7, 2) == (3, 1)
    with pytest.raises(LookupError, match="broken"):
        pool.run(broken)
    assert pool.run(int, "11", base=2) == 3


def test_other_greenlets_go_on_meanwhile(pool: Pool):
    gate = threading.Event()
    caller = gevent.spawn(pool.run, gated(gate))

    gevent.spawn(gate.set)

    assert caller.get() is True


def test_each_of_many_callers_gets_its_own_result_and_one_thread_works_in_their_order(pool: Pool):
    done: list[tuple[int, int]] = []

    def work(number: int) -> int:
        done.append((number, threading.get_ident()))
        return number

    callers = [gevent.spawn(pool.run, work, number) for number in range(100)]

    assert [caller.get() for caller in callers] == list(range(100))
    assert [number for number, _ in done] == list(range(100))
    assert len({thread for _, thread in done} - {threading.get_ident()}) == 1


def test_as_many_threads_work_at_once_as_the_pool_has():
    barrier = threading.Barrier(3)
    pool = Pool(3)

    callers = [gevent.spawn(pool.run, barrier.wait, PATIENCE_SECONDS) for _ in range(3)]

    assert sorted(caller.get() for caller in callers) == [0, 1, 2]


def test_caller_that_was_killed_takes_nobody_along(pool: Pool):
    gate = threading.Event()
    killed, next_one = gevent.spawn(pool.run, gated(gate)), gevent.spawn(pool.run, str, 1)
    gevent.sleep(0)

    killed.kill()
    gate.set()

    assert next_one.get() == "1"
    assert pool.run(str, 2) == "2"


def test_pool_without_work_keeps_no_loop_alive(pool: Pool):
    pool.run(str)

    assert gevent.get_hub().join(timeout=PATIENCE_SECONDS)


def test_giving_way_ends_when_nothing_else_has_anything_to_do():
    done: list[int] = []

    def turns(number: int) -> None:
        for _ in range(number):
            gevent.sleep(0)
        done.append(number)

    for number in range(50):
        gevent.spawn(turns, number)
    give_way(PATIENCE_SECONDS)

    assert done == list(range(50))


def test_giving_way_ends_where_something_always_has():
    def restless() -> None:
        while True:
            gevent.sleep(0)

    other = gevent.spawn(restless)

    with gevent.Timeout(PATIENCE_SECONDS):
        give_way(0.001)

    assert not other.dead
    other.kill()
