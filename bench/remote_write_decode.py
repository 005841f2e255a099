"""Remote-write samples per second, one core: the warm catalogue against a dict per sample, in one run.

    python -m bench.remote_write_decode

10,000 series of 6 labels, one sample each, a third of them 0, as Prometheus sends them. "Framed" is decompressed,
decoded and written as an Arrow IPC stream.
"""

import io
import random

import cramjam
import polars as pl

from bench.otlp_decode import best_seconds
from columns import Batch
from ingest.proto.remote_write import WriteRequest
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.decoding import decode
from ingest.remote_write.plain import decode_version_1

SAMPLES = 10_000
CONTENT_TYPE = "application/x-protobuf"


def payload(samples: int = SAMPLES, first: int = 0) -> bytes:
    rng = random.Random(1)
    request = WriteRequest()
    for number in range(first, first + samples):
        series = request.timeseries.add()
        labels = {
            "__name__": rng.choice(("http_requests_total", "node_cpu_seconds_total", "go_gc_duration_seconds")),
            "cluster": "eu-1",
            "cpu": str(number % 64),
            "instance": f"10.0.{number}.1:9100",
            "job": "node",
            "mode": rng.choice(("idle", "user", "sys")),
        }
        for name, value in labels.items():
            series.labels.add(name=name, value=value)
        series.samples.add(value=rng.random() * 1e6 if number % 3 else 0.0, timestamp=1_795_000_000_000 + number)
    return request.SerializeToString()


def rows_of_dicts(body: bytes) -> pl.DataFrame:
    """What everybody writes first."""
    rows = []
    for series in WriteRequest.FromString(body).timeseries:
        labels = {label.name: label.value for label in series.labels}
        for sample in series.samples:
            rows.append({**labels, "data_point_value": sample.value, "time_unix_nano": sample.timestamp * 1_000_000})
    return pl.DataFrame(rows, infer_schema_length=None)


def write(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def frame_of(batch: Batch) -> pl.DataFrame:
    return pl.DataFrame(list(batch.columns))


def main() -> None:
    body = payload()
    block = cramjam.snappy.compress_raw(body)
    warm, large = Catalogue(), Catalogue()
    for first in range(0, 100_000, SAMPLES):
        decode(payload(first=first), CONTENT_TYPE, catalogue=large)

    def framed(catalogue: Catalogue) -> bytes:
        return write(
            frame_of(decode(bytes(cramjam.snappy.decompress_raw(block)), CONTENT_TYPE, catalogue=catalogue).batch)
        )

    strangers = iter(range(10**6, 10**9, 10))

    def with_strangers() -> object:
        return decode(body + payload(10, next(strangers)), CONTENT_TYPE, catalogue=large)

    cases = {
        "rows of dicts, framed": best_seconds(
            lambda: write(rows_of_dicts(bytes(cramjam.snappy.decompress_raw(block))))
        ),
        "warm, framed": best_seconds(lambda: framed(warm)),
        "rows of dicts": best_seconds(lambda: rows_of_dicts(body)),
        "plain": best_seconds(lambda: decode_version_1(body, 1000)),
        "cold": best_seconds(lambda: decode(body, CONTENT_TYPE, catalogue=Catalogue())),
        "warm": best_seconds(lambda: decode(body, CONTENT_TYPE, catalogue=warm)),
        "warm, 100,000 series known": best_seconds(lambda: decode(body, CONTENT_TYPE, catalogue=large)),
        "the same, 10 new each time": best_seconds(with_strangers),
    }
    print(f"{SAMPLES} samples, {len(body):,} bytes, {len(block):,} compressed")
    yardstick = cases["rows of dicts, framed"]
    for name, seconds in cases.items():
        ratio = (yardstick if "framed" in name else cases["rows of dicts"]) / seconds
        print(f"{name:28} {seconds * 1e3:8.2f} ms {SAMPLES / seconds:12,.0f} samples/s {ratio:6.1f} x")


if __name__ == "__main__":
    main()
