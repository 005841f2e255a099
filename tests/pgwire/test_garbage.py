"""Whatever is sent, it ends the connection that sent it and nothing else."""

import random
import socket
import struct

import psycopg
import pytest

from tests.pgwire.conftest import Door

pytestmark = pytest.mark.service
STARTUP = struct.pack("!i", 196608) + b"user\0admin\0\0"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def first(body: bytes) -> bytes:
    return struct.pack("!i", len(body) + 4) + body


def answer(door: Door, *pieces: bytes) -> bytes:
    """What comes back until the service closes the connection, or is silent for two seconds."""
    with socket.create_connection(("127.0.0.1", door.port), timeout=2) as client:
        said = b""
        try:
            for piece in pieces:
                client.sendall(piece)
            while received := client.recv(65536):
                said += received
        except OSError:
            pass
        return said


@pytest.mark.parametrize(
    "pieces",
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",),
        (struct.pack("!i", 2**31 - 1),),
        (struct.pack("!i", -5),),
        (struct.pack("!i", 4),),
        (first(struct.pack("!i", 131072) + b"\0"),),
        (first(struct.pack("!i", 196608) + b"user\0admin"),),
        (first(struct.pack("!i", 80877103)) * 10,),
        (first(STARTUP), message(b"Q", b"SELECT 1\0")),
        (first(STARTUP), message(b"p", b"NONE\0\0\0\0\0")),
        (first(STARTUP), message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", 5) + b"n,,n=")),
        (first(STARTUP), b"p" + struct.pack("!i", 2**30)),
        (b"",),
    ],
    ids=[
        "http",
        "huge",
        "negative",
        "nothing",
        "version",
        "cut",
        "tls",
        "early",
        "mechanism",
        "scram",
        "length",
        "empty",
    ],
)
def test_nonsense_before_a_login(door: Door, pieces: tuple[bytes, ...]):
    said = answer(door, *pieces)

    assert b"Traceback" not in said
    with door.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("seed", range(8))
def test_nonsense_after_a_login(door: Door, seed: int):
    """Messages in any order, some of them cut or with wrong lengths; the worker goes on."""
    dice = random.Random(seed)
    parts = [
        message(b"P", b"\0SELECT 1\0\0\0"),
        message(b"B", b"\0\0\0\0\0\0\0\0"),
        message(b"D", b"P\0"),
        message(b"E", b"\0\0\0\0\0"),
        message(b"E", b"nothing\0\0\0\0\0"),
        message(b"C", b"Sx\0"),
        message(b"S", b""),
        message(b"H", b""),
        message(b"d", b"copy data"),
        message(b"Q", b"\0"),
        message(b"Q", b"BEGIN\0"),
        message(b"Q", b"FETCH 1 FROM c\0"),
        message(b"B", dice.randbytes(12)),
        message(b"P", dice.randbytes(12)),
    ]
    with door.connect() as connection, socket.socket(fileno=connection.pgconn.socket) as client:
        client.settimeout(2)
        try:
            client.sendall(b"".join(dice.choices(parts, k=30)) + message(bytes([dice.randrange(256)]), b"x"))
            while client.recv(65536):
                pass
        except OSError:
            pass
        finally:
            client.detach()

    with door.connect() as other:
        assert other.execute("SELECT count(*) FROM app").fetchone() == (1000,)
    assert "Traceback" not in door.service.log.read_text()


def test_an_empty_statement_is_answered(connection: psycopg.Connection):
    assert connection.execute("").statusmessage is None
    assert connection.execute(" ; ").statusmessage is None


def test_two_hundred_idle_connections_are_fine(start_door):
    door = start_door(workers=2, WEIR_PG_IDENTITY_CONNECTIONS="200")

    held = [door.connect() for _ in range(150)]

    assert held[-1].execute("SELECT 1").fetchone() == (1,)
    for each in held:
        each.close()
