"""What a client of PostgreSQL sends: the first message, then others, as a connection cuts them."""

import struct
from contextlib import suppress

from pgwire import messages
from pgwire.messages import ProtocolViolation
from pgwire.statement import parse

WORDS = (
    b"\x00\x03\x00\x00",
    b"user\0",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"Q",
    b"P",
    b"B",
    b"E",
    b"S",
    b"\x00\x00\x00\x04",
    b"SELECT ",
)


def feed(data: bytes) -> None:
    """Nothing is raised but a violation of the protocol, and none of it reads beyond a limit."""
    with suppress(ProtocolViolation):
        messages.read_first(data[4:])
    at = 0
    while at + 5 <= len(data):
        with suppress(ProtocolViolation):
            (length,) = struct.unpack_from("!i", data, at + 1)
            body = data[at + 5 : at + 5 + messages.body_bytes(length, messages.LARGEST_MESSAGE_BYTES)]
            message = messages.read(data[at : at + 1], body)
            if isinstance(message, messages.Query):
                parse(message.sql)
            at += 5 + len(body)
            continue
        at += 1
