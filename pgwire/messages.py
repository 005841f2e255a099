"""Messages of the PostgreSQL protocol 3.0: what clients send, read from bytes, and what we send, as bytes. Pure.

Source: PostgreSQL's manual, "Frontend/Backend Protocol", section "Message Formats".
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

LENGTH: Final = struct.Struct("!i")
PROTOCOL_3: Final = 3
NEWEST_MINOR: Final = 0
CANCEL_REQUEST: Final = 80877102
SSL_REQUEST: Final = 80877103
GSS_REQUEST: Final = 80877104
LENGTH_BYTES: Final = 4
# As in PostgreSQL: nobody who has not logged in makes us read more.
LARGEST_STARTUP_BYTES: Final = 10_000
LARGEST_LOGIN_BYTES: Final = 65_535
# Statements have 100,000 characters at most (query/limits.py), of four bytes each, and parameters some more.
LARGEST_MESSAGE_BYTES: Final = 16 * 1024 * 1024
MOST_VALUES: Final = 65_535


class ProtocolViolation(Exception):
    """What the client sent is no message (08P01). After this nobody knows where the next one begins."""


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message: `minor` of the protocol, parameters, and names of protocol options that we do not have."""

    minor: int
    parameters: Mapping[str, str]
    unknown_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelRequest:
    process: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class EncryptionRequest:
    """Asks for TLS, or for GSSAPI encryption, which we do not have."""

    is_tls: bool


@dataclass(frozen=True, slots=True)
class Query:
    sql: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    sql: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    """`binary` of parameters and `results`: nothing for text, one value for all of them, or one each."""

    portal: str
    statement: str
    binary: tuple[bool, ...] = ()
    values: tuple[bytes | None, ...] = field(default=(), repr=False)
    results: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    is_portal: bool
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    portal: str
    rows: int


@dataclass(frozen=True, slots=True)
class Close:
    is_portal: bool
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class Ignored:
    """Data of a COPY that is over, or never was: a server leaves it out."""


Message = Query | Parse | Bind | Describe | Execute | Close | Flush | Sync | Terminate | Ignored
First = Startup | CancelRequest | EncryptionRequest


class _Body:
    """Reads a message's fields in order. Every method raises ProtocolViolation where there are too few bytes."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def text(self) -> str:
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a string without an end in a message")
        raw, self._at = self._body[self._at : end], end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ProtocolViolation("a string that is not UTF-8 in a message") from error

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._body):
            raise ProtocolViolation("a message is shorter than it says")
        self._at += count
        return self._body[self._at - count : self._at]

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def count(self) -> int:
        """A number of values, which has 16 bits and no sign."""
        return self.number("!H")

    def flags(self) -> tuple[bool, ...]:
        """Format codes."""
        codes = [self.number("!h") for _ in range(self.count())]
        if not {0, 1}.issuperset(codes):
            raise ProtocolViolation(f"unsupported format code: {next(code for code in codes if code not in (0, 1))}")
        return tuple(map(bool, codes))

    def value(self) -> bytes | None:
        length = self.number("!i")
        return None if length == -1 else self.take(length)

    def end(self) -> None:
        if self._at != len(self._body):
            raise ProtocolViolation("a message is longer than it says")


def body_bytes(length: int, largest: int) -> int:
    """The bytes that follow a length, which counts itself. Raises ProtocolViolation."""
    if not LENGTH_BYTES <= length <= largest:
        raise ProtocolViolation("invalid message length")
    return length - LENGTH_BYTES


def read_first(body: bytes) -> First:
    """The message that opens a connection, without its length. Raises ProtocolViolation."""
    reader = _Body(body)
    code = reader.number("!i")
    if code in (SSL_REQUEST, GSS_REQUEST):
        return EncryptionRequest(code == SSL_REQUEST)
    if code == CANCEL_REQUEST:
        return CancelRequest(reader.number("!i"), body[8:])
    major, minor = code >> 16, code & 0xFFFF
    if major != PROTOCOL_3:
        raise ProtocolViolation(f"unsupported frontend protocol {major}.{minor}: server supports 3.0")
    parameters: dict[str, str] = {}
    while name := reader.text():
        parameters[name] = reader.text()
    reader.end()
    options = tuple(name for name in parameters if name.startswith("_pq_."))
    return Startup(minor, {name: value for name, value in parameters.items() if name not in options}, options)


def read(kind: bytes, body: bytes) -> Message:
    """A message of a session, by its letter. Raises ProtocolViolation."""
    reader = _Body(body)
    message = _read(kind, reader)
    if not isinstance(message, Ignored):
        reader.end()
    return message


def _read(kind: bytes, reader: _Body) -> Message:
    match kind:
        case b"Q":
            return Query(reader.text())
        case b"P":
            name, sql = reader.text(), reader.text()
            return Parse(name, sql, tuple(reader.number("!I") for _ in range(reader.count())))
        case b"B":
            portal, statement, binary = reader.text(), reader.text(), reader.flags()
            values = tuple(reader.value() for _ in range(reader.count()))
            return Bind(portal, statement, binary, values, reader.flags())
        case b"D" | b"C":
            target = reader.take(1)
            if target not in (b"S", b"P"):
                raise ProtocolViolation("invalid DESCRIBE or CLOSE message subtype")
            made = Describe if kind == b"D" else Close
            return made(target == b"P", reader.text())
        case b"E":
            return Execute(reader.text(), reader.number("!i"))
        case b"H":
            return Flush()
        case b"S":
            return Sync()
        case b"X":
            return Terminate()
        case b"d" | b"c" | b"f":
            return Ignored()
        case _:
            raise ProtocolViolation(f"invalid frontend message type {kind[0]}")


def read_sasl_initial(body: bytes) -> tuple[str, bytes]:
    """Mechanism and first message of SASLInitialResponse. Raises ProtocolViolation."""
    reader = _Body(body)
    mechanism, first = reader.text(), reader.value()
    reader.end()
    return mechanism, first or b""


# --- what we send ------------------------------------------------------------------------------------------------


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of ours.

    >>> message(b"Z", b"I")
    b'Z\\x00\\x00\\x00\\x05I'
    """
    return kind + LENGTH.pack(len(body) + LENGTH_BYTES) + body


PARSE_COMPLETE: Final = message(b"1")
BIND_COMPLETE: Final = message(b"2")
CLOSE_COMPLETE: Final = message(b"3")
NO_DATA: Final = message(b"n")
EMPTY_QUERY: Final = message(b"I")
PORTAL_SUSPENDED: Final = message(b"s")
COPY_DONE: Final = message(b"c")
AUTHENTICATION_OK: Final = message(b"R", LENGTH.pack(0))


def ready(state: bytes) -> bytes:
    """ReadyForQuery: I, T or E."""
    return message(b"Z", state)


def sasl(mechanisms: Sequence[str]) -> bytes:
    return message(b"R", LENGTH.pack(10) + b"".join(each.encode() + b"\0" for each in mechanisms) + b"\0")


def sasl_continue(data: bytes) -> bytes:
    return message(b"R", LENGTH.pack(11) + data)


def sasl_final(data: bytes) -> bytes:
    return message(b"R", LENGTH.pack(12) + data)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", name.encode() + b"\0" + value.encode() + b"\0")


def key_data(process: int, secret: bytes) -> bytes:
    return message(b"K", LENGTH.pack(process) + secret)


def negotiate(options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the newest minor version that we speak, and the options that we do not know."""
    names = b"".join(name.encode() + b"\0" for name in options)
    return message(b"v", LENGTH.pack(NEWEST_MINOR) + LENGTH.pack(len(options)) + names)


def command_complete(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row description."""

    name: str
    oid: int
    size: int


def row_description(columns: Sequence[Column], binary: Sequence[bool]) -> bytes:
    """RowDescription. Of results no table is told: `binary` as in Bind."""
    formats = list(binary) * len(columns) if len(binary) == 1 else list(binary) or [False] * len(columns)
    body = bytearray(struct.pack("!h", len(columns)))
    for column, is_binary in zip(columns, formats, strict=True):
        body += column.name.encode() + b"\0"
        body += struct.pack("!ihIhih", 0, 0, column.oid, column.size, -1, is_binary)
    return message(b"T", bytes(body))


def with_formats(description: bytes, binary: Sequence[bool]) -> bytes:
    """A RowDescription whose body is at hand, with other format codes."""
    body, at = bytearray(description), 2
    count = int.from_bytes(description[:2])
    formats = list(binary) * count if len(binary) == 1 else list(binary) or [False] * count
    for is_binary in formats[:count]:
        at = description.index(b"\0", at) + 1 + 16
        body[at : at + 2] = int(is_binary).to_bytes(2)
        at += 2
    return message(b"T", bytes(body))


def parameter_description(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def copy_out(columns: int, *, is_binary: bool) -> bytes:
    """CopyOutResponse."""
    return message(b"H", struct.pack(f"!bh{columns}h", is_binary, columns, *[is_binary] * columns))


def data_row(values: Iterable[bytes | None]) -> bytes:
    """One DataRow of values at hand."""
    cells = [b"\xff\xff\xff\xff" if value is None else LENGTH.pack(len(value)) + value for value in values]
    return message(b"D", struct.pack("!h", len(cells)) + b"".join(cells))


def report(kind: bytes, fields: Mapping[str, str]) -> bytes:
    """ErrorResponse (`E`) or NoticeResponse (`N`): values by their letters."""
    return message(kind, b"".join(name.encode() + _clean(value) + b"\0" for name, value in fields.items()) + b"\0")


def _clean(text: str) -> bytes:
    return text.replace("\0", "").encode("utf-8", "replace")
