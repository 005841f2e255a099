"""Segments: appended durably, taken back on failure, convertible only without an owner."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from storage import durable_files
from storage.durable_files import make_directory
from storage.wal.records import Record, decode
from storage.wal.segments import Segment, SegmentRef, list_segments, take_ownership

FRAME = Record(1, 1, 0, 0, 0, payload=b"x" * 100)


def payloads(segment: Segment) -> list[bytes]:
    return [bytes(frame.payload) for frame in decode(segment.path.read_bytes(), segment.name)]


def test_appended_frames_stand_in_the_file_in_order(tmp_path: Path) -> None:
    segment = Segment(tmp_path)

    segment.append([FRAME, Record(2, 1, 0, 0, 0, payload=b"y")])
    segment.append([Record(1, 1, 0, 0, 0, payload=b"z", notes=b"n")])

    assert payloads(segment) == [b"x" * 100, b"y", b"z"]
    assert segment.size == segment.path.stat().st_size


def test_more_buffers_than_one_call_takes_are_all_written(tmp_path: Path) -> None:
    segment = Segment(tmp_path)

    segment.append([FRAME] * 3000)

    assert len(payloads(segment)) == 3000


def test_partial_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, views, offset: real(fd, [bytes(views[0])[:7]], offset))
    segment = Segment(tmp_path)

    segment.append([FRAME, FRAME])

    assert payloads(segment) == [b"x" * 100] * 2


def fail(*_: object) -> None:
    raise OSError(errno.EIO, "broken")


def write_half(fd: int, views: list[bytes], offset: int) -> int:
    os.pwrite(fd, bytes(views[0])[:20], offset)
    raise OSError(errno.ENOSPC, "full")


@pytest.mark.parametrize(
    ("call", "instead"),
    [("pwritev", fail), ("pwritev", write_half), ("fdatasync", fail)],
    ids=["write fails", "disk is full half-way", "sync fails"],
)
def test_failed_append_leaves_the_segment_as_it_was_and_lets_it_go(
    call: str, instead: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Architecture section 3, invariant 6: cut back, seal."""
    segment = Segment(tmp_path)
    segment.append([FRAME])
    monkeypatch.setattr(os, call, instead)

    with pytest.raises(OSError, match=r"broken|full"):
        segment.append([FRAME, FRAME])

    assert segment.path.stat().st_size == FRAME.size
    assert segment.is_sealed
    with take_ownership(list_segments(tmp_path)[0]) as is_ours:
        assert is_ours


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_segment_that_cannot_be_created_is_not_listed_or_not_owned(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, call, fail)

    with pytest.raises(OSError, match="broken"):
        Segment(tmp_path)

    assert list_segments(tmp_path) == []


def test_segment_of_a_living_owner_is_not_given_away(tmp_path: Path) -> None:
    """Architecture section 3, invariant 7."""
    segment = Segment(tmp_path)

    with take_ownership(list_segments(tmp_path)[0]) as is_ours:
        assert not is_ours
    segment.seal()
    with take_ownership(list_segments(tmp_path)[0]) as is_ours:
        assert is_ours


def test_segment_that_is_gone_is_not_given_away(tmp_path: Path) -> None:
    with take_ownership(SegmentRef("x", str(tmp_path / "x.wal"), 1)) as is_ours:
        assert not is_ours


def test_unfinished_and_foreign_files_are_not_segments(tmp_path: Path) -> None:
    (tmp_path / "a.new").touch()
    (tmp_path / "b.txt").touch()

    assert list_segments(tmp_path) == []
    assert list_segments(tmp_path / "missing") == []


def test_segments_are_listed_by_name_with_their_sizes(tmp_path: Path) -> None:
    """Names begin with the time of creation."""
    made = sorted((Segment(tmp_path) for _ in range(5)), key=lambda segment: segment.name)
    made[2].append([FRAME])

    listed = list_segments(tmp_path)

    assert [each.name for each in listed] == [each.name for each in made]
    assert [each.size for each in listed] == [0, 0, FRAME.size, 0, 0]


@pytest.mark.parametrize("exists", [False, True], ids=["new", "already there"])
def test_every_directory_is_synced_in_the_one_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """One that is there may have been made by a process that died before it could sync."""
    synced: list[Path] = []
    monkeypatch.setattr(durable_files, "sync_directory", synced.append)
    if exists:
        (tmp_path / "a" / "b").mkdir(parents=True)

    make_directory(tmp_path / "a" / "b", tmp_path)

    assert sorted(synced) == [tmp_path, tmp_path / "a"]
    assert (tmp_path / "a" / "b").is_dir()
