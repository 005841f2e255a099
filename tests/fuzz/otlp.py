"""OTLP bodies: the first byte chooses the signal and the encoding, the rest is the body."""

from contextlib import suppress

from errors import WeirError
from ingest.otlp import logs, metrics, traces

SIGNALS = (logs, metrics, traces)
TYPES = ("application/x-protobuf", "application/json")
WORDS = (
    b"\x0a",
    b"\x12",
    b"\xff\xff\xff\xff\x0f",
    b"\x00",
    b'"resourceLogs":',
    b'"intValue":',
    b"{}",
    b"[]",
    b"\x08\x01",
)


def feed(data: bytes) -> None:
    """Columns are as long as the batch is high."""
    choice, body = data[:1] or b"\0", data[1:]
    signal, media_type = SIGNALS[choice[0] % 3], TYPES[choice[0] // 3 % 2]
    with suppress(WeirError):
        batch = signal.decode(body, media_type).batch
        assert {len(values) for values in batch.columns} <= {batch.height}
