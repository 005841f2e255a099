"""Small files that a process keeps decoded: a query reads exactly the rows of its snapshot's files."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from storage.read import small_files
from storage.read.scan import SnapshotExpired, scan
from storage.read.small_files import SmallFiles
from storage.read.snapshot import Snapshot, take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from tests.storage.workbench import NOON, Bench

NOON_NS = int(NOON.timestamp()) * 10**9
SECOND_NS = 10**9


class Reader:
    """Scans with the same kept files each time, and counts the files that were decoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.small, self.decoded = SmallFiles(), 0
        pack = small_files.decode_group

        def counted(files, rows):  # type: ignore[no-untyped-def]
            self.decoded += len(files)
            return pack(files, rows)

        monkeypatch.setattr(small_files, "decode_group", counted)

    def __call__(self, snapshot: Snapshot) -> list[int]:
        rows = scan(snapshot, UnconvertedRows(), self.small).collect()
        assert rows.columns == scan(snapshot).collect().columns
        return sorted(rows["x"])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


def fill(bench: Bench, *numbers: int) -> None:
    """A file for each number, a second apart."""
    for number in numbers:
        bench.append(at=NOON + timedelta(seconds=number), x=[number])
        bench.convert()


def test_files_are_decoded_once_and_from_the_second_time_on(bench: Bench, read: Reader) -> None:
    fill(bench, 0, 1, 2)

    assert read(take_snapshot(bench.layout, bench.app)) == [0, 1, 2]
    assert read.decoded == 0
    assert [read(take_snapshot(bench.layout, bench.app)) for _ in range(3)] == [[0, 1, 2]] * 3
    assert read.decoded == 3

    fill(bench, 3)
    assert read(take_snapshot(bench.layout, bench.app)) == [0, 1, 2, 3]
    assert read.decoded == 4


@pytest.mark.parametrize("most_pieces", [1, 8])
def test_every_choice_of_files_gives_their_rows(
    bench: Bench, read: Reader, monkeypatch: pytest.MonkeyPatch, most_pieces: int
) -> None:
    monkeypatch.setattr(small_files, "MOST_PIECES", most_pieces)
    fill(bench, *range(6))
    whole = take_snapshot(bench.layout, bench.app)
    for _ in range(2):
        read(whole)

    for start in range(6):
        for end in range(start + 1, 7):
            part = take_snapshot(bench.layout, bench.app, NOON_NS + start * SECOND_NS, NOON_NS + end * SECOND_NS)
            assert read(part) == list(range(start, end))
    assert read(Snapshot(**{**vars(whole), "files": whole.files[::2]})) == [0, 2, 4]
    assert read(whole) == list(range(6))


def test_older_snapshot_has_no_rows_of_later_files(bench: Bench, read: Reader) -> None:
    fill(bench, 0, 1)
    older = take_snapshot(bench.layout, bench.app)
    fill(bench, 2)
    newer = take_snapshot(bench.layout, bench.app)

    assert [read(newer), read(newer), read(older), read(newer)] == [[0, 1, 2], [0, 1, 2], [0, 1], [0, 1, 2]]


def test_columns_that_came_or_widened_since_are_those_of_the_snapshot(bench: Bench, read: Reader) -> None:
    fill(bench, 0)
    for _ in range(2):
        read(take_snapshot(bench.layout, bench.app))
    bench.append(at=NOON, x=[1.5], y=["new"])
    bench.convert()

    for _ in range(2):
        rows = scan(take_snapshot(bench.layout, bench.app), UnconvertedRows(), read.small).collect().sort("x")
        assert rows.select("x", "y").rows() == [(0.0, None), (1.5, "new")]
        assert rows.schema["x"] == pl.Float64()


def test_large_files_and_more_than_may_be_decoded_are_read_where_they_are(
    bench: Bench, read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bench, 0, 1)
    snapshot = take_snapshot(bench.layout, bench.app)
    monkeypatch.setattr(small_files, "MOST_DECODED_BYTES", snapshot.files[0].bytes)
    assert [read(snapshot) for _ in range(3)] == [[0, 1]] * 3
    assert read.decoded == 0

    monkeypatch.setattr(small_files, "SMALL_BYTES", 1)
    assert [read(snapshot) for _ in range(3)] == [[0, 1]] * 3
    assert read.decoded == 0


def test_what_is_kept_is_bounded(bench: Bench, read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench, 0, 1)
    monkeypatch.setattr(small_files, "MOST_KEPT_BYTES", 10)
    snapshot = take_snapshot(bench.layout, bench.app)

    assert [read(snapshot) for _ in range(5)] == [[0, 1]] * 5
    assert not any(read.small._kept.values())


def test_kept_rows_outlive_the_file_and_a_missing_one_asks_for_a_new_snapshot(bench: Bench, read: Reader) -> None:
    fill(bench, 0, 1)
    snapshot = take_snapshot(bench.layout, bench.app)
    for _ in range(2):
        read(snapshot)
    Path(bench.layout.root, snapshot.files[0].path).unlink()

    assert sorted(scan(snapshot, UnconvertedRows(), read.small).collect()["x"]) == [0, 1]
    with pytest.raises(SnapshotExpired):
        scan(snapshot, UnconvertedRows(), SmallFiles())
