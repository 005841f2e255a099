"""A frame is read back exactly as written or not at all (architecture section 3, invariant 1)."""

import polars as pl
import pytest

from storage.wal.records import HEADER_BYTES, Record, decode, encode, to_payload, to_rows

SEGMENT = "01J"
FIRST = Record(7, 2, -5, 10, 99, payload=b"first payload", notes=b"note")
SECOND = Record(8, 1, 0, 2**62, 0, payload=b"second")


def written(*frames: Record, segment: str = SEGMENT) -> bytes:
    return b"".join(bytes(buffer) for frame in frames for buffer in encode(frame, segment))


def read(data: bytes, segment: str = SEGMENT) -> list[Record]:
    return [
        Record(f.dataset_id, f.rows, f.tmin, f.tmax, f.body_bytes, bytes(f.payload), bytes(f.notes))
        for f in decode(data, segment)
    ]


def test_frames_are_read_as_they_were_written() -> None:
    assert read(written(FIRST, SECOND)) == [FIRST, SECOND]


@pytest.mark.parametrize("cut", range(len(written(FIRST, SECOND))))
def test_tail_torn_at_any_byte_loses_only_the_frame_it_tears(cut: int) -> None:
    whole = [FIRST] if cut >= FIRST.size else []

    assert read(written(FIRST, SECOND)[:cut]) == whole


@pytest.mark.parametrize("cut", range(len(written(FIRST, SECOND))))
def test_tail_of_zeros_from_any_byte_on_is_no_frame(cut: int) -> None:
    """A file system may extend a file before it writes the data."""
    data = written(FIRST, SECOND)
    torn = data[:cut] + bytes(len(data) - cut + 100)

    assert read(torn) == [
        frame for frame, end in ((FIRST, FIRST.size), (SECOND, len(data))) if torn[:end] == data[:end]
    ]


@pytest.mark.parametrize("bit", range(8 * FIRST.size))
def test_any_flipped_bit_is_noticed(bit: int) -> None:
    data = bytearray(written(FIRST, SECOND))
    data[bit // 8] ^= 1 << bit % 8

    assert read(bytes(data)) == []


def test_frame_of_another_segment_is_no_frame() -> None:
    """Blocks of a deleted segment may turn up in a new one after a crash."""
    assert read(written(FIRST), "01K") == []


def test_empty_frame_is_no_frame() -> None:
    assert read(written(Record(1, 0, 0, 0, 0, payload=b""))) == []


def test_size_is_what_stands_in_the_segment() -> None:
    assert len(written(FIRST)) == FIRST.size == HEADER_BYTES + len(b"first payload") + len(b"note")


def test_rows_survive_as_payload() -> None:
    rows = pl.DataFrame({"x": [1, None], "y": [["a"], []], "z": [None, 1.5]})
    payload = to_payload(rows)

    assert to_rows(Record(1, 2, 0, 0, 0, payload)).equals(rows)
