"""Messages of clients, read from bytes (PostgreSQL's manual, "Message Formats"); nothing but a refusal is raised."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgwire import messages
from pgwire.messages import (
    Bind,
    CancelRequest,
    Close,
    Describe,
    EncryptionRequest,
    Execute,
    Parse,
    ProtocolViolation,
    Query,
    Startup,
)

KINDS = [bytes([number]) for number in range(256)]


def test_a_startup_message_names_user_and_database():
    body = struct.pack("!i", 196608) + b"user\0ann\0database\0weir\0_pq_.x\0y\0\0"

    assert messages.read_first(body) == Startup(0, {"user": "ann", "database": "weir"}, ("_pq_.x",))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (struct.pack("!i", 80877103), EncryptionRequest(is_tls=True)),
        (struct.pack("!i", 80877104), EncryptionRequest(is_tls=False)),
        (struct.pack("!iii", 80877102, 7, 9), CancelRequest(7, struct.pack("!i", 9))),
        (struct.pack("!i", 196610) + b"\0", Startup(2, {})),
    ],
    ids=["tls", "gss", "cancel", "3.2"],
)
def test_first_messages_are_told_apart(body: bytes, expected: object):
    assert messages.read_first(body) == expected


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (b"Q", b"SELECT 1\0", Query("SELECT 1")),
        (b"P", b"s\0SELECT $1\0" + struct.pack("!HI", 1, 20), Parse("s", "SELECT $1", (20,))),
        (
            b"B",
            b"p\0s\0" + struct.pack("!HhHi", 1, 1, 2, 2) + b"ab" + struct.pack("!iHh", -1, 1, 0),
            Bind("p", "s", (True,), (b"ab", None), (False,)),
        ),
        (b"D", b"Ss\0", Describe(False, "s")),
        (b"C", b"Pp\0", Close(True, "p")),
        (b"E", b"p\0" + struct.pack("!i", 10), Execute("p", 10)),
    ],
    ids=["query", "parse", "bind", "describe", "close", "execute"],
)
def test_messages_of_a_session_are_read(kind: bytes, body: bytes, expected: object):
    assert messages.read(kind, body) == expected


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"Q", b"SELECT 1"),
        (b"Q", b"SELECT 1\0x"),
        (b"Q", b"\xff\0"),
        (b"P", b"s\0SELECT\0" + struct.pack("!H", 65535)),
        (b"B", b"\0\0" + struct.pack("!HHi", 0, 1, -2)),
        (b"B", b"\0\0" + struct.pack("!HHi", 0, 1, 2**31 - 1)),
        (b"B", b"\0\0" + struct.pack("!Hh", 1, 7)),
        (b"D", b"X\0"),
        (b"E", b"p\0\0"),
        (b"?", b""),
    ],
)
def test_what_is_no_message_is_refused(kind: bytes, body: bytes):
    with pytest.raises(ProtocolViolation):
        messages.read(kind, body)


@pytest.mark.parametrize("length", [-1, 0, 3, messages.LARGEST_STARTUP_BYTES + 1, 2**31 - 1])
def test_a_length_beyond_its_limits_is_refused_before_it_is_read(length: int):
    with pytest.raises(ProtocolViolation):
        messages.body_bytes(length, messages.LARGEST_STARTUP_BYTES)


@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(kind: bytes, body: bytes):
    with suppress(ProtocolViolation):
        messages.read(kind, body)


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=100).map(lambda tail: struct.pack("!i", 196608) + tail)))
def test_any_bytes_are_a_first_message_or_refused(body: bytes):
    with suppress(ProtocolViolation):
        messages.read_first(body)


def test_formats_of_a_description_are_replaced():
    columns = [messages.Column("a", 20, 8), messages.Column("b", 25, -1)]
    described = messages.row_description(columns, ())

    assert messages.with_formats(described[5:], (True,)) == messages.row_description(columns, (True,))
    assert messages.with_formats(described[5:], (False, True)) == messages.row_description(columns, (False, True))
