"""What remote read answers, read: whole messages, and streamed frames of XOR chunks (prompb/remote.proto)."""

import struct
from collections.abc import Iterator

import cramjam

from ingest.proto.building import message_classes
from query.metrics.crc32c import crc32c

Series = dict[tuple[tuple[str, str], ...], list[tuple[int, float]]]
_MESSAGES = message_classes(
    "prometheus.answers",
    """
message ReadResponse {
  repeated QueryResult results = 1;
}
message QueryResult {
  repeated TimeSeries timeseries = 1;
}
message TimeSeries {
  repeated Label labels = 1;
  repeated Sample samples = 2;
}
message Label {
  string name = 1;
  string value = 2;
}
message Sample {
  double value = 1;
  int64 timestamp = 2;
}
message ChunkedReadResponse {
  repeated ChunkedSeries chunked_series = 1;
  int64 query_index = 2;
}
message ChunkedSeries {
  repeated Label labels = 1;
  repeated Chunk chunks = 2;
}
message Chunk {
  int64 min_time_ms = 1;
  int64 max_time_ms = 2;
  int32 type = 3;
  bytes data = 4;
}
""",
)


def read_samples(body: bytes) -> Series:
    response = _MESSAGES["ReadResponse"].FromString(bytes(cramjam.snappy.decompress_raw(body)))
    (result,) = response.results
    return {
        tuple((label.name, label.value) for label in each.labels): [(one.timestamp, one.value) for one in each.samples]
        for each in result.timeseries
    }


def read_chunks(body: bytes) -> Series:
    found: Series = {}
    for frame in _frames(body):
        for each in _MESSAGES["ChunkedReadResponse"].FromString(frame).chunked_series:
            points = found.setdefault(tuple((label.name, label.value) for label in each.labels), [])
            for chunk in each.chunks:
                points += decoded(chunk.data)
    return found


def _frames(body: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(body):
        size = shift = 0
        while True:
            byte = body[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        (checksum,) = struct.unpack(">I", body[at : at + 4])
        frame = body[at + 4 : at + 4 + size]
        assert crc32c(frame) == checksum
        yield frame
        at += 4 + size


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


def chunk_kinds(body: bytes) -> list[tuple[int, int, int]]:
    """Encoding, first and last time of every chunk."""
    series = [
        each for frame in _frames(body) for each in _MESSAGES["ChunkedReadResponse"].FromString(frame).chunked_series
    ]
    return [(chunk.type, chunk.min_time_ms, chunk.max_time_ms) for each in series for chunk in each.chunks]
