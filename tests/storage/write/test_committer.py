"""Group commit: everything queued goes into one write and one sync, and is answered alike."""

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl
import pytest

from errors import Overloaded, ShuttingDown, StorageUnavailable
from storage.wal.records import Buffer, Record, decode, to_rows
from storage.wal.segments import list_segments, take_ownership
from storage.write.committer import LARGE_BYTES, Committer, CopyFailed, Rows

R = TypeVar("R")


def rows(*values: object, dataset_id: int = 1) -> Rows:
    return Rows(dataset_id, pl.DataFrame({"x": values}), 0, len(values), body_bytes=len(values))


def staged_frames(directory: Path) -> list[Record]:
    return [frame for each in list_segments(directory) for frame in decode(Path(each.path).read_bytes(), each.name)]


class Gate:
    """An offload that waits until it is opened, so that requests pile up behind it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, function: Callable[[], R], /) -> R:
        self.entered.set()
        self.opened.wait()
        return function()


class Appends:
    """Appends that run at once, each in a thread; `outcomes` are their exceptions or None, in order."""

    def __init__(self, committer: Committer, gate: Gate) -> None:
        self.committer, self.gate = committer, gate
        self.threads: list[threading.Thread] = []
        self.outcomes: list[BaseException | None] = []

    def start(self, each: Rows) -> None:
        """Queue it: on return it is queued, and the first one is already being committed."""
        queued = len(self.committer._queue)
        number = len(self.outcomes)
        self.outcomes.append(None)
        self.threads.append(threading.Thread(target=self._append, args=(number, each)))
        self.threads[-1].start()
        if number == 0:
            self.gate.entered.wait()
        else:
            while len(self.committer._queue) == queued:
                pass

    def finish(self) -> list[BaseException | None]:
        self.gate.opened.set()
        for thread in self.threads:
            thread.join()
        return self.outcomes

    def _append(self, number: int, each: Rows) -> None:
        try:
            self.committer.append(each)
        except Exception as error:
            self.outcomes[number] = error


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def committer(tmp_path: Path, gate: Gate) -> Iterator[Committer]:
    made = Committer(tmp_path, offload=gate, max_queued_bytes=100, flush_seconds=60)
    yield made
    gate.opened.set()
    made.close()


@pytest.fixture
def appends(committer: Committer, gate: Gate) -> Appends:
    return Appends(committer, gate)


def test_appended_rows_are_in_a_segment_on_return(tmp_path: Path, committer: Committer, gate: Gate) -> None:
    gate.opened.set()

    committer.append(rows(1, 2))

    (frame,) = staged_frames(tmp_path)
    assert (frame.dataset_id, frame.rows, frame.tmin, frame.tmax, frame.body_bytes) == (1, 2, 0, 2, 2)
    assert to_rows(frame)["x"].to_list() == [1, 2]


def test_what_queues_during_a_sync_goes_into_one_write_with_one_frame_for_alike_rows(
    tmp_path: Path, appends: Appends, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    for each in (rows(1), rows(2), rows(3), rows("text"), rows(4, dataset_id=2)):
        appends.start(each)

    assert appends.finish() == [None] * 5

    frames = [(frame.dataset_id, to_rows(frame)["x"].to_list()) for frame in staged_frames(tmp_path)]
    assert frames == [(1, [1]), (1, [2, 3]), (1, ["text"]), (2, [4])]
    assert len(syncs) == 2


def test_large_rows_that_share_a_write_have_frames_of_their_own(tmp_path: Path, gate: Gate) -> None:
    large = ["x" * 2 * LARGE_BYTES]
    committer = Committer(tmp_path, offload=gate, flush_seconds=60)
    appends = Appends(committer, gate)
    for each in (rows("a"), rows("b"), rows(*large), rows("c"), rows(*large)):
        appends.start(each)

    assert appends.finish() == [None] * 5
    committer.close()

    assert [to_rows(frame)["x"].to_list() for frame in staged_frames(tmp_path)] == [["a"], ["b", "c"], large, large]


def test_failed_sync_fails_all_that_shared_it_and_the_next_commit_is_fine(
    tmp_path: Path, appends: Appends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Architecture section 3, invariant 6."""
    real, calls = os.fdatasync, iter([None, OSError(errno.EIO, "broken"), None])

    def sync(fd: int) -> None:
        if (error := next(calls)) is not None:
            raise error
        real(fd)

    monkeypatch.setattr(os, "fdatasync", sync)
    for each in (rows(1), rows(2), rows(3)):
        appends.start(each)

    outcomes = appends.finish()
    appends.committer.append(rows(4))

    assert [type(each) for each in outcomes] == [type(None), StorageUnavailable, StorageUnavailable]
    assert [to_rows(frame)["x"].to_list() for frame in staged_frames(tmp_path)] == [[1], [4]]
    assert len(list_segments(tmp_path)) == 2


def test_directory_that_is_gone_fails_the_request_and_not_the_committer(tmp_path: Path) -> None:
    committer = Committer(tmp_path / "later")
    with pytest.raises(StorageUnavailable):
        committer.append(rows(1))

    (tmp_path / "later").mkdir()
    committer.append(rows(2))
    committer.close()

    assert [frame.rows for frame in staged_frames(tmp_path / "later")] == [1]


def test_full_queue_refuses_and_stores_nothing_of_it(tmp_path: Path, appends: Appends) -> None:
    appends.start(rows(1))
    appends.start(rows(2))

    with pytest.raises(Overloaded):
        appends.committer.append(rows(*range(100)))

    assert appends.finish() == [None, None]
    assert sum(frame.rows for frame in staged_frames(tmp_path)) == 2


def test_request_larger_than_the_limit_is_taken_when_nothing_waits(
    tmp_path: Path, committer: Committer, gate: Gate
) -> None:
    gate.opened.set()

    committer.append(rows(*range(1000)))

    assert staged_frames(tmp_path)[0].rows == 1000


def test_close_commits_what_is_queued_seals_and_refuses_the_rest(tmp_path: Path, appends: Appends, gate: Gate) -> None:
    appends.start(rows(1))
    appends.start(rows(2))
    gate.opened.set()

    appends.committer.close()

    assert appends.finish() == [None, None]
    assert sum(frame.rows for frame in staged_frames(tmp_path)) == 2
    with take_ownership(list_segments(tmp_path)[0]) as is_ours:
        assert is_ours
    with pytest.raises(ShuttingDown):
        appends.committer.append(rows(3))


def test_full_segment_is_sealed_and_a_new_one_begun(tmp_path: Path) -> None:
    committer = Committer(tmp_path, segment_bytes=2000, flush_seconds=60)

    for _ in range(4):
        committer.append(rows(*range(100)))
    committer.close()

    assert len(list_segments(tmp_path)) == 4


def test_old_segment_with_data_is_sealed_though_nothing_more_comes(tmp_path: Path) -> None:
    committer = Committer(tmp_path, flush_seconds=0.01)
    committer.append(rows(1))

    is_ours = False
    while not is_ours:
        with take_ownership(list_segments(tmp_path)[0]) as is_ours:
            pass

    assert [frame.rows for frame in staged_frames(tmp_path)] == [1]
    committer.close()


class Holder:
    """Another host: what it has of each segment. The first `failing` answers fail."""

    def __init__(self, failing: int = 0) -> None:
        self.failing = failing
        self.copies: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}

    def encoded(self, buffers: Sequence[Buffer], /) -> bytes:
        return b"".join(buffers)

    def begin(self, segment: str, /) -> "HeldCopy":
        self.copies[segment] = b""
        return HeldCopy(self, segment)

    def end(self, segment: str, size: int, /) -> None:
        self.sizes[segment] = size


class HeldCopy:
    def __init__(self, holder: Holder, segment: str) -> None:
        self.holder, self.segment = holder, segment

    def send(self, offset: int, added: bytes, /) -> None:
        assert offset == len(self.holder.copies[self.segment])
        self.holder.copies[self.segment] += added

    def wait(self) -> None:
        self.holder.failing -= 1
        if self.holder.failing >= 0:
            raise CopyFailed("gone")

    def close(self) -> None:
        pass


def test_a_copy_has_the_very_bytes(tmp_path: Path) -> None:
    holder = Holder()
    committer = Committer(tmp_path, copier=holder)
    for number in range(3):
        committer.append(rows(number))
    committer.close()

    assert holder.copies == {each.name: Path(each.path).read_bytes() for each in list_segments(tmp_path)}
    assert len(staged_frames(tmp_path)) == 3


def test_where_no_copy_is_kept_the_segment_ends_and_another_one_takes_the_rows(tmp_path: Path) -> None:
    """What the failed copy may have does not count any more, so the rows are nowhere twice."""
    holder = Holder()
    committer = Committer(tmp_path, copier=holder)
    committer.append(rows(1))
    holder.failing = 1
    committer.append(rows(2))
    committer.close()

    first, second = list_segments(tmp_path)
    assert holder.sizes == {first.name: first.size}
    assert len(holder.copies[first.name]) > first.size
    assert [to_rows(each)["x"].to_list() for each in staged_frames(tmp_path)] == [[1], [2]]
    assert holder.copies[second.name] == Path(second.path).read_bytes()


def test_without_a_copy_nothing_is_stored(tmp_path: Path) -> None:
    holder = Holder(failing=2)
    committer = Committer(tmp_path, copier=holder)

    with pytest.raises(StorageUnavailable, match="no other host"):
        committer.append(rows(1))
    committer.append(rows(2))
    committer.close()

    assert [to_rows(each)["x"].to_list() for each in staged_frames(tmp_path)] == [[2]]


def test_rows_that_this_disk_does_not_take_do_not_count_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = Holder()
    committer = Committer(tmp_path, copier=holder)

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, "sync failed")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        with pytest.raises(StorageUnavailable):
            committer.append(rows(1))
    committer.close()

    assert list(holder.sizes.values()) == [0]
