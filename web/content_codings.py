"""Content codings: bytes as sent to bytes as meant, never more of them than allowed. Pure.

Each decoder takes the body and the largest size it may come to, stops there with TooLarge, and never holds more than
that in memory, whatever the body says of its own size. A body that breaks off is refused, not decoded in part.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NoReturn

import cramjam
from isal import isal_zlib

from errors import InvalidBody, TooLarge, UnsupportedMedia

Decoder = Callable[[bytes, int], bytes]

PIECE_BYTES: Final = 64 * 1024
"""What the inflater is fed at a time; it copies what it did not use."""

MAX_MEMBERS: Final = 10_000
"""Members of one gzip body. A body of empty members would otherwise cost seconds per MiB."""

MAX_CODINGS: Final = 4
"""Codings of one body. Nobody sends more than one on purpose; each layer multiplies what a small body can cost."""

_SNAPPY_FRAMES: Final = b"\xff\x06\x00\x00sNaPpY"
_KNOWN_FLAGS: Final = b"\x1f"
_GZIP: Final = 16 + isal_zlib.MAX_WBITS
_RAW_DEFLATE: Final = -isal_zlib.MAX_WBITS


def parse(header: str | None) -> tuple[str, ...]:
    """The codings of a Content-Encoding header in the order they were applied. Raises UnsupportedMedia.

    >>> parse("gzip, identity")
    ('gzip',)
    """
    codings = tuple(
        name for part in (header or "").split(",") if (name := part.strip().lower()) not in ("", "identity")
    )
    if len(codings) > MAX_CODINGS:
        raise UnsupportedMedia(f"{len(codings)} content codings, at most {MAX_CODINGS} are taken")
    for coding in codings:
        if coding not in DECODERS:
            known = ", ".join(sorted(DECODERS))
            raise UnsupportedMedia(f"content coding {coding[:40]!r} is not supported; these are: identity, {known}")
    return codings


def decode(body: bytes, codings: Sequence[str], limit: int) -> bytes:
    """`body` without its codings, the last applied taken off first. Raises TooLarge, InvalidBody."""
    for coding in reversed(codings):
        body = DECODERS[coding](body, limit)
    if len(body) > limit:
        _refuse_size(limit)
    return body


def gunzip(body: bytes, limit: int) -> bytes:
    """One gzip member or several behind each other (RFC 1952 section 2.2), zero padding after them ignored."""
    pieces: list[bytes] = []
    position = size = members = 0
    end = len(body.rstrip(b"\0"))  # less than a member may end with, which only matters behind the last one
    while position == 0 or position < end:
        members += 1
        if members > MAX_MEMBERS:
            raise InvalidBody(f"the gzip body has more than {MAX_MEMBERS} members", limit=MAX_MEMBERS)
        if body[position + 3 : position + 4] > _KNOWN_FLAGS:
            raise InvalidBody("the gzip body has flags that nobody has given a meaning")
        piece, position = _inflate(body, position, _GZIP, limit - size)
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def inflate(body: bytes, limit: int) -> bytes:
    """`deflate` is the zlib format (RFC 9110 section 8.4.1.2); some senders leave its header out."""
    data, end = _inflate(body, 0, isal_zlib.MAX_WBITS if has_zlib_header(body) else _RAW_DEFLATE, limit)
    if end != len(body):
        raise InvalidBody("the deflate body goes on after its end")
    return data


def has_zlib_header(body: bytes) -> bool:
    """Whether the body begins as the zlib format does (RFC 1950 section 2.2)."""
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0


def _inflate(body: bytes, start: int, window: int, limit: int) -> tuple[bytes, int]:
    """One zlib stream from `start`, and where it ends."""
    stream = isal_zlib.decompressobj(window)
    view = memoryview(body)
    pieces: list[bytes] = []
    size, position = 0, start
    while not stream.eof:
        data = bytes(stream.unconsumed_tail) or view[position : position + PIECE_BYTES]
        if not stream.unconsumed_tail:
            position += len(data)
        try:
            piece = stream.decompress(data, limit - size + 1)
        except isal_zlib.error as error:  # type: ignore[misc]  # its stub takes the class for an instance
            raise InvalidBody(f"the compressed body is broken: {error}") from error
        size += len(piece)
        if size > limit:
            _refuse_size(limit)
        if not data and not piece and not stream.eof:
            raise InvalidBody("the compressed body ends early")
        pieces.append(piece)
    return b"".join(pieces), position - len(stream.unused_data)


def unzstd(body: bytes, limit: int) -> bytes:
    """One zstd frame or several."""
    if not body:
        raise InvalidBody("the zstd body is empty")
    return _grown(cramjam.zstd.decompress_into, "zstd", body, limit)


def unlz4(body: bytes, limit: int) -> bytes:
    """The frame format, one frame or several, as the OpenTelemetry Collector sends it."""
    if not body:
        raise InvalidBody("the lz4 body is empty")
    return _grown(cramjam.lz4.decompress_into, "lz4", body, limit)


def unsnappy_framed(body: bytes, limit: int) -> bytes:
    """The framing format (x-snappy-framed). It has no end mark: what is lost behind a chunk, only HTTP can tell."""
    if not body.startswith(_SNAPPY_FRAMES):
        raise InvalidBody("the body is not in snappy's framing format")
    return _grown(cramjam.snappy.decompress_into, "framed snappy", body, limit)


def _grown(decompress_into: Callable[[bytes, bytearray], int], name: str, body: bytes, limit: int) -> bytes:
    """The library wants the room for the result first; it gets more only if it fills it."""
    room = min(limit, max(PIECE_BYTES, 8 * len(body)))
    while True:
        target = bytearray(room)
        try:
            return bytes(memoryview(target)[: decompress_into(body, target)])
        except cramjam.DecompressionError as error:
            if "failed to write whole buffer" not in str(error):
                raise InvalidBody(f"the {name} body is broken: {error}") from error
        if room == limit:
            _refuse_size(limit)
        room = min(limit, 4 * room)


def unsnappy(body: bytes, limit: int) -> bytes:
    """The block format, as Prometheus and Fluent Bit send it; its first bytes say the size of the result."""
    if body.startswith(_SNAPPY_FRAMES):
        raise InvalidBody("the body is in snappy's framing format: send it as x-snappy-framed")
    try:
        if cramjam.snappy.decompress_raw_len(body) > limit:
            _refuse_size(limit)
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise InvalidBody(f"the snappy body is broken: {error}") from error


def _refuse_size(limit: int) -> NoReturn:
    raise TooLarge(f"the body is larger than {limit} bytes after decompression", limit=limit)


DECODERS: Final[Mapping[str, Decoder]] = MappingProxyType(
    {
        "gzip": gunzip,
        "x-gzip": gunzip,
        "deflate": inflate,
        "zlib": inflate,  # as the OpenTelemetry Collector calls it
        "zstd": unzstd,
        "snappy": unsnappy,
        "x-snappy-framed": unsnappy_framed,
        "lz4": unlz4,
    }
)
