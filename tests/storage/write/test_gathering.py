"""Gathered records: queries read them for a segment's small ones, every row once, and do without them as well."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from models.column import Schema
from storage.names import GATHERED_SUFFIX
from storage.read import unconverted_rows
from storage.read.fingerprint import fingerprint, is_outside_range
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.upkeep.conversion import remove_converted
from storage.upkeep.sweep import sweep_staging
from storage.wal.gathered import gathered_path
from storage.wal.gathered_index import GatheredIndex, read_gathered_ranges
from storage.wal.index import SegmentIndex
from storage.wal.records import decode, to_rows
from storage.wal.segments import Segment, SegmentRef, list_segments
from storage.write import gathering
from storage.write.committer import Committer, Rows
from tests.storage.workbench import Bench

LARGE = gathering.SMALL_ROWS + 1


@pytest.fixture(autouse=True)
def small_gatherings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "RECORDS", 4)
    monkeypatch.setattr(gathering, "LAST_RECORDS", 2)
    monkeypatch.setattr(gathering, "LEAST_RECORDS", 2)


@pytest.fixture
def committer(tmp_path: Path) -> Iterator[Committer]:
    made = Committer(tmp_path, flush_seconds=60)
    yield made
    made.close()


def rows(*values: float, dataset_id: int = 1) -> Rows:
    return Rows(dataset_id, pl.DataFrame({"x": values}), int(min(values)), int(max(values)), body_bytes=3)


def staged(root: Path) -> SegmentRef:
    (only,) = list_segments(root)
    return only


def numbers(found: Sequence[pl.DataFrame]) -> list[float]:
    return sorted(value for rows in found for value in rows["x"].to_list())


def stored(segment: SegmentRef, dataset_id: int = 1) -> list[float]:
    """What the segment itself has, up to its listed size."""
    records = decode(Path(segment.path).read_bytes()[: segment.size], segment.name)
    return numbers([to_rows(each) for each in records if each.dataset_id == dataset_id])


def mixed(committer: Committer) -> None:
    """Records of two datasets and two schemas, small and large."""
    for number in range(0, 4000, 100):
        committer.append(rows(number))
        committer.append(rows(number + 1, number + 2, dataset_id=2))
        if number % 300 == 0:
            committer.append(rows(*range(number + 3, number + 3 + LARGE)))
        if number % 700 == 0:
            committer.append(rows(number + 0.5))


@pytest.fixture
def segment(committer: Committer, tmp_path: Path) -> SegmentRef:
    mixed(committer)
    committer.close()
    return staged(tmp_path)


def test_query_reads_gathered_records_instead_of_small_ones(
    segment: SegmentRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    real = unconverted_rows.payload_start
    monkeypatch.setattr(unconverted_rows, "payload_start", lambda *where: checked.append(where[1]) or real(*where))

    assert numbers(UnconvertedRows().read(2, [segment])) == stored(segment, 2)

    in_segment = sum(each.dataset_id == 2 for each in decode(Path(segment.path).read_bytes(), segment.name))
    assert 0 < len(checked) < in_segment / 2


def test_gatherings_tell_the_rows_bodies_and_times_of_what_they_stand_for(segment: SegmentRef) -> None:
    with open(segment.path, "rb") as file:
        plain = SegmentIndex().update(segment, file.fileno())
        gathered = GatheredIndex().update(segment, file.fileno())

    assert gathered.gathered
    for dataset_id in (1, 2):
        parts = [index.locations(dataset_id, segment.size) for index in (plain, gathered)]
        assert len(parts[0]) > len(parts[1])
        facts = [
            (sum(e.rows for e in p), sum(e.body_bytes for e in p), min(e.tmin for e in p), max(e.tmax for e in p))
            for p in parts
        ]
        assert facts[0] == facts[1]


def test_every_listing_gets_its_rows_once_whatever_the_process_knows(segment: SegmentRef) -> None:
    kept, draw = UnconvertedRows(), random.Random(1)
    sizes = [*range(0, segment.size, 997), segment.size]
    draw.shuffle(sizes)

    for size in sizes:
        listed = SegmentRef(segment.name, segment.path, size)
        for unconverted in (kept, UnconvertedRows()):
            for dataset_id in (1, 2):
                assert numbers(unconverted.read(dataset_id, [listed])) == stored(listed, dataset_id), size


def test_growing_segment_is_read_once_with_its_ranges_and_columns(committer: Committer, tmp_path: Path) -> None:
    kept, draw = UnconvertedRows(), random.Random(2)

    for number in range(200):
        committer.append(rows(*range(number * 10, number * 10 + draw.choice([1, 1, 1, 5]))))
        if draw.random() < 0.3:
            start = draw.randrange(2000)
            listed = staged(tmp_path)
            wanted = [each for each in stored(listed) if each >= start]
            found = [each for each in numbers(kept.read(1, [listed], start, None, ["x"])) if each >= start]
            assert found == wanted
    assert numbers(kept.read(1, [staged(tmp_path)])) == stored(staged(tmp_path))


@pytest.mark.parametrize("seed", range(40))
def test_damaged_or_torn_copy_counts_no_further_than_it_is_whole(segment: SegmentRef, seed: int) -> None:
    draw, path = random.Random(seed), Path(gathered_path(segment.path))
    content = bytearray(path.read_bytes())
    at = draw.randrange(len(content))
    if seed % 2:
        del content[at:]
    else:
        content[at] ^= 1 << draw.randrange(8)
    path.write_bytes(content)

    for dataset_id in (1, 2):
        assert numbers(UnconvertedRows().read(dataset_id, [segment])) == stored(segment, dataset_id)


@pytest.mark.parametrize("is_gone", [False, True], ids=["damaged", "gone"])
def test_copy_that_is_lost_after_it_was_found_is_done_without(segment: SegmentRef, is_gone: bool) -> None:
    """Its rows are in the segment: whoever asks gets them, not an error."""
    unconverted, path = UnconvertedRows(), Path(gathered_path(segment.path))
    assert any(each.gathered for each in unconverted.locations(1, [segment]))

    if is_gone:
        path.unlink()
    else:
        path.write_bytes(bytes(path.stat().st_size))

    for dataset_id in (1, 2, 1):
        assert numbers(unconverted.read(dataset_id, [segment])) == stored(segment, dataset_id)


def test_copy_of_another_segment_is_none(segment: SegmentRef, tmp_path: Path) -> None:
    other = Segment(tmp_path)
    Path(gathered_path(segment.path)).rename(gathered_path(str(other.path)))
    content = Path(segment.path).read_bytes()
    other.path.write_bytes(content)

    assert not list(read_gathered_ranges(SegmentRef(other.name, str(other.path), len(content)), 0))


def test_events_are_acknowledged_where_nothing_can_be_gathered(
    committer: Committer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    committer.append(rows(0))
    Path(gathered_path(staged(tmp_path).path)).mkdir()

    for number in range(1, 20):
        committer.append(rows(number))
    committer.close()

    assert stored(staged(tmp_path)) == list(range(20))
    assert sum("could not be gathered" in each.message for each in caplog.records) == 1


def test_records_of_too_many_kinds_are_left_as_they_are(
    committer: Committer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MOST_RECORDS", 12)

    for number in range(40):
        committer.append(rows(number, dataset_id=number))

    assert not list(tmp_path.glob(f"*{GATHERED_SUFFIX}"))


def test_listing_within_gathered_records_has_no_fingerprint(segment: SegmentRef, tmp_path: Path) -> None:
    """What the index knows cannot tell which of their rows the listing counts."""
    index = GatheredIndex()
    first = next(read_gathered_ranges(segment, 0))
    whole = Snapshot(str(tmp_path), Schema(1, ()), "p_timestamp", -1, 10**9, (), (segment,))
    cut = Snapshot(
        str(tmp_path),
        Schema(1, ()),
        "p_timestamp",
        -1,
        10**9,
        (),
        (SegmentRef(segment.name, segment.path, first.end - 1),),
    )

    assert fingerprint(whole, index) is not None
    assert fingerprint(cut, index) is None
    assert not is_outside_range(cut, index)


def test_copy_goes_with_its_segment(bench: Bench) -> None:
    for number in range(10):
        bench.append(x=[number])
    assert list(bench.layout.staging.glob(f"*{GATHERED_SUFFIX}"))

    bench.convert()
    remove_converted(bench.layout, -1)

    assert not list(bench.layout.staging.glob(f"*{GATHERED_SUFFIX}"))


def test_copy_without_its_segment_is_swept(bench: Bench) -> None:
    for number in range(10):
        bench.append(x=[number])
    orphan = bench.layout.staging / f"01J{GATHERED_SUFFIX}"
    orphan.touch()

    sweep_staging(bench.layout)

    assert not orphan.exists()
    assert len(list(bench.layout.staging.glob(f"*{GATHERED_SUFFIX}"))) == 1
    assert bench.rows()["x"].to_list() == list(range(10))
