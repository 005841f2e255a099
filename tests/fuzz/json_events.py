"""JSON bodies as ingestion decodes them, one by one and together."""

from contextlib import suppress

from errors import WeirError
from ingest.json import batch_decoding
from ingest.json.decoding import decode

WORDS = (
    b'{"a":',
    b"[",
    b"]",
    b"}",
    b",",
    b"\\u0000",
    b"\\ud800",
    b"1e999",
    b"-0",
    b'"*"',
    b'""',
    b"null",
    b"\n",
    b"9" * 30,
)


def feed(data: bytes) -> None:
    """A batch has as many rows as each of its columns, and what is stored together is what is stored alone."""
    with suppress(WeirError):
        batch = decode(data)
        assert {len(values) for values in batch.columns} <= {batch.height}
        with suppress(batch_decoding.NotTogether, WeirError):
            together, counts = batch_decoding.decode([data, data], max_columns=1000)
            assert together.height == sum(counts) == 2 * batch.height
