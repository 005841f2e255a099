"""The exact guard of cached identities, over several processes."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from auth.cache import IdentityCache, Resolved
from auth.identity import Identity, Kind
from errors import KeyNameTaken, StorageUnavailable
from models import generation, role
from models.shared_generation import DatabaseGeneration, SharedGeneration
from models.tenant import DEFAULT

SPAWN = get_context("spawn")
ANN = Resolved(Identity(DEFAULT, Kind.NATIVE, "ann", "ann", (), ()))


@pytest.fixture
def shared(tmp_path: Path) -> SharedGeneration:
    return SharedGeneration(tmp_path)


def read_in_another_process(directory: Path) -> int | None:
    with SPAWN.Pool(1) as pool:
        return pool.apply(_read, (directory,))


def _read(directory: Path) -> int | None:
    return SharedGeneration(directory).read()


def _die_while_changing(directory: Path) -> None:
    with SharedGeneration(directory).changing():
        os.kill(os.getpid(), signal.SIGKILL)


def test_ended_change_moves_the_number_for_every_process(shared, tmp_path):
    before = read_in_another_process(tmp_path)

    with shared.changing():
        pass

    assert before == 0
    assert shared.read() == read_in_another_process(tmp_path) == 1


def test_nothing_is_trusted_during_a_change(shared, tmp_path):
    with shared.changing():
        assert shared.read() is None
        assert read_in_another_process(tmp_path) is None
        with SharedGeneration(tmp_path).changing():
            assert shared.read() is None
        assert shared.read() is None

    assert shared.read() == 2


def test_refused_change_ends_too(shared):
    with pytest.raises(KeyNameTaken), shared.changing():
        raise KeyNameTaken("taken")

    assert shared.read() is not None


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("error", [StorageUnavailable("lost"), KeyboardInterrupt(), RuntimeError()])
def test_change_with_unknown_outcome_is_settled_by_the_next_read(shared, error):
    with pytest.raises(type(error)), shared.changing():
        raise error

    assert shared.read() == 1


@pytest.mark.usefixtures("database")
def test_process_killed_during_a_change_leaves_no_cache_trusted_as_before(shared, tmp_path):
    """Between its commit and the bump lies an instant in which a process may die."""
    before = shared.read()
    dying = SPAWN.Process(target=_die_while_changing, args=(tmp_path,))
    dying.start()
    dying.join()

    assert dying.exitcode == -signal.SIGKILL
    assert shared.read() not in (None, before)
    assert shared.read() == shared.read()


@pytest.mark.usefixtures("database")
def test_database_generation_moves_with_the_commit():
    before = DatabaseGeneration().read()

    with DatabaseGeneration().changing():
        role.put(DEFAULT, "r", [])

    assert DatabaseGeneration().read() == generation.current() > before


@pytest.mark.usefixtures("database")
def test_reads_that_are_asked_for_at_once_share_one_that_begins_after_all_of_them(monkeypatch):
    """A deletion that was answered before a request came is known to that request, whoever reads for it."""
    read_of = DatabaseGeneration()
    begun: list[int] = []
    gate = threading.Event()

    def slow() -> int:
        begun.append(len(begun) + 1)
        assert gate.wait(30)
        return begun[-1]

    monkeypatch.setattr(generation, "current", slow)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(read_of.read)
        while not begun:
            time.sleep(0.001)
        # These ask while the first is on its way, which may have passed the change that they must know of.
        late = [pool.submit(read_of.read) for _ in range(19)]
        while read_of._next is None:
            time.sleep(0.001)
        gate.set()
        assert first.result() == 1
        assert {each.result() for each in late} <= {2, 3, 4}
    assert len(begun) < 20


@pytest.mark.usefixtures("database")
def test_failed_read_fails_for_all_who_share_it_and_not_for_the_next(monkeypatch):
    read_of = DatabaseGeneration()

    def away() -> int:
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(generation, "current", away)
        with pytest.raises(StorageUnavailable):
            read_of.read()

    assert read_of.read() == generation.current()


class Loads:
    """Counts its calls, and can do something in the middle of one."""

    def __init__(self, meanwhile=lambda: None) -> None:
        self.calls = 0
        self.meanwhile = meanwhile

    def __call__(self) -> Resolved:
        self.calls += 1
        self.meanwhile()
        return ANN


def change(shared: SharedGeneration) -> None:
    with shared.changing():
        pass


def test_cached_identity_is_loaded_once_per_change(shared):
    cache, load = IdentityCache(shared), Loads()

    for _ in range(3):
        cache.resolve("k", load)
    change(shared)
    for _ in range(3):
        cache.resolve("k", load)

    assert load.calls == 2


def test_change_during_a_load_makes_the_loaded_identity_stale(shared):
    """The number is read before the load: a change that ends meanwhile may or may not be in what was loaded."""
    cache, load = IdentityCache(shared), Loads(meanwhile=lambda: change(shared))

    cache.resolve("k", load)
    cache.resolve("k", load)

    assert load.calls == 2


def test_identity_loaded_during_a_change_is_not_kept(shared):
    cache, load = IdentityCache(shared), Loads()

    with shared.changing():
        cache.resolve("k", load)
    cache.resolve("k", load)

    assert load.calls == 2


def test_wrong_credentials_are_not_kept(shared):
    cache = IdentityCache(shared)

    assert cache.resolve("k", lambda: None) is None
    assert cache.resolve("k", Loads()) is ANN
