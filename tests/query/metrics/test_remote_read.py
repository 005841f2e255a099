"""XOR chunks and checksums of remote read, against Prometheus' own bytes (tsdb/chunkenc/xor.go; RFC 3720)."""

import struct

import pytest

from query.metrics.crc32c import crc32c
from query.metrics.xor_chunk import encode_chunk


def decoded(chunk: bytes) -> list[tuple[int, float]]:
    """A reader after tsdb/chunkenc/xor.go, for what the writer wrote."""
    count = int.from_bytes(chunk[:2], "big")
    bits = "".join(f"{byte:08b}" for byte in chunk[2:])
    at = 0

    def take(size: int) -> int:
        nonlocal at
        at += size
        return int(bits[at - size : at], 2) if size else 0

    def varint() -> int:
        shift = value = 0
        while True:
            byte = take(8)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    first = varint()
    time, value = first >> 1 ^ -(first & 1), take(64)
    found, delta, leading, trailing = [(time, value)], 0, 0, 0
    for position in range(1, count):
        if position == 1:
            delta = varint()
        else:
            ones = 0
            while ones < 4 and take(1):
                ones += 1
            size = (0, 14, 17, 20, 64)[ones]
            raw = take(size)
            delta += raw - (1 << size) if size and raw > 1 << size - 1 else raw
        time += delta
        if take(1):
            if take(1):
                leading, significant = take(5), take(6) or 64
                trailing = 64 - leading - significant
            value ^= take(64 - leading - trailing) << trailing
        found.append((time, value))
    return [(time, struct.unpack(">d", value.to_bytes(8, "big"))[0]) for time, value in found]


def bits_of(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


@pytest.mark.parametrize(
    "samples",
    [
        [(1_795_000_000_000, 1.0)],
        [(0, 0.0), (15_000, 0.0), (30_000, 0.0)],
        [(-5, 1.5), (10, -2.25), (9_000_000, 1e300), (9_000_001, 5e-324), (99_000_000_000, -0.0)],
        [(15_000 * n + n % 7, float(n * n) / 3) for n in range(120)],
    ],
    ids=["one", "constant", "extremes", "many"],
)
def test_chunk_is_read_back(samples: list[tuple[int, float]]):
    chunk = encode_chunk([time for time, _ in samples], [bits_of(value) for _, value in samples])

    assert decoded(chunk) == samples


def test_checksum_is_castagnolis():
    """RFC 3720, appendix B.4: 32 bytes of zeros."""
    assert crc32c(bytes(32)) == 0x8A9136AA
