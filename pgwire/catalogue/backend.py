"""One connection to the catalogue's PostgreSQL, in its own protocol: what it answers goes to clients byte by byte.

It keeps nothing between statements: each is parsed, bound and run anew, so that any session may use it next.
"""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pgwire.errors import PgError
from pgwire.messages import LENGTH, LENGTH_BYTES, message

# Statements end before by themselves (template.py).
PATIENCE_SECONDS: Final = 40.0
LARGEST_REPLY_BYTES: Final = 64 * 1024 * 1024
SOCKET: Final = ".s.PGSQL.5432"
PROTOCOL: Final = struct.pack("!i", 196608)


class BackendLost(Exception):
    """The connection is of no use any more."""


@dataclass(slots=True)
class Reply:
    """What a statement was answered: raw messages of its description and its rows."""

    parameters: tuple[int, ...] = ()
    description: bytes | None = None
    rows: list[bytes] = field(default_factory=list)
    tag: str = ""
    error: PgError | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a statement's parameters as a client binds them, and the formats that it wants results in."""

    binary: tuple[bool, ...] = ()
    values: tuple[bytes | None, ...] = ()
    results: tuple[bool, ...] = ()


class Backend:
    """A connection. Not for two greenlets at once."""

    def __init__(self, sockets: Path, database: str, user: str) -> None:
        """Raises BackendLost, and PgError 3D000 if there is no such database."""
        self.settings = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(PATIENCE_SECONDS)
        self._buffer = bytearray()
        try:
            self._socket.connect(str(sockets / SOCKET))
        except OSError as error:
            self._socket.close()
            raise BackendLost(str(error)) from error
        parameters = f"user\0{user}\0database\0{database}\0application_name\0weir\0client_encoding\0UTF8\0\0"
        body = PROTOCOL + parameters.encode()
        self._send(LENGTH.pack(len(body) + LENGTH_BYTES) + body)
        self._until_ready()

    def simple(self, sql: str) -> Reply:
        """Run our own statements. Raises PgError, BackendLost."""
        self._send(message(b"Q", sql.encode() + b"\0"))
        return self._until_ready()

    def describe(self, sql: str, types: Sequence[int]) -> Reply:
        """Parameters and columns of a statement. Raises PgError, BackendLost."""
        self._send(_parse(sql, types) + message(b"D", b"S\0") + message(b"S"))
        return self._until_ready()

    def run(self, sql: str, types: Sequence[int], values: Values) -> Reply:
        """Run a statement to its end. Raises PgError, BackendLost."""
        execute = message(b"D", b"P\0") + message(b"E", b"\0" + LENGTH.pack(0)) + message(b"S")
        self._send(_parse(sql, types) + _bind(values) + execute)
        return self._until_ready()

    def close(self) -> None:
        self._socket.close()

    def _send(self, content: bytes) -> None:
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise BackendLost(str(error)) from error

    def _until_ready(self) -> Reply:
        reply, size = Reply(), 0
        while True:
            kind, body = self._read()
            size += len(body)
            if size > LARGEST_REPLY_BYTES:
                self.close()
                raise PgError("54000", f"an answer about the catalogue of more than {LARGEST_REPLY_BYTES} bytes")
            match kind:
                case b"t":
                    count = struct.unpack_from("!H", body)[0]
                    reply.parameters = struct.unpack_from(f"!{count}I", body, 2)
                case b"T":
                    reply.description = body
                case b"D":
                    reply.rows.append(message(b"D", body))
                case b"C":
                    reply.tag = body[:-1].decode()
                case b"E":
                    reply.error = reply.error or _error(body)
                case b"Z":
                    break
            if kind == b"E" and not self._is_session(body):
                break
        if reply.error is not None:
            raise reply.error
        return reply

    def _is_session(self, body: bytes) -> bool:
        return b"VFATAL\0" not in body and b"VPANIC\0" not in body

    def _read(self) -> tuple[bytes, bytes]:
        head = self._take(1 + LENGTH_BYTES)
        length = LENGTH.unpack_from(head, 1)[0]
        return head[:1], self._take(length - LENGTH_BYTES)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                piece = self._socket.recv(1 << 16)
            except OSError as error:
                raise BackendLost(str(error)) from error
            if not piece:
                raise BackendLost("the catalogue's PostgreSQL closed the connection")
            self._buffer += piece
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _parse(sql: str, types: Sequence[int]) -> bytes:
    return message(b"P", b"\0" + sql.encode() + b"\0" + struct.pack(f"!H{len(types)}I", len(types), *types))


def _bind(values: Values) -> bytes:
    body = b"\0\0" + _formats(values.binary) + struct.pack("!H", len(values.values))
    for value in values.values:
        body += b"\xff\xff\xff\xff" if value is None else LENGTH.pack(len(value)) + value
    return message(b"B", body + _formats(values.results))


def _formats(binary: Sequence[bool]) -> bytes:
    return struct.pack(f"!H{len(binary)}h", len(binary), *binary)


def _error(body: bytes) -> PgError:
    """Without the place: the statement that it is in is not quite the client's."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
    return PgError(fields.get(b"C", "XX000"), fields.get(b"M", ""), fields.get(b"H"), fields.get(b"D"))
