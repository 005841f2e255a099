"""Series as remote read answers them: whole messages of samples, or a stream of XOR chunks (prompb/remote.proto).

Messages are written by hand: a query process has no protobuf library, and these have few fields.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from promql.histogram import Hint, Histogram
from promql.labels import Labels
from promql.series import Samples
from query.metrics.crc32c import crc32c
from query.metrics.histogram_chunk import encode_histograms, is_continued, spans
from query.metrics.xor_chunk import encode_chunk

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_DOUBLE: Final = struct.Struct("<d")
# The NaN by which Prometheus says that a series has ended.
_STALE: Final = bytes.fromhex("020000000000f07f")
_HINTS: Final = {Hint.UNKNOWN: 0, Hint.RESET: 1, Hint.NOT_RESET: 2, Hint.GAUGE: 3}
# As many as Prometheus cuts its own chunks at.
_SAMPLES_PER_CHUNK: Final = 120
_XOR, _FLOAT_HISTOGRAM = 1, 3


def query_result(samples: Samples) -> bytes:
    """`prometheus.QueryResult`."""
    return b"".join(_field(1, _time_series(samples, row)) for row in _filled(samples))


def read_response(results: Iterable[bytes]) -> bytes:
    """`prometheus.ReadResponse`."""
    return b"".join(_field(1, result) for result in results)


def streamed(samples: Samples, index: int) -> Iterator[bytes]:
    """A frame of `prometheus.ChunkedReadResponse` for each series: its size, its CRC-32C, the message."""
    for row in _filled(samples):
        message = _field(1, _chunked_series(samples, row)) + _integer(2, index)
        yield _varint(len(message)) + struct.pack(">I", crc32c(message)) + message


def _filled(samples: Samples) -> Iterator[int]:
    return (row for row in range(len(samples.labels)) if samples.starts[row] < samples.starts[row + 1])


def _time_series(samples: Samples, row: int) -> bytes:
    parts = [_labels(samples.labels[row])]
    for at in range(int(samples.starts[row]), int(samples.starts[row + 1])):
        found = None if samples.histograms is None else samples.histograms[at]
        time = int(samples.times[at])
        if isinstance(found, Histogram):
            parts.append(_field(4, _histogram(found, time)))
        else:
            parts.append(_field(2, _sample_value(samples, at) + _integer(2, time)))
    return b"".join(parts)


def _value(samples: Samples, at: int) -> bytes:
    is_stale = samples.stale is not None and samples.stale[at]
    return _STALE if is_stale else _DOUBLE.pack(float(samples.values[at]))


def _sample_value(samples: Samples, at: int) -> bytes:
    """Zero is what a missing field means, so Prometheus leaves it out, and minus zero with it."""
    value = _value(samples, at)
    return b"" if _DOUBLE.unpack(value)[0] == 0 else b"\x09" + value


def _labels(labels: Labels) -> bytes:
    return b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in labels)


def _histogram(histogram: Histogram, time: int) -> bytes:
    """`prometheus.Histogram` of floats."""
    parts = [_double(2, histogram.count), _double(3, histogram.sum), _integer(4, _zigzag(histogram.schema))]
    if histogram.is_custom:
        parts.append(_field(16, b"".join(map(_DOUBLE.pack, histogram.custom))))
    else:
        parts += [_double(5, histogram.zero_threshold), _double(7, histogram.zero_count)]
    for buckets, span, counts in ((histogram.negative, 8, 10), (histogram.positive, 11, 13)):
        parts += [_field(span, _integer(1, _zigzag(offset)) + _integer(2, length)) for offset, length in spans(buckets)]
        parts.append(_field(counts, b"".join(_DOUBLE.pack(buckets[index]) for index in sorted(buckets))))
    return b"".join(parts) + _integer(14, _HINTS[histogram.hint]) + _integer(15, time)


def _chunked_series(samples: Samples, row: int) -> bytes:
    parts = [_labels(samples.labels[row])]
    for start, end in _chunk_bounds(samples, int(samples.starts[row]), int(samples.starts[row + 1])):
        parts.append(_field(2, _chunk(samples, start, end)))
    return b"".join(parts)


def _chunk_bounds(samples: Samples, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What lies in one chunk: floats, or histograms of which each continues the one before it."""
    first = start
    for at in range(start + 1, end):
        if at - first == _SAMPLES_PER_CHUNK or not _is_continued(
            _histogram_at(samples, at - 1), _histogram_at(samples, at)
        ):
            yield first, at
            first = at
    yield first, end


def _is_continued(before: Histogram | None, histogram: Histogram | None) -> bool:
    if before is None or histogram is None:
        return before is histogram
    return is_continued(before, histogram)


def _histogram_at(samples: Samples, at: int) -> Histogram | None:
    return None if samples.histograms is None else samples.histograms[at]


def _chunk(samples: Samples, start: int, end: int) -> bytes:
    times = [int(each) for each in samples.times[start:end]]
    histograms = [each for at in range(start, end) if (each := _histogram_at(samples, at)) is not None]
    if histograms:
        kind, data = _FLOAT_HISTOGRAM, encode_histograms(times, histograms)
    else:
        bits = [int.from_bytes(_value(samples, at), "little") for at in range(start, end)]
        kind, data = _XOR, encode_chunk(times, bits)
    return _integer(1, times[0]) + _integer(2, times[-1]) + _integer(3, kind) + _field(4, data)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value & (2**64 - 1)) if value else b""


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | _FIXED64) + _DOUBLE.pack(value)


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 63) & (2**64 - 1)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
