"""Content codings: what clients send decodes, bombs and broken bodies are refused at the limit."""

import gzip
import tracemalloc
import zlib

import cramjam
import pytest

from errors import InvalidBody, TooLarge, UnsupportedMedia
from web import content_codings

MIB = 1024 * 1024
TEXT = b'{"level":"info","message":"hello"}\n' * 2000
RAW_DEFLATE = zlib.compress(TEXT, wbits=-15)
ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "zlib": zlib.compress,
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "x-snappy-framed": lambda data: bytes(cramjam.snappy.compress(data)) or b"\xff\x06\x00\x00sNaPpY",
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
}


def zeros(coding: str, size: int) -> bytes:
    """A body of `size` zero bytes."""
    if coding == "zstd":
        compressor = cramjam.zstd.Compressor()
        for _ in range(size // MIB):
            compressor.compress(bytes(MIB))
        return bytes(compressor.finish())
    return ENCODERS[coding](bytes(size))


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("data", [b"", b"{}", TEXT], ids=["empty", "small", "long"])
def test_body_decodes(coding, data):
    assert content_codings.decode(ENCODERS[coding](data), [coding], MIB) == data


@pytest.mark.parametrize(
    ("coding", "body", "data"),
    [
        pytest.param("gzip", gzip.compress(TEXT) + gzip.compress(b"{}"), TEXT + b"{}", id="gzip members"),
        pytest.param("gzip", gzip.compress(b"{}") + bytes(100), b"{}", id="gzip padding"),
        pytest.param("gzip", gzip.compress(b"") * 3 + gzip.compress(b"{}"), b"{}", id="empty gzip members"),
        pytest.param("x-gzip", gzip.compress(b"{}"), b"{}", id="old name"),
        pytest.param("deflate", RAW_DEFLATE, TEXT, id="deflate without header"),
        pytest.param("lz4", ENCODERS["lz4"](TEXT) + ENCODERS["lz4"](b"{}"), TEXT + b"{}", id="lz4 frames"),
        pytest.param("zstd", ENCODERS["zstd"](TEXT) + ENCODERS["zstd"](b"{}"), TEXT + b"{}", id="zstd frames"),
    ],
)
def test_variants_that_clients_send_decode(coding, body, data):
    assert content_codings.decode(body, [coding], MIB) == data


def test_several_codings_come_off_in_reverse():
    body = ENCODERS["zstd"](gzip.compress(TEXT))

    assert content_codings.decode(body, content_codings.parse("gzip, zstd"), MIB) == TEXT


@pytest.mark.parametrize(
    ("header", "names"),
    [(None, ()), ("", ()), ("identity", ()), (" GZIP ", ("gzip",)), ("gzip,identity , deflate", ("gzip", "deflate"))],
)
def test_header_names_codings(header, names):
    assert content_codings.parse(header) == names


@pytest.mark.parametrize("header", ["br", "compress", "gzip, br", "gzip;q=1", "aws-chunked", ",".join(["gzip"] * 5)])
def test_unknown_coding_is_unsupported(header):
    with pytest.raises(UnsupportedMedia):
        content_codings.parse(header)


@pytest.mark.parametrize("at", [3, -8, -4], ids=["flags", "checksum", "size"])
def test_a_gzip_body_is_held_to_what_it_says_of_itself(at):
    """Flags without a meaning are an error (RFC 1952 section 2.3.1.2), and so is other data than was compressed."""
    body = bytearray(gzip.compress(TEXT))
    body[at] ^= 0x40

    for sent in (bytes(body), gzip.compress(b"") + body):
        with pytest.raises(InvalidBody):
            content_codings.decode(sent, ["gzip"], MIB)


@pytest.mark.parametrize("coding", ENCODERS)
def test_exactly_the_limit_is_accepted(coding):
    assert len(content_codings.decode(zeros(coding, MIB), [coding], MIB)) == MIB


@pytest.mark.parametrize("coding", ENCODERS)
def test_one_byte_over_the_limit_is_refused(coding):
    with pytest.raises(TooLarge) as refused:
        content_codings.decode(ENCODERS[coding](bytes(MIB + 1)), [coding], MIB)

    assert refused.value.details["limit"] == MIB


@pytest.mark.parametrize("coding", ENCODERS)
def test_bomb_is_refused_without_holding_more_than_the_limit(coding):
    """Snappy compresses no better than 21 to 1, so its bomb is only as large as that."""
    body = zeros(coding, 64 * MIB)

    tracemalloc.start()
    with pytest.raises(TooLarge):
        content_codings.decode(body, [coding], 2 * MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 6 * MIB


def test_bomb_in_a_bomb_is_refused():
    with pytest.raises(TooLarge):
        content_codings.decode(gzip.compress(gzip.compress(bytes(64 * MIB))), ["gzip", "gzip"], MIB)


def test_bomb_of_many_members_is_refused():
    with pytest.raises(TooLarge):
        content_codings.decode(gzip.compress(bytes(MIB // 2)) * 3, ["gzip"], MIB)


def test_too_many_empty_members_are_refused():
    with pytest.raises(InvalidBody):
        content_codings.decode(gzip.compress(b"") * 20_000, ["gzip"], MIB)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xff\xff\xff\x0f" + b"x" * 50, id="four gigabytes"),
        pytest.param(b"\x80\x80\x80\x01" + b"x" * 50, id="just over"),
    ],
)
def test_lying_snappy_length_is_refused_before_it_is_allocated(body):
    tracemalloc.start()
    with pytest.raises(TooLarge):
        content_codings.decode(body, ["snappy"], MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < MIB


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda body: b"", id="empty"),
        pytest.param(lambda body: body[:-3], id="cut"),
        pytest.param(lambda body: body[: len(body) // 2], id="half"),
        pytest.param(lambda body: b"not compressed at all", id="plain"),
        pytest.param(lambda body: body + b"garbage", id="garbage behind"),
        pytest.param(lambda body: body[:2] + bytes([body[2] ^ 0xFF]) + body[3:-4] + b"\0\0\0\0", id="damaged"),
    ],
)
def test_broken_compression_is_an_invalid_body(coding, spoil):
    with pytest.raises(InvalidBody):
        content_codings.decode(spoil(ENCODERS[coding](TEXT)), [coding], MIB)


def test_framed_snappy_is_an_invalid_body():
    """clients.md section 7: the block format is the one of Prometheus; frames are a client's mistake."""
    with pytest.raises(InvalidBody, match="framing"):
        content_codings.decode(bytes(cramjam.snappy.compress(TEXT)), ["snappy"], MIB)


def test_uncompressed_body_over_the_decoded_limit_is_refused():
    with pytest.raises(TooLarge):
        content_codings.decode(bytes(11), [], 10)


class CountingSlices(bytes):
    """Tells how many bytes were copied out of it."""

    copied = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        self.copied += len(found) if isinstance(found, bytes) else 0
        return found


def test_members_of_a_gzip_body_do_not_copy_the_rest_of_it():
    """Otherwise 9,990 empty members before a rest of 16 MiB take 48 s (docs/security.md, "Costs")."""
    body = CountingSlices(gzip.compress(b"") * 1000 + gzip.compress(b"{}") + bytes(100_000))

    data = content_codings.decode(body, ["gzip"], MIB)

    assert data == b"{}"
    assert body.copied < len(body)
