"""The log as tails read it: ranges, positions, records that are damaged. Real segments in a directory."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import polars as pl
import pytest

from query.tail import log_reader
from query.tail.log_reader import ARRIVAL, BATCH_BYTES, Damaged, LogReader
from query.tail.position import Position, Range, Sealer, mark_of
from storage.names import earliest, made_ms
from storage.wal.records import Record, to_payload
from storage.wal.segments import Segment

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def record(numbers: Sequence[int], dataset_id: int = 1, text: str = "") -> Record:
    rows = pl.DataFrame(
        {ARRIVAL: [BEGIN + timedelta(seconds=number) for number in numbers], "n": list(numbers), "text": text}
    )
    return Record(dataset_id, rows.height, 0, 0, 0, to_payload(rows))


def numbers(reader: LogReader, ranges: Sequence[Range]) -> list[int]:
    parts = reader.read(1, ranges, ["n"])
    return [number for part in parts for number in part.rows["n"].to_list()]


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    return Segment(tmp_path)


def test_records_behind_an_offset_are_read_and_those_of_other_datasets_passed_over(segment: Segment, tmp_path: Path):
    segment.append([record([1]), record([7], dataset_id=2)])
    reader = LogReader(tmp_path)
    reader.refresh()
    offset = reader.segments[segment.name].size
    segment.append([record([8], dataset_id=2), record([2, 3]), record([9], dataset_id=2), record([4])])
    reader.refresh()

    unread = reader.unread(1, {segment.name: offset})

    assert numbers(reader, unread.ranges) == [2, 3, 4]
    assert (unread.rows, unread.is_all) == (3, True)
    assert unread.upto == {segment.name: reader.segments[segment.name].size}


def test_a_batch_is_bounded_and_what_is_left_follows(segment: Segment, tmp_path: Path):
    for number in range(8):
        segment.append([record([number], text="x" * (BATCH_BYTES // 3))])
    reader, found, offset = LogReader(tmp_path), [], 0
    reader.refresh()

    for _ in range(10):
        unread = reader.unread(1, {segment.name: offset})
        assert sum(each.end - each.start for each in unread.ranges) <= BATCH_BYTES
        found += numbers(reader, unread.ranges)
        offset = unread.upto.get(segment.name, offset)

    assert found == list(range(8))


def test_a_record_larger_than_a_batch_is_one_batch(segment: Segment, tmp_path: Path):
    segment.append([record([1], text="x" * (2 * BATCH_BYTES)), record([2])])
    reader = LogReader(tmp_path)
    reader.refresh()

    unread = reader.unread(1, {segment.name: 0})

    assert numbers(reader, unread.ranges) == [1]
    assert not unread.is_all


def test_first_record_that_arrived_since_a_moment(segment: Segment, tmp_path: Path):
    for number in range(20):
        segment.append([record([number])])
    reader = LogReader(tmp_path)
    reader.refresh()
    since = int((BEGIN + timedelta(seconds=15)).timestamp() * 1_000_000)

    offset = reader.first_since(1, reader.segments[segment.name], since)

    assert numbers(reader, reader.unread(1, {segment.name: offset}).ranges) == [15, 16, 17, 18, 19]


def test_a_damaged_record_is_waited_for_and_then_passed_over(
    segment: Segment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Queries stop there too; the events behind it are not to be lost for that."""
    segment.append([record([1])])
    damaged = segment.size
    segment.append([record([2])])
    segment.append([record([3])])
    with open(segment.path, "r+b") as file:
        os.pwrite(file.fileno(), b"\xff", damaged + 100)
    reader = LogReader(tmp_path)
    reader.refresh()
    unread = reader.unread(1, {segment.name: 0})
    with pytest.raises(Damaged):
        reader.read(1, unread.ranges, ["n"])

    before = reader.unread(1, {segment.name: 0})
    monkeypatch.setattr(log_reader, "monotonic", lambda: monotonic() + log_reader.DAMAGE_SECONDS + 1)
    after = reader.unread(1, {segment.name: 0})

    assert numbers(reader, before.ranges) == [1]
    assert numbers(reader, after.ranges) == [1, 3]
    assert after.damaged == 1


def test_positions_come_back_as_they_were_and_from_their_own_key_alone():
    name = earliest(1_795_305_592_123)
    mark, made = mark_of(name), made_ms(name)
    position = Position(made, made - 10_000, {mark: 4096}, {mark: 8192}, b"8 bytes.", 17)
    text = Sealer(bytes(32)).seal(position)

    assert Sealer(bytes(32)).unseal(text) == position
    with pytest.raises(Exception, match="no position"):
        Sealer(b"\1" * 32).unseal(text)


def test_lengths_of_positions_do_not_tell_how_many_segments_there_are():
    sealer = Sealer(bytes(32))
    lengths = {
        count: len(sealer.seal(Position(1, 1, {mark_of(str(number)): number for number in range(count)})))
        for count in range(1, 13)
    }

    assert len(set(lengths.values())) <= 5
