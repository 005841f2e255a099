"""The binary encoding of Avro, as far as manifests need it, and files of it.

fastavro writes records that are dictionaries; for the many small maps of a manifest it takes four times as long to make
and to walk those as to write their bytes. Source: Apache Avro 1.12 specification, "Binary Encoding" and "Object
Container Files".
"""

import io
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import fastavro

CODEC: Final = "deflate"
# Compression beyond the first level takes three times as long for a tenth less.
CODEC_LEVEL: Final = 1
SYNC_MARKER: Final = b"weir sync marker"
END: Final = b"\0"
# Of a union of null and another type.
NOT_NULL: Final = b"\x02"


@lru_cache(65_536)
def encode_long(value: int) -> bytes:
    """An int or a long: zigzag, then seven bits a byte, the lowest first.

    >>> encode_long(0), encode_long(-1), encode_long(64)
    (b'\\x00', b'\\x01', b'\\x80\\x01')
    """
    left, found = value << 1 ^ value >> 63, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def encode_bytes(value: bytes) -> bytes:
    """Bytes, or the UTF-8 of a string."""
    return encode_long(len(value)) + value


def encode_array(items: Sequence[bytes]) -> bytes:
    """Encoded items, in one block."""
    return encode_long(len(items)) + b"".join(items) + END if items else END


def container(schema: Any, records: Sequence[bytes], metadata: Mapping[str, str]) -> bytes:
    """The file of encoded records, in one block. The same content has the same bytes."""
    compressor = zlib.compressobj(CODEC_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = compressor.compress(b"".join(records)) + compressor.flush()
    return write(schema, (), metadata) + encode_long(len(records)) + encode_bytes(block) + SYNC_MARKER


def write(schema: Any, records: Sequence[Any], metadata: Mapping[str, str]) -> bytes:
    """The file of records that are dictionaries."""
    content = io.BytesIO()
    fastavro.writer(
        content,
        schema,
        records,
        codec=CODEC,
        codec_compression_level=CODEC_LEVEL,
        metadata=dict(metadata),
        sync_marker=SYNC_MARKER,
    )
    return content.getvalue()
