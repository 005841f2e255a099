"""The local cache of objects: whole copies, within the limit, safe among processes, good when the store is away."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errors import StorageUnavailable
from models.file import File
from storage.context import CacheLimits, Layout
from storage.files import store
from storage.files.object_cache import SMALL_BYTES, Cache
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import FAN_IN, compact, remove_replaced
from storage.upkeep.conversion import convert_all
from storage.upkeep.sweep import sweep
from tests.running import ROOT, free_port
from tests.storage.workbench import NOON, Bench

SIZE = 1000


class Remote:
    """A store in memory that counts what is read."""

    def __init__(self) -> None:
        self.read_paths: list[str] = []
        self.is_away = False
        self.content: dict[str, bytes] = {}

    def add(self, number: int, size: int = SIZE) -> File:
        path = f"default/app/date=2026-01-01/hour=00/{number:04}.parquet"
        self.content[path] = os.urandom(size)
        return File(path, 1, 0, 0, 1, size)

    def read(self, path: str) -> Iterator[bytes]:
        self.read_paths.append(path)
        if self.is_away:
            raise StorageUnavailable("away")
        content = self.content[path]
        yield content[: len(content) // 2]
        yield content[len(content) // 2 :]


@pytest.fixture
def remote() -> Remote:
    return Remote()


def cache(root: Path, limit_bytes: int = 10 * SIZE, grace_seconds: float = -1, **limits: float) -> Cache:
    return Cache(root / "cache", CacheLimits(limit_bytes, grace_seconds, **limits))


def taken(made: Cache) -> int:
    return sum(path.stat().st_size for path in made.root.rglob("*") if path.is_file() and path.name != "taken")


def test_file_is_fetched_once(tmp_path: Path, remote: Remote):
    file = remote.add(1)

    copies = [cache(tmp_path).obtain([file], remote.read)[file.path].read_bytes() for _ in range(3)]

    assert copies == [remote.content[file.path]] * 3
    assert remote.read_paths == [file.path]


def test_limit_is_held_and_the_longest_unused_goes_first(tmp_path: Path, remote: Remote):
    files = [remote.add(number) for number in range(10)]
    made = cache(tmp_path)
    made.obtain(files, remote.read)
    for age, file in enumerate([*files[5:], *files[:5]]):
        os.utime(made.root / file.path, (time.time() + age - 100,) * 2)

    found = made.obtain([remote.add(number) for number in range(10, 13)], remote.read)

    assert len(found) == 3
    assert taken(made) == 10 * SIZE
    assert sorted(made.paths()) == sorted([each.path for each in (*files[:5], *files[8:])] + list(found))


def test_what_a_query_may_be_about_to_open_is_not_evicted(tmp_path: Path, remote: Remote):
    made = cache(tmp_path, grace_seconds=60)
    first = made.obtain([remote.add(number) for number in range(10)], remote.read)

    second = made.obtain([remote.add(99)], remote.read)

    assert second == {}
    assert all(path.exists() for path in first.values())


def test_file_larger_than_the_cache_is_read_remotely(tmp_path: Path, remote: Remote):
    made = cache(tmp_path)
    made.obtain([remote.add(1)], remote.read)

    assert made.obtain([remote.add(2, 11 * SIZE)], remote.read) == {}


def test_nothing_is_given_up_for_a_file_that_does_not_fit_anyway(tmp_path: Path, remote: Remote):
    made = cache(tmp_path)
    kept = made.obtain([remote.add(1)], remote.read)

    made.obtain([remote.add(2, 11 * SIZE)], remote.read)

    assert made.paths() == list(kept)


def test_files_are_counted_only_when_there_seems_to_be_no_room(tmp_path: Path, remote: Remote, monkeypatch: Any):
    made = cache(tmp_path)
    made.obtain([remote.add(1)], remote.read)
    counted = []
    real = Cache._entries
    monkeypatch.setattr(Cache, "_entries", lambda self: counted.append(1) or real(self))

    made.obtain([remote.add(number) for number in range(2, 11)], remote.read)
    assert counted == []
    made.drop(made.paths()[:5])
    counted.clear()
    assert len(made.obtain([remote.add(number) for number in range(20, 25)], remote.read)) == 5
    assert counted == [1]


def test_what_a_killed_process_took_is_counted(tmp_path: Path, remote: Remote):
    """It may be killed between taking room and writing that down."""
    made = cache(tmp_path, grace_seconds=60)
    made.obtain([remote.add(1, 9 * SIZE)], remote.read)
    (made.root / "taken").unlink()

    assert made.obtain([remote.add(2, 2 * SIZE)], remote.read) == {}


def test_large_file_is_fetched_when_it_is_wanted_again(tmp_path: Path, remote: Remote):
    made = cache(tmp_path, 100 * SMALL_BYTES)
    file = remote.add(1, SMALL_BYTES + 1)

    first, second = (made.obtain([file], remote.read) for _ in range(2))

    assert (len(first), len(second)) == (0, 1)


def test_copy_of_another_size_is_none(tmp_path: Path, remote: Remote):
    file = remote.add(1)
    made = cache(tmp_path)
    copy = made.obtain([file], remote.read)[file.path]
    os.truncate(copy, SIZE - 1)

    again = made.obtain([file], remote.read)

    assert again[file.path].read_bytes() == remote.content[file.path]


def test_half_an_object_is_never_a_copy(tmp_path: Path, remote: Remote):
    file = replace(remote.add(1), bytes=SIZE + 1)
    made = cache(tmp_path)

    assert made.obtain([file], remote.read) == {}
    assert taken(made) == 0


def test_store_that_is_away_leaves_what_is_there(tmp_path: Path, remote: Remote):
    known, unknown = remote.add(1), remote.add(2)
    made = cache(tmp_path)
    made.obtain([known], remote.read)
    remote.is_away = True

    assert set(made.obtain([known, unknown], remote.read)) == {known.path}
    assert taken(made) == SIZE


def test_full_disk_takes_no_copies_and_gives_back_the_old(tmp_path: Path, remote: Remote):
    cache(tmp_path).obtain([remote.add(1)], remote.read)
    made = cache(tmp_path, disk_percent=0.0)

    assert made.obtain([remote.add(2)], remote.read) == {}
    assert made.paths() == []


PROGRAM = """
import os, random, sys
from contextlib import suppress
from pathlib import Path
from models.file import File
from storage.files.object_cache import Cache
from storage.context import CacheLimits
made = Cache(Path(sys.argv[1]), CacheLimits(20_000, 0.05))
def read(path):
    yield bytes([int(path[1:3])]) * 500
    yield bytes([int(path[1:3])]) * 500
for _ in range(150):
    files = [File(f"d{n:02}/{n:02}.parquet", 1, 0, 0, 1, 1000) for n in random.sample(range(60), 5)]
    for path, copy in made.obtain(files, read).items():
        # With a grace this short another process may have evicted it.
        with suppress(FileNotFoundError):
            assert copy.read_bytes() == bytes([int(path[1:3])]) * 1000, path
    with made._locked():
        assert sum(entry.size for entry in made._entries()) <= 20_000
"""


def test_processes_share_it_without_seeing_halves_or_going_over_the_limit(tmp_path: Path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "cache")]
    running = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."})
        for _ in range(3)
    ]

    errors = [each.communicate()[1] for each in running]

    assert [each.returncode for each in running] == [0, 0, 0], errors


@pytest.fixture
def bench(tmp_path: Path, database: None, bucket: str) -> Iterator[Bench]:
    made = Bench(tmp_path, bucket)
    made.layout = replace(made.layout, cached=CacheLimits(10**9))
    yield made
    made.storage.close()


def away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(store, "RETRIES", 0)
    store._client.cache_clear()


def test_what_this_host_converted_is_answered_while_the_store_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    bench.append(x=[1, 2])
    bench.convert()
    away(monkeypatch)

    assert bench.rows()["x"].to_list() == [1, 2]
    store._client.cache_clear()


def test_what_another_host_converted_is_fetched_once(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bench.append(x=[1, 2])
    bench.convert()
    other = replace(bench.layout, root=tmp_path / "other")

    rows = scan(take_snapshot(other, bench.app)).collect()
    away(monkeypatch)

    assert scan(take_snapshot(other, bench.app)).collect().equals(rows)
    store._client.cache_clear()


def test_copies_and_objects_are_read_together(bench: Bench):
    bench.append(x=[1])
    bench.convert()
    bench.append(at=NOON + timedelta(hours=1), x=[2])
    bench.convert()
    copies = Cache.of(bench.layout)
    assert copies is not None
    copies.drop(copies.paths()[:1])
    snapshot = replace(take_snapshot(bench.layout, bench.app), cache=Cache(copies.root, CacheLimits(0)))

    assert sorted(scan(snapshot).collect()["x"]) == [1, 2]


def test_copies_go_with_their_objects(bench: Bench):
    copies = Cache.of(bench.layout)
    assert copies is not None
    for number in range(FAN_IN):
        bench.append(x=[number])
        bench.convert()
    assert compact(bench.layout) == FAN_IN
    assert len(copies.paths()) == FAN_IN + 1

    remove_replaced(bench.layout, -1)
    assert copies.paths() == [file.path for file in take_snapshot(bench.layout, bench.app).files]
    store.ObjectStore(str(bench.layout.url), bench.layout.staging).remove(copies.paths())
    bench.storage.delete("default", "app")
    remove_replaced(Layout(bench.layout.root, url=bench.layout.url), -1)
    assert len(copies.paths()) == 1
    sweep(bench.layout)
    assert copies.paths() == []


def test_without_room_conversion_keeps_nothing(bench: Bench):
    layout = replace(bench.layout, cached=CacheLimits(10))
    bench.append(x=[1])
    bench.seal()
    convert_all(layout)

    assert [path.name for path in (bench.layout.root / "cache").rglob("*") if path.is_file() and path.suffix] == []
    assert list(bench.layout.staging.glob("*.new")) == []
    assert bench.rows()["x"].to_list() == [1]
