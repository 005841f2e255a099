"""Unconverted rows: each read once, however segments are cut into portions, and only when they may be asked for."""

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from storage.read import unconverted_rows
from storage.read.unconverted_rows import UnconvertedRows
from storage.wal import batches
from storage.wal.records import Record, decode, encode, join_streams, read_streams, to_payload, to_rows
from storage.wal.segments import SegmentRef, list_segments
from tests.storage.workbench import NOON, Bench

NAME = "01J"
SHAPES = (
    pl.DataFrame({"x": [1, 2], "text": ["short", "longer than twelve bytes"]}),
    pl.DataFrame({"x": [3.5], "list": [["a", None, "b"]]}),
    pl.DataFrame({"x": list(range(500)), "text": [None, "y" * 50] * 250}),
)


def segment(root: Path, *written: Record) -> SegmentRef:
    path = root / f"{NAME}.wal"
    path.write_bytes(b"".join(bytes(part) for frame in written for part in encode(frame, NAME)))
    return SegmentRef(NAME, str(path), path.stat().st_size)


def frame(rows: pl.DataFrame, dataset_id: int = 1, tmin: int = 0, tmax: int = 0) -> Record:
    return Record(dataset_id, rows.height, tmin, tmax, 0, to_payload(rows))


def numbers(found: list[pl.DataFrame]) -> list[float]:
    return sorted(value for rows in found for value in rows["x"].to_list())


@pytest.mark.parametrize("portion_bytes", [1, 3000, 10**9])
def test_few_frames_have_the_rows_of_many_in_their_order(monkeypatch: pytest.MonkeyPatch, portion_bytes: int):
    monkeypatch.setattr(batches, "PORTION_BYTES", portion_bytes)
    chunked = pl.concat([SHAPES[0], SHAPES[0]], rechunk=False)
    parts = [*SHAPES, *SHAPES[::-1], chunked, SHAPES[0].clear(), *SHAPES * 3]

    few = read_streams(to_payload(part) for part in parts)

    assert len(few) == len(join_streams(parts))
    assert sorted((part.columns, part.dtypes) for part in few) == sorted(
        (p.columns, p.dtypes) for p in join_streams(parts)
    )
    for part in few:
        alike = [each for each in parts if each.schema == part.schema]
        assert part.equals(pl.concat(alike))


def test_stream_of_another_form_is_read_too():
    """One without an end mark, which readers accept (Arrow columnar format, IPC streaming format)."""
    whole = bytes(to_payload(SHAPES[0]))

    (rows,) = read_streams([whole, whole[:-8]])

    assert rows.equals(pl.concat([SHAPES[0], SHAPES[0]]))


@pytest.mark.parametrize("portion_bytes", [1, 100, 5000, 10**9])
def test_torn_segment_gives_its_whole_frames_whatever_the_portion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portion_bytes: int
):
    monkeypatch.setattr(unconverted_rows, "PORTION_BYTES", portion_bytes)
    staged = segment(tmp_path, *(frame(SHAPES[number % 3]) for number in range(7)))
    data = Path(staged.path).read_bytes()

    for size in [*range(0, staged.size, 997), staged.size]:
        whole = [to_rows(each) for each in decode(data[:size], NAME)]
        assert numbers(UnconvertedRows().read(1, [SegmentRef(NAME, staged.path, size)])) == numbers(whole)


def test_nothing_behind_a_damaged_frame_is_read(tmp_path: Path):
    staged = segment(tmp_path, *(frame(SHAPES[0]) for _ in range(3)))
    with Path(staged.path).open("r+b") as content:
        content.seek(frame(SHAPES[0]).size + 100)
        content.write(b"\xff\xff")

    assert numbers(UnconvertedRows().read(1, [staged])) == [1, 2]


def test_rows_are_decoded_when_their_range_is_asked_for_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    staged = segment(
        tmp_path,
        frame(pl.DataFrame({"x": [1]}), tmin=10, tmax=19),
        frame(pl.DataFrame({"x": [9]}), dataset_id=2, tmin=10, tmax=19),
        frame(pl.DataFrame({"x": [2]}), tmin=20, tmax=29),
    )
    read: list[int] = []
    real = unconverted_rows.payload_start
    monkeypatch.setattr(unconverted_rows, "payload_start", lambda *where: read.append(where[1]) or real(*where))
    kept = UnconvertedRows()

    assert numbers(kept.read(1, [staged], 30, None)) == []
    assert numbers(kept.read(1, [staged], None, 10)) == []
    assert read == []
    assert numbers(kept.read(1, [staged], 29, 30)) == [2]
    assert numbers(kept.read(1, [staged], 0, 11)) == [1, 2]
    assert numbers(kept.read(2, [staged])) == [9]
    assert numbers(kept.read(1, [staged])) == [1, 2]
    assert len(read) == 3


def test_columns_are_decoded_when_they_are_wanted_and_stand_beside_those_that_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    parts = [SHAPES[0], SHAPES[1], SHAPES[0], SHAPES[2], SHAPES[1]]
    staged = segment(tmp_path, *(frame(part) for part in parts))
    older = SegmentRef(NAME, staged.path, sum(frame(part).size for part in parts[:3]))
    checks: list[int] = []
    real = unconverted_rows.payload_start
    monkeypatch.setattr(unconverted_rows, "payload_start", lambda *where: checks.append(where[1]) or real(*where))
    kept = UnconvertedRows()

    def found(listed: SegmentRef, *wanted: str) -> list[tuple[object, ...]]:
        frames = kept.read(1, [listed], None, None, wanted)
        assert all(set(wanted).issuperset(rows.columns) for rows in frames)
        return sorted((row for rows in frames for row in rows.rows()), key=repr)

    def expected(parts: Sequence[pl.DataFrame], *wanted: str) -> list[tuple[object, ...]]:
        return sorted(
            (row for part in parts for row in part.select(name for name in part.columns if name in wanted).rows()),
            key=repr,
        )

    assert found(older, "x") == expected(parts[:3], "x")
    assert found(staged, "x") == expected(parts, "x")
    assert len(checks) == len(parts)
    assert found(staged, "x", "text", "list") == expected(parts, "x", "text", "list")
    assert len(checks) == len(parts)
    assert sum(rows.height for rows in kept.read(1, [staged], None, None, [])) == sum(part.height for part in parts)


def test_rows_of_one_reading_join_those_of_another_only_in_the_same_columns(bench: Bench):
    kept = UnconvertedRows()
    for number in range(12):
        bench.append(at=NOON, x=[number], y=[-number], z=[str(number)])
        wanted = (["x"], ["y", "x"], ["z"])[number % 3]
        kept.read(bench.app.id, list_segments(bench.layout.staging), None, None, wanted)

    rows = pl.concat(
        kept.read(bench.app.id, list_segments(bench.layout.staging), None, None, ["x", "y", "z"]), how="diagonal"
    )

    assert sorted(rows.select("x", "y", "z").rows()) == [(n, -n, str(n)) for n in range(12)]
    assert len(kept.read(bench.app.id, list_segments(bench.layout.staging))) <= 4


def test_frames_of_other_datasets_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    large = pl.DataFrame({"x": list(range(50_000))})
    staged = segment(tmp_path, frame(large, dataset_id=2), frame(SHAPES[0]), frame(large, dataset_id=2))
    read: list[int] = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or real(fd, size, at))
    kept = UnconvertedRows()

    assert [numbers(kept.read(1, [staged])) for _ in range(2)] == [[1, 2]] * 2
    assert sum(read) < staged.size / 4


def test_older_listing_has_the_rows_of_its_moment(tmp_path: Path):
    """docs/storage.md: a query reads at most as much of a segment as there was when it was listed."""
    staged = segment(tmp_path, *(frame(pl.DataFrame({"x": [n]}), tmin=n, tmax=n) for n in range(4)))
    older = SegmentRef(NAME, staged.path, staged.size // 2)
    kept = UnconvertedRows()

    assert numbers(kept.read(1, [staged], 0, 1)) == [0]
    assert numbers(kept.read(1, [older])) == [0, 1]
    assert numbers(kept.read(1, [staged])) == [0, 1, 2, 3]
    assert numbers(kept.read(1, [older])) == [0, 1]
    assert numbers(kept.read(1, [staged])) == [0, 1, 2, 3]


def test_segment_that_an_older_listing_lacks_stays_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "01A").mkdir()
    first, second = segment(tmp_path, frame(SHAPES[0])), segment(tmp_path / "01A", frame(SHAPES[0]))
    first, second = SegmentRef("01I", first.path, 0), second
    read: list[int] = []
    real = unconverted_rows.payload_start
    monkeypatch.setattr(unconverted_rows, "payload_start", lambda *where: read.append(where[1]) or real(*where))
    kept = UnconvertedRows()

    for listed in ([first, second], [first], [first, second]):
        kept.read(1, listed)
    assert len(read) == 1
    kept.read(1, [])
    assert kept._segments == {}


def test_growing_segment_of_two_datasets_gives_each_its_rows(bench: Bench):
    other = bench.storage.find("default", "app")
    kept = UnconvertedRows()
    for number in range(20):
        bench.append(target=other, at=NOON, x=[number])
        found = kept.read(other.id, list_segments(bench.layout.staging), *(None, None) if number % 3 else (0, 1))
        assert len(numbers(found)) <= number + 1
    assert numbers(kept.read(other.id, list_segments(bench.layout.staging))) == list(range(20))


def test_gone_segment_is_told(tmp_path: Path):
    staged = segment(tmp_path, frame(SHAPES[0]))
    os.unlink(staged.path)

    with pytest.raises(FileNotFoundError):
        UnconvertedRows().read(1, [staged])
