"""Request bodies: read within limits, decompressed, accounted for. Knows nothing of what is in them.

Flask's own `get_data()` is not used for ingestion: with a chunked body above its limit it returns the first part
and no error, which would be silent loss of the rest.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final, NoReturn

from flask import Request

from config import Settings
from errors import BodyTimedOut, InvalidBody, TooLarge, UnsupportedMedia
from runtime import deadline, offload
from web import content_codings
from web.inflight import Inflight

READ_BYTES: Final = 256 * 1024
"""Asked of the server at a time. A body is accounted for as it arrives, so a slow sender reserves only what it sent."""

READ_SECONDS: Final = 30
"""Longest silence of a sender in the middle of a body. Without it, a stalled connection keeps what it reserved."""

OFFLOAD_BYTES: Final = 32 * 1024
"""Bodies above this are decompressed off the hub; below it, the way to the thread costs more than the work."""

JSON_TYPES: Final = frozenset(
    (
        "",
        "application/json",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/stream+json",
        "application/x-json-stream",
        "application/x-jsonlines",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "text/json",
        "text/plain",
    )
)
"""What clients call JSON: nothing at all (Go, plain sockets), form data (`curl -d`), text (Vector, Logstash)."""

UTF8_NAMES: Final = frozenset(("", "utf-8", "utf8", "us-ascii", "ascii"))


@dataclass(frozen=True, slots=True)
class Bodies:
    """Reads the bodies of one worker's requests."""

    max_body_bytes: int
    max_decoded_bytes: int
    inflight: Inflight

    @classmethod
    def of(cls, settings: Settings) -> "Bodies":
        return cls(settings.max_body_bytes, settings.max_decoded_bytes, Inflight(settings.max_inflight_bytes))

    @contextmanager
    def receive(self, request: Request, coding: str = "") -> Iterator[bytes]:
        """The decompressed body, accounted for until the end of the `with`: keep it until the events are stored.

        `coding` is that of a request that names none.

        Raises TooLarge (either limit), InvalidBody, UnsupportedMedia (Content-Encoding) and Overloaded.
        """
        with self._account() as on_bytes:
            yield read_body(
                request,
                max_body_bytes=self.max_body_bytes,
                max_decoded_bytes=self.max_decoded_bytes,
                on_bytes=on_bytes,
                coding=coding,
            )

    @contextmanager
    def receive_plain(self, request: Request, limit_bytes: int) -> Iterator[bytes]:
        """The body as it was sent, of so many bytes at most, accounted for until the end of the `with`.

        Raises TooLarge, InvalidBody, BodyTimedOut and Overloaded.
        """
        with self._account() as on_bytes:
            yield read_plain(request, limit_bytes, on_bytes)

    @contextmanager
    def _account(self) -> Iterator[Callable[[int], None]]:
        total = 0

        def add(count: int) -> None:
            nonlocal total
            self.inflight.hold(count)
            total += count

        try:
            yield add
        finally:
            self.inflight.let_go(total)


def read_body(
    request: Request,
    *,
    max_body_bytes: int,
    max_decoded_bytes: int,
    on_bytes: Callable[[int], None] = lambda count: None,
    coding: str = "",
) -> bytes:
    """The whole body without its content codings; `coding` is that of a request that names none.

    `on_bytes` gets the number of bytes that stay in memory, as they arrive.
    """
    names = content_codings.parse(request.headers.get("Content-Encoding", coding))
    wire = b"".join(_pieces(request, max_body_bytes, on_bytes))
    if not names and len(wire) <= max_decoded_bytes:
        return wire
    if len(wire) <= OFFLOAD_BYTES:
        body = content_codings.decode(wire, names, max_decoded_bytes)
    else:
        body = offload(content_codings.decode, wire, names, max_decoded_bytes)
    on_bytes(max(0, len(body) - len(wire)))
    return body


def read_plain(request: Request, limit_bytes: int, hold: Callable[[int], None] = lambda count: None) -> bytes:
    """The whole body as it was sent. Raises TooLarge, InvalidBody, BodyTimedOut."""
    return b"".join(_pieces(request, limit_bytes, hold))


def _pieces(request: Request, limit: int, on_bytes: Callable[[int], None]) -> Iterator[bytes]:
    expected = request.content_length
    if expected is not None and expected > limit:
        _refuse_size(limit)
    stream = request.environ["wsgi.input"]
    ends_by_itself = request.environ.get("wsgi.input_terminated", False)
    received = 0
    while expected is None or received < expected:
        if expected is None and not ends_by_itself:
            return  # neither a length nor chunks: no body (RFC 9112 section 6.3)
        piece = _read(stream, min(READ_BYTES, limit + 1 - received if expected is None else expected - received))
        if not piece:
            break
        received += len(piece)
        if received > limit:
            _refuse_size(limit)
        on_bytes(len(piece))
        yield piece
    if expected is not None and received < expected:
        raise InvalidBody(f"the body ends after {received} of {expected} bytes")


def _read(stream: IO[bytes], size: int) -> bytes:
    if isinstance(stream, io.BytesIO):
        return stream.read(size)  # it has come already
    # What has come so far, if the server tells: the deadline is for a sender's silence, however much was asked for.
    read = getattr(stream, "read1", stream.read)
    try:
        with deadline(READ_SECONDS):
            return read(size)
    except TimeoutError as error:
        raise BodyTimedOut(f"nothing more of the body arrived within {READ_SECONDS} seconds") from error
    except Exception as error:  # each server has its own exceptions here; all mean that the framing is broken
        raise InvalidBody(f"the body cannot be read: {type(error).__name__}") from error


def _refuse_size(limit: int) -> NoReturn:
    raise TooLarge(f"the body is larger than {limit} bytes", limit=limit)


def require_json_type(request: Request) -> None:
    """Raises UnsupportedMedia unless the media type may carry JSON: any that clients are known to send."""
    media_type = request.mimetype
    if media_type not in JSON_TYPES and not media_type.endswith("+json"):
        raise UnsupportedMedia(f"media type {media_type[:100]!r} is not supported; send application/json")
    charset = request.mimetype_params.get("charset", "").strip().lower()
    if charset not in UTF8_NAMES:
        raise UnsupportedMedia(f"charset {charset[:40]!r} is not supported; JSON is UTF-8 (RFC 8259 section 8.1)")
