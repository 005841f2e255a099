"""The border to gevent: threads for what would stop all greenlets."""

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial

import gevent
import pytest
from gevent.hub import Hub

from runtime import Pool, give_way, log_failures, offload

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


@pytest.mark.parametrize("run", [offload, Pool(1).run], ids=["gevent's pool", "a pool of its own"])
def test_a_failed_call_shows_its_arguments_nowhere(run: Callable[..., object], capfd: pytest.CaptureFixture[str]):
    """operations.md: no line holds a payload. gevent prints a failed call, and a partial prints its arguments."""
    with pytest.raises(ValueError, match="invalid literal"):
        run(partial(int, "canary"), base=10)

    assert capfd.readouterr() == ("", "")


def test_an_offloaded_error_is_not_kept_alive_by_its_own_traceback():
    """It would hold the call's arguments, a whole body, until the collector comes."""
    body = Body()
    watched = weakref.ref(body)
    gc.disable()

    with pytest.raises(LookupError):
        offload(reject, body)
    del body

    gc.enable()
    assert watched() is None


class Body:
    """What a call is given, of which one can see that it is gone."""


def reject(body: Body) -> None:
    raise LookupError(id(body))


def test_a_failed_greenlet_is_logged_without_what_it_was_started_with(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Hub, "print_exception", Hub.print_exception)
    log_failures()

    gevent.spawn(int, "canary").join()

    assert "canary" not in "".join(capfd.readouterr())
    assert [each.getMessage() for each in caplog.records] == ["a greenlet failed"]


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
