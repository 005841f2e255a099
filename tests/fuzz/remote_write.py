"""Remote-write bodies without their compression: the first byte chooses the version, the rest is the message."""

from contextlib import suppress

from errors import WeirError
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.decoding import decode

TYPES = ("application/x-protobuf", "application/x-protobuf;proto=io.prometheus.write.v2.Request")
WORDS = (b"\x0a", b"\x12", b"__name__", b"\xff\xff\xff\xff\x0f", b"\x00", b"\x22\x00")


def feed(data: bytes) -> None:
    """A body that was taken is taken again, by the faster way for known series, with as many rows."""
    choice, body = data[:1] or b"\0", data[1:]
    catalogue = Catalogue()
    heights = []
    with suppress(WeirError):
        for _ in range(2):
            batch = decode(body, TYPES[choice[0] % 2], catalogue=catalogue).batch
            assert {len(values) for values in batch.columns} <= {batch.height}
            heights.append(batch.height)
    assert len(set(heights)) <= 1
