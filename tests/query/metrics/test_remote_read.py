"""XOR chunks and checksums of remote read, against Prometheus' own bytes (tsdb/chunkenc/xor.go; RFC 3720)."""

import struct

import pytest

from query.metrics.crc32c import crc32c
from query.metrics.xor_chunk import encode_chunk
from tests.promql.remote_read_reader import decoded


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
