"""Chunks of native histograms, against the bytes that Prometheus 3.14.0 answers for the same samples in remote read
(tsdb/chunkenc/float_histogram.go)."""

import math

import pytest

from promql.histogram import CUSTOM, Hint, Histogram
from promql.series import Samples
from promql.tree import Matcher
from query.metrics.histogram_chunk import encode_histograms, is_continued
from query.metrics.remote_read import streamed
from tests.promql.memory_source import MemorySource
from tests.promql.remote_read_reader import chunk_kinds

START = 1_795_399_000_000
EXPONENTIAL = (
    "000400749ca558e16328ff0000d1030f4fe020110000000000001ff800000000000060000000000000001ff80000000000002000000000000000"
    "20000000000000001ff80000000000001ff00000000000007c1d4c6c0ee12fffe12bff6c07b01939ec0780c8016b0bd6166eb587f585e137ffad"
    "a0f68300"
)
CUSTOM_BOUNDS = (
    "00040000ee5ce48c63155800800000000000161ff2aaaaaaaaaaaaf8fa481d0d40000000001fc0003440c3d3f80803000000000000000000"
    "000000000017fe00000000000007fe000000000000080000000000000007fe00000000000008000000000000001f07531a83ed60f097ffcd"
    "80e7b41b56daaaaaaaaaaaaaec066b0bf8d2ead81685555555555555d6166d06"
)
GAUGE = (
    "0002c0ff3f50624dd2f1a9fc1fc0003440c3d3f8080000000000000008000000000000000fff0000000000001f0138984bfff84bfff88affc0"
)


def exponential(step: int) -> Histogram:
    return Histogram(
        schema=3,
        count=9 + 3 * step,
        sum=1.5 * step - 2,
        zero_threshold=2.0**-128,
        zero_count=1.0 + step,
        positive={-3: 1.0, -2: 2.0 + step, 4: 2.0 + step},
        negative={1: 1.0, 2: 0.5},
    )


def custom(step: int) -> Histogram:
    return Histogram(
        schema=CUSTOM,
        count=6.0 + 2 * step,
        sum=-1.0 / (step + 1),
        custom=(-2.5, 0.005, 2.0 / 3, 1.0, 50_000.0),
        positive={0: 1.0 + step, 1: 2.0, 3: 1.0, 5: 2.0 + step},
    )


def gauge(count: float, total: float) -> Histogram:
    return Histogram(count=count, sum=total, zero_threshold=0.001, zero_count=count, hint=Hint.GAUGE)


@pytest.mark.parametrize(
    ("times", "histograms", "expected"),
    [
        ([0, 15_000, 30_003, 45_000], [exponential(step) for step in range(4)], EXPONENTIAL),
        ([0, 15_000, 30_003, 99_000], [custom(step) for step in range(4)], CUSTOM_BOUNDS),
        ([0, 2_500], [gauge(2.0, math.nan), gauge(1.0, 3.0)], GAUGE),
    ],
    ids=["exponential", "custom bounds", "gauge"],
)
def test_bytes_are_prometheus(times: list[int], histograms: list[Histogram], expected: str):
    chunk = encode_histograms([START + time for time in times], histograms)

    assert chunk.hex() == expected


@pytest.mark.parametrize(
    ("histogram", "expected"),
    [
        (Histogram(count=3.0, positive={1: 3.0}), True),
        (Histogram(count=4.0, positive={1: 2.0, 2: 2.0}), True),
        (Histogram(count=1.0, positive={1: 1.0}), False),
        (Histogram(count=3.0, positive={2: 3.0}), False),
        (Histogram(count=3.0, positive={1: 3.0}, zero_threshold=0.5), False),
        (Histogram(schema=1, count=3.0, positive={1: 3.0}), False),
        (Histogram(count=3.0, positive={1: 3.0}, hint=Hint.RESET), False),
        (Histogram(count=3.0, positive={1: 3.0}, hint=Hint.GAUGE), False),
    ],
    ids=["more", "another bucket", "less", "a bucket gone", "threshold", "schema", "said to be reset", "gauge"],
)
def test_chunk_ends_where_a_reader_would_miss_a_reset(histogram: Histogram, expected: bool):
    """What follows the first histogram of a chunk is read as not reset (histogram_meta.go, counterResetHint)."""
    assert is_continued(Histogram(count=2.0, positive={1: 2.0}), histogram) is expected


def mixed() -> Samples:
    source = MemorySource()
    labels = (("__name__", "mixed"),)
    values = [1.0, 2.0, exponential(0), exponential(1), exponential(0), 3.0]
    for at, value in enumerate(values):
        source.add(labels, at * 1000, value)
    return source.select((Matcher("__name__", "=", "mixed"),), 0, 9_000)


def test_floats_and_histograms_have_chunks_of_their_own():
    """prompb/types.proto, Chunk.Encoding: 1 is XOR, 3 is FLOAT_HISTOGRAM."""
    found = chunk_kinds(b"".join(streamed(mixed(), 0)))

    assert found == [(1, 0, 1_000), (3, 2_000, 3_000), (3, 4_000, 4_000), (1, 5_000, 5_000)]
