"""Large records are read by columns: the same rows as from whole records, from what was synced, whatever is damaged."""

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from storage.read import unconverted_rows
from storage.read.unconverted_rows import UnconvertedRows
from storage.wal.gathered import gathered_path
from storage.wal.gathered_index import read_gathered_ranges
from storage.wal.locations import RecordLocation
from storage.wal.records import HEADER_BYTES, decode, to_rows
from storage.wal.segments import SegmentRef, list_segments
from storage.write import gathering
from storage.write.committer import Committer, Rows
from tests.storage.wal.test_batches import SCHEMA, rows

NAMES = list(SCHEMA)


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LARGE_BYTES", 60_000)
    monkeypatch.setattr(gathering, "LAST_BYTES", 1)
    monkeypatch.setattr(gathering, "RECORDS", 8)
    monkeypatch.setattr(gathering, "LEAST_RECORDS", 2)
    monkeypatch.setattr(unconverted_rows, "COLUMN_BYTES", 0)
    monkeypatch.setattr(unconverted_rows, "COLUMN_RECORDS", 5)


@pytest.fixture
def committer(tmp_path: Path) -> Iterator[Committer]:
    made = Committer(tmp_path, flush_seconds=60)
    yield made
    made.close()


def append(committer: Committer, numbers: Sequence[int]) -> None:
    """A record for each number, as many large ones as small ones, of two datasets and two schemas."""
    for number in numbers:
        names = NAMES[:7] if number % 5 == 4 else NAMES
        count = 3 if number % 4 > 1 else gathering.SMALL_ROWS + 1 + number % 30
        frame = rows(count, number, 0.2 * (number % 3), names)
        committer.append(Rows(1 + (number % 7 == 6), frame, number, number, notes=b"n" * (number % 2)))


def staged(root: Path) -> SegmentRef:
    (only,) = list_segments(root)
    return only


@pytest.fixture
def segment(committer: Committer, tmp_path: Path) -> SegmentRef:
    append(committer, range(60))
    committer.close()
    return staged(tmp_path)


def whole(segment: SegmentRef, wanted: Sequence[str], dataset_id: int = 1) -> list[tuple[object, ...]]:
    """What the segment itself has, up to its listed size."""
    records = decode(Path(segment.path).read_bytes()[: segment.size], segment.name)
    return _sorted([to_rows(each) for each in records if each.dataset_id == dataset_id], wanted)


def found(
    unconverted: UnconvertedRows, segment: SegmentRef, wanted: Sequence[str], dataset_id: int = 1
) -> list[tuple[object, ...]]:
    return _sorted(unconverted.read(dataset_id, [segment], None, None, wanted), wanted)


def _sorted(frames: Sequence[pl.DataFrame], wanted: Sequence[str]) -> list[tuple[object, ...]]:
    """The rows, whose columns are the wanted ones in the schema's order; null where a frame lacks one."""
    null = [pl.lit(None, SCHEMA[name]).alias(name) for name in wanted]
    full = [
        frame.select(*(each for each in null if each.meta.output_name() not in frame.columns), "*") for frame in frames
    ]
    return sorted((row for frame in full for row in frame.select(wanted).rows()), key=repr)


def checked(segment: SegmentRef) -> list[RecordLocation]:
    return [location for each in read_gathered_ranges(segment, 0) for location in each.columns]


def test_query_reads_the_bytes_of_its_column(segment: SegmentRef, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = whole(segment, ["int64"])
    read: list[int] = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or real(fd, size, at))

    assert found(UnconvertedRows(), segment, ["int64"]) == expected
    assert sum(each.gathered is None for each in checked(segment)) > 20
    assert sum(each.gathered is not None for each in checked(segment)) > 5
    assert 0 < sum(read) < segment.size / 4


@pytest.mark.parametrize("seed", range(8))
def test_any_columns_of_any_listing_are_those_of_whole_records(segment: SegmentRef, seed: int) -> None:
    kept, draw = UnconvertedRows(), random.Random(seed)

    for _ in range(12):
        size = draw.choice([segment.size, draw.randrange(segment.size)])
        listed = SegmentRef(segment.name, segment.path, size)
        wanted = draw.sample(NAMES, draw.choice([1, 1, 2, 3, len(NAMES)]))
        for unconverted in (kept, UnconvertedRows()):
            for dataset_id in (1, 2):
                assert found(unconverted, listed, wanted, dataset_id) == whole(listed, wanted, dataset_id)


def test_growing_segment_is_read_as_whole_records_are(committer: Committer, tmp_path: Path) -> None:
    kept, draw = UnconvertedRows(), random.Random(1)

    for number in range(60):
        append(committer, [number])
        if draw.random() < 0.3:
            wanted = draw.sample(NAMES, 2)
            assert found(kept, staged(tmp_path), wanted) == whole(staged(tmp_path), wanted)


def test_range_of_times_is_read_by_columns(segment: SegmentRef) -> None:
    unconverted = UnconvertedRows()

    frames = unconverted.read(1, [segment], 20, 30, ["int64"])

    assert 0 < sum(frame.height for frame in frames) < len(whole(segment, ["int64"])) / 3
    assert found(unconverted, segment, ["int64", "utf8"]) == whole(segment, ["int64", "utf8"])


@pytest.mark.parametrize("seed", range(30))
def test_damage_changes_no_value_that_is_found(segment: SegmentRef, seed: int) -> None:
    """Rows are those that were acknowledged, or those before the first damaged record."""
    draw, path = random.Random(seed), Path(segment.path)
    wanted = draw.sample(NAMES, draw.choice([1, 2]))
    acknowledged = whole(segment, wanted)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)

    answers = [found(UnconvertedRows(), segment, wanted), found(_warm(segment), segment, wanted)]

    assert all(answer in (acknowledged, whole(segment, wanted)) for answer in answers)


def _warm(segment: SegmentRef) -> UnconvertedRows:
    """A process that has read another column before."""
    unconverted = UnconvertedRows()
    unconverted.read(1, [segment], None, None, ["date"])
    return unconverted


def _of_all_columns(segment: SegmentRef) -> list[RecordLocation]:
    """The records of the first dataset and schema."""
    columns = {location: each for found in read_gathered_ranges(segment, 0) for location, each in found.columns.items()}
    first = next(iter(columns.values())).schema
    datasets = {location: dataset for found in read_gathered_ranges(segment, 0) for dataset, location in found.located}
    return [e for e, each in columns.items() if each.schema == first and datasets[e] == 1 and e.gathered is None]


def test_damaged_column_ends_the_reading_where_its_record_is(segment: SegmentRef) -> None:
    """As a damaged record does; a query that reads other columns has their acknowledged values."""
    location = _of_all_columns(segment)[5]
    acknowledged = whole(segment, ["bool"])
    content = bytearray(Path(segment.path).read_bytes())
    content[location.end - 16] ^= 1
    Path(segment.path).write_bytes(content)

    assert found(UnconvertedRows(), segment, ["bool"]) == acknowledged
    assert found(UnconvertedRows(), segment, NAMES[-1:]) == whole(segment, NAMES[-1:])
    assert len(whole(segment, ["bool"])) < len(acknowledged)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_or_torn_checksums_are_done_without(segment: SegmentRef, seed: int) -> None:
    draw, path = random.Random(seed), Path(gathered_path(segment.path))
    content = bytearray(path.read_bytes())
    at = draw.randrange(len(content))
    if seed % 2:
        del content[at:]
    else:
        content[at] ^= 1 << draw.randrange(8)
    path.write_bytes(content)

    for dataset_id in (1, 2):
        assert found(UnconvertedRows(), segment, ["utf8"], dataset_id) == whole(segment, ["utf8"], dataset_id)


def test_record_whose_sync_failed_has_no_checksums(
    committer: Committer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a power failure may tear must be verified whole: checksums say that a record was synced."""
    append(committer, [0, 1])
    written = staged(tmp_path).size

    def fail(fd: int) -> None:
        raise OSError("no sync")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fail)
        patched.setattr(os, "ftruncate", lambda *_: None)
        with pytest.raises(Exception, match="could not be written"):
            append(committer, [5])
    committer.close()

    segment = staged(tmp_path)
    assert segment.size > written
    assert [each.end for each in checked(segment)][-1] == written


def test_checksums_are_of_what_was_acknowledged_not_of_what_is_read(committer: Committer, tmp_path: Path) -> None:
    """Damage between the sync and the gathering is not taken for the record."""
    append(committer, [0])
    content = bytearray(Path(staged(tmp_path).path).read_bytes())
    content[-16] ^= 1
    with open(staged(tmp_path).path, "r+b") as file:
        file.write(content)
    committer.close()

    assert len(checked(staged(tmp_path))) == 1
    assert found(UnconvertedRows(), staged(tmp_path), NAMES[-1:]) == []


def test_header_is_no_part_of_a_column(segment: SegmentRef) -> None:
    """The index has read it; what it says of a range that is gathered is in the range, under its checksum."""
    location = [each for each in checked(segment) if each.gathered is None][5]
    expected = whole(segment, ["utf8"])
    with open(segment.path, "r+b") as file:
        file.seek(location.start)
        file.write(bytes(HEADER_BYTES))

    assert found(UnconvertedRows(), segment, ["utf8"]) == expected
