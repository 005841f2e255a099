"""The isolated execution of queries: api.md section 5 "Limits", architecture.md section 4.6."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from errors import InternalError, InvalidSQL, Overloaded, QueryCancelled, QueryTooLarge, ShuttingDown, TimedOut
from query.process.lease import Limits
from query.process.pool import OnWait, Pool, ignore
from query.process.protocol import DATA_BYTES
from query.process.query_process import LONG_NICENESS
from query.process.slot_table import Query, SlotTable
from query.process.worker import NICENESS

MIB = 2**20
LIMITS = Limits(timeout_seconds=20, memory_bytes=256 * MIB, concurrency=2, threads=2, waiting=4, waiting_seconds=20)
MakePool = Callable[..., Pool]


def never() -> bool:
    return False


def query(number: int = 1, identity: str = "user:admin", *, privileged: bool = False) -> Query:
    return Query(f"q{number}", "", identity, "SELECT 1", "2026-01-31T12:00:00Z", privileged)


@pytest.fixture
def make_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePool]:
    """Pools as workers of one host have them: each its own, over one shared directory."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    made: list[Pool] = []

    def make(on_wait: OnWait = ignore, **limits: Any) -> Pool:
        chosen = Limits(**{**{name: getattr(LIMITS, name) for name in LIMITS.__slots__}, **limits})
        made.append(Pool(SlotTable(tmp_path, chosen.concurrency), chosen, module="odd_jobs", on_wait=on_wait))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


@pytest.fixture
def pool(make_pool: MakePool) -> Pool:
    return make_pool()


def run(pool: Pool, *job: Any, by: Query | None = None, is_gone: Callable[[], bool] = never) -> tuple[bytes, Any]:
    """The data and the answer of one job."""
    with pool.lease(by or query(), is_gone) as lease:
        lease.send(job)
        pieces = []
        while isinstance(found := lease.receive(), bytes):
            pieces.append(found)
        return b"".join(pieces), found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_data_and_answer_come_back_in_order(pool: Pool) -> None:
    data, answer = run(pool, "echo", b"0123456789" * 1000, 500)

    assert data == b"0123456789" * 500_000
    assert is_running(answer["pid"])


def test_a_pool_is_warm_when_its_first_process_is_ready(pool: Pool) -> None:
    """Maintenance and alerting start after it, so a start must not wait for what never comes either."""
    begun = time.monotonic()
    pool.wait_until_warm(0.2)
    assert time.monotonic() - begun >= 0.2

    pool.start()
    pool.wait_until_warm(60)

    assert pool._idle


def test_a_process_serves_one_query_after_another(make_pool: MakePool) -> None:
    pool = make_pool(concurrency=1)

    assert len({run(pool, "sleep", 0)[1]["pid"] for _ in range(5)}) == 1


def test_one_large_piece_of_a_result_arrives_in_small_ones(pool: Pool) -> None:
    """A cell of 162 MB must not be in the memory of a web worker at once."""
    with pool.lease(query(), never) as lease:
        lease.send(("echo", b"x" * 20 * MIB, 1))
        sizes = []
        while isinstance(found := lease.receive(), bytes):
            sizes.append(len(found))

    assert (sum(sizes), max(sizes)) == (20 * MIB, DATA_BYTES)


def test_a_frame_that_is_larger_than_any_of_ours_ends_the_process(pool: Pool) -> None:
    with pytest.raises(InternalError):
        run(pool, "tell", 5 * MIB)

    assert run(pool, "echo", b"x", 1)[0] == b"x"


def test_an_error_that_quotes_a_large_value_is_cut(pool: Pool) -> None:
    with pytest.raises(InvalidSQL) as refusal:
        run(pool, "quote", 20 * MIB)

    assert len(refusal.value.message) < 3_000
    assert len(refusal.value.details["hint"]) < 3_000


def test_an_error_of_the_query_keeps_its_class_and_details_and_no_half_result(make_pool: MakePool) -> None:
    pool = make_pool(concurrency=1)
    pid = run(pool, "sleep", 0)[1]["pid"]

    with pytest.raises(InvalidSQL, match="no such thing") as refusal:
        run(pool, "refuse")

    assert refusal.value.details == {"position": 7, "sqlstate": "42703"}
    assert run(pool, "sleep", 0)[1]["pid"] == pid


def test_an_unforeseen_error_tells_nothing_of_our_insides(pool: Pool) -> None:
    with pytest.raises(InternalError) as refusal:
        run(pool, "break")

    assert "secret" not in refusal.value.message


@pytest.mark.parametrize("job", [("sleep", 600), ("hang",)], ids=["asleep", "holding-the-interpreter"])
def test_a_query_that_runs_too_long_is_killed(make_pool: MakePool, job: tuple[Any, ...]) -> None:
    pool = make_pool(timeout_seconds=3, concurrency=1)
    pid = run(pool, "sleep", 0)[1]["pid"]

    with pytest.raises(TimedOut, match=r"longer than 3 s"):
        run(pool, *job)

    wait_until(lambda: not is_running(pid))
    assert run(pool, "sleep", 0)[1]["pid"] != pid


def test_a_query_that_takes_too_much_memory_is_killed(pool: Pool) -> None:
    with pytest.raises(QueryTooLarge, match="256 MiB") as refusal:
        run(pool, "allocate", 2**40)

    assert refusal.value.details["limit"] == 256 * MIB
    assert run(pool, "echo", b"x", 1)[0] == b"x"


def niceness(pid: int) -> set[int]:
    """Of each thread of the process, beyond ours."""
    found, ours = set(), os.getpriority(os.PRIO_PROCESS, 0)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found.add(os.getpriority(os.PRIO_PROCESS, int(thread.name)) - ours)
    return found


def test_a_long_query_gives_way_until_it_ends(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query.process.lease.LONG_SECONDS", 0.2)
    pool = make_pool()
    _, small = run(pool, "sleep", 0.0)
    before = niceness(small["pid"])

    with pool.lease(query(), never) as lease:
        lease.send(("sleep", 1.5))
        wait_until(lambda: niceness(small["pid"]) == {LONG_NICENESS})
        lease.receive()

    _, after = run(pool, "sleep", 0.0)
    assert before == {NICENESS} == niceness(after["pid"])


def test_a_process_that_may_not_step_forward_is_replaced(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux lets only its administrator make a process less nice (setpriority(2), EACCES)."""
    monkeypatch.setattr("query.process.lease.LONG_SECONDS", 0.2)
    pool = make_pool()
    real = os.setpriority

    def as_user(which: int, who: int, priority: int) -> None:
        if priority < os.getpriority(which, who):
            raise PermissionError
        real(which, who, priority)

    monkeypatch.setattr(os, "setpriority", as_user)
    _, long = run(pool, "sleep", 1.0)

    _, other = run(pool, "sleep", 0.0)

    assert other["pid"] != long["pid"]
    assert niceness(other["pid"]) == {NICENESS}


def test_a_process_that_keeps_memory_is_replaced(make_pool: MakePool) -> None:
    pool = make_pool(memory_bytes=1024 * MIB, concurrency=1)

    pid = run(pool, "keep", 500 * MIB)[1]["pid"]

    assert run(pool, "sleep", 0)[1]["pid"] != pid
    wait_until(lambda: not is_running(pid))


def test_an_idle_process_that_keeps_memory_is_replaced(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query.process.pool.IDLE_SECONDS", 0.2)
    pool = make_pool(memory_bytes=1024 * MIB)
    pid = run(pool, "keep", 200 * MIB)[1]["pid"]

    wait_until(lambda: not is_running(pid))
    pool.wait_until_warm(60)

    assert run(pool, "sleep", 0)[1]["pid"] != pid


def test_one_idle_process_that_keeps_little_stays(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query.process.pool.IDLE_SECONDS", 0.2)
    pool = make_pool()
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda number: run(pool, "sleep", 1, by=query(number, f"user:{number}")), range(2))
        pids = {answer["pid"] for _, answer in found}

    wait_until(lambda: sum(map(is_running, pids)) == 1)
    time.sleep(1)

    assert sum(map(is_running, pids)) == 1


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_a_process_that_exhausts_itself_is_an_error_of_the_query(pool: Pool, number: int) -> None:
    """A failed allocation aborts, a stack that ends faults."""
    with pytest.raises(QueryTooLarge):
        run(pool, "die", number)

    assert run(pool, "echo", b"x", 1)[0] == b"x"


def test_a_small_query_that_the_kernel_kills_is_not_to_blame(pool: Pool) -> None:
    """The out-of-memory killer takes queries first, whoever used the memory up."""
    with pytest.raises(Overloaded, match="short of memory") as refusal:
        run(pool, "die", signal.SIGKILL)

    assert refusal.value.retry_after_seconds > 0
    assert run(pool, "echo", b"x", 1)[0] == b"x"


def test_a_large_query_that_the_kernel_kills_is_too_large(make_pool: MakePool) -> None:
    pool = make_pool(memory_bytes=256 * MIB)

    with pool.lease(query(), never) as lease:
        lease.send(("fill", 120 * MIB))
        pid = int(lease.receive())  # type: ignore[arg-type]
        wait_until(lambda: lease.most_charged > 128 * MIB)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(QueryTooLarge):
            lease.receive()


def test_a_process_that_just_ends_is_our_fault(pool: Pool) -> None:
    with pytest.raises(InternalError):
        run(pool, "exit", 3)

    assert run(pool, "echo", b"x", 1)[0] == b"x"


def test_a_query_whose_client_has_left_is_killed(pool: Pool) -> None:
    left = threading.Event()
    threading.Timer(0.3, left.set).start()

    with pytest.raises(QueryCancelled):
        run(pool, "sleep", 600, is_gone=left.is_set)


def test_a_late_end_of_a_query_does_not_hit_the_next_one_in_its_process(make_pool: MakePool) -> None:
    """A watcher that looked at a query just before it was done."""
    pool = make_pool(concurrency=1)
    with pool.lease(query(1), never) as done:
        done.send(("sleep", 0))
        done.receive()

    with pool.lease(query(2), never) as lease:
        lease.send(("echo", b"x", 1))
        done.end(TimedOut("too late"))
        assert lease.receive() == b"x"


def test_a_reader_that_stops_half_way_leaves_no_process_behind(make_pool: MakePool) -> None:
    pool = make_pool(concurrency=1)

    with pool.lease(query(), never) as lease:
        lease.send(("echo", b"x" * MIB, 1000))
        lease.receive()

    assert run(pool, "echo", b"next", 1)[0] == b"next"


def test_any_worker_lists_and_cancels_the_queries_of_the_host(make_pool: MakePool, tmp_path: Path) -> None:
    pool, other = make_pool(), SlotTable(tmp_path, 2)

    with ThreadPoolExecutor() as threads:
        running = threads.submit(run, pool, "sleep", 600)
        wait_until(lambda: other.queries("") == [query()])
        assert other.queries("another tenant") == []
        other.cancel("q1")
        with pytest.raises(QueryCancelled):
            running.result()

    assert other.queries("") == []
    assert not list(tmp_path.glob("q1*"))


def test_a_waiting_query_can_be_cancelled(make_pool: MakePool, tmp_path: Path) -> None:
    pool, other = make_pool(concurrency=1), SlotTable(tmp_path, 1)

    with ThreadPoolExecutor() as threads, pool.lease(query(1), never):
        waiting = threads.submit(run, pool, "sleep", 0, by=query(2))
        wait_until(lambda: len(other.queries("")) == 2)
        other.cancel("q2")
        with pytest.raises(QueryCancelled):
            waiting.result()


def test_no_more_queries_run_at_once_than_the_host_may(make_pool: MakePool) -> None:
    """The limit is the host's, whichever of its workers the queries came to."""
    first, second = make_pool(concurrency=2, waiting=100), make_pool(concurrency=2, waiting=100)
    running, most, lock = [0], [0], threading.Lock()

    def one(number: int) -> None:
        with (first, second)[number % 2].lease(query(number, f"user:{number}"), never) as lease:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            lease.send(("sleep", 0.01))
            lease.receive()
            with lock:
                running[0] -= 1

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(one, range(40)))

    assert most == [2]


def test_beyond_the_line_queries_are_refused_at_once(make_pool: MakePool) -> None:
    pool = make_pool(concurrency=1, waiting=1)

    with ThreadPoolExecutor() as threads, pool.lease(query(1), never):
        waiting = threads.submit(run, pool, "echo", b"x", 1, by=query(2))
        wait_until(lambda: len(pool._queue) == 1)
        with pytest.raises(Overloaded) as refusal:
            run(pool, "echo", b"x", 1, by=query(3))
        assert refusal.value.retry_after_seconds > 0
        pool.close()
        with pytest.raises(ShuttingDown):
            waiting.result()


def test_waiting_has_an_end(make_pool: MakePool) -> None:
    busy, pool = make_pool(concurrency=1), make_pool(concurrency=1, waiting_seconds=0.2)

    with busy.lease(query(1), never), pytest.raises(Overloaded, match=r"within 0\.2 s"):
        run(pool, "echo", b"x", 1, by=query(2))


def test_every_wait_is_told_with_its_length_however_it_ends(make_pool: MakePool) -> None:
    waits: list[float] = []
    busy, pool = make_pool(waits.append, concurrency=1), make_pool(waits.append, concurrency=1, waiting_seconds=0.2)

    with busy.lease(query(1), never), pytest.raises(Overloaded):
        run(pool, "echo", b"x", 1, by=query(2))

    assert len(waits) == 2
    assert waits[1] >= 0.2


def test_one_caller_cannot_hold_all_slots(make_pool: MakePool) -> None:
    """With two slots, one query of each caller runs; who waits for an own query is in nobody's way."""
    pool = make_pool(concurrency=2)

    with ThreadPoolExecutor() as threads, pool.lease(query(1, "greedy"), never):
        second = threads.submit(run, pool, "sleep", 0, by=query(2, "greedy"))
        wait_until(lambda: len(pool._queue) == 1)
        assert run(pool, "echo", b"x", 1, by=query(3, "modest"))[0] == b"x"
        assert not second.done()

    assert second.result()[0] == b""


def test_a_slot_is_kept_for_administrators_and_alerts(make_pool: MakePool) -> None:
    pool = make_pool(concurrency=2)

    with pool.lease(query(1, "ann"), never), pool.lease(query(2, "bob"), never):
        with pytest.raises(QueryCancelled):
            run(pool, "echo", b"x", 1, by=query(3, "eve"), is_gone=lambda: True)
        assert run(pool, "echo", b"x", 1, by=query(4, "admin", privileged=True))[0] == b"x"


def test_callers_take_turns(make_pool: MakePool) -> None:
    """One caller's many queries delay another caller's single one by one query at most."""
    pool, order = make_pool(concurrency=1, waiting=100), list[str]()

    def one(number: int, identity: str) -> None:
        with pool.lease(query(number, identity), never):
            order.append(identity)

    with ThreadPoolExecutor(20) as threads, pool.lease(query(0), never):
        for number in range(8):
            threads.submit(one, number, "greedy")
            wait_until(lambda: len(pool._queue) > number)  # noqa: B023
        threads.submit(one, 9, "modest")
        wait_until(lambda: len(pool._queue) == 9)

    assert order.index("modest") <= 1


def test_workers_take_turns(make_pool: MakePool) -> None:
    """Whoever came to the head of its worker's line first is next on the host."""
    here, there, order = make_pool(concurrency=1, waiting=100), make_pool(concurrency=1, waiting=100), list[str]()

    def one(pool: Pool, number: int, name: str) -> None:
        with pool.lease(query(number, name), never) as lease:
            order.append(name)
            lease.send(("sleep", 0.02))
            lease.receive()

    with ThreadPoolExecutor(20) as threads, here.lease(query(0), never):
        for number in range(6):
            threads.submit(one, here, number, "here")
        wait_until(lambda: len(here._queue) == 6)
        threads.submit(one, there, 7, "there")
        wait_until(lambda: len(there._queue) == 1)

    assert order.index("there") <= 2


def test_slots_of_a_killed_worker_are_free_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from query.process.slot_table import SlotTable, Query\n"
        "host = SlotTable(Path(sys.argv[1]), 1); host.open(); assert host.try_slot(None) == 0\n"
        "entry = host.enter(Query('dead', '', 'user:admin', 'SELECT 1', '')); place = host.enqueue()\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    host = SlotTable(tmp_path, 1)
    host.open()

    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        assert [found.id for found in host.queries("")] == ["dead"]
        assert host.try_slot(None) is None
        worker.kill()

    assert host.queries("") == []
    assert host.try_slot(None) == 0
    assert {path.name for path in tmp_path.iterdir()} - {"slot-0.lock", "slot-1.lock", "shares.lock"} == set()


def test_a_worker_that_is_stuck_at_the_head_of_the_line_is_passed_by(tmp_path: Path) -> None:
    host, stuck = SlotTable(tmp_path, 1), SlotTable(tmp_path, 1)
    host.open()
    stuck.open()

    place = stuck.enqueue()

    assert host.try_slot(None) is None
    wait_until(lambda: host.try_slot(None) == 0)
    place.close()


def test_no_query_process_outlives_its_worker(tmp_path: Path) -> None:
    """kill -9 of a worker in the middle of a query."""
    code = (
        "import sys, threading; from pathlib import Path; from query.process.slot_table import SlotTable, Query\n"
        "from query.process.lease import Limits\n"
        "from query.process.pool import Pool\n"
        "pool = Pool(SlotTable(Path(sys.argv[1]), 1), Limits(60, 2**30, 1, 1, 9, 60), 'odd_jobs')\n"
        "with pool.lease(Query('q', '', '', '', ''), lambda: False) as lease:\n"
        "    print(lease._process.pid, flush=True); lease.send(('hang',)); lease.receive()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(Path(__file__).parents[1])])}

    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        assert is_running(pid)
        worker.kill()

    wait_until(lambda: not is_running(pid))


def test_a_query_process_knows_no_setting_of_the_service(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """attacks.md 13: the database URL and the secret key are not where hostile queries run."""
    monkeypatch.setenv("WEIR_SECRET_KEY", "hush")

    _, environment = run(pool, "environment")

    assert not [name for name in environment if name.startswith("WEIR_")]
    assert "hush" not in environment.values()


def test_a_query_process_keeps_no_free_memory_as_a_worker_does(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it keeps would count as its query's."""
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "dirty_decay_ms:60000")

    _, environment = run(pool, "environment")

    assert "60000" not in environment.get("_RJEM_MALLOC_CONF", "")


def test_closing_leaves_no_process(make_pool: MakePool) -> None:
    pool = make_pool()
    pid = run(pool, "sleep", 0)[1]["pid"]

    pool.close()

    wait_until(lambda: not is_running(pid))
