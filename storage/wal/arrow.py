"""Messages of an Arrow IPC stream: where a record batch's numbers are, and a record batch's metadata written anew.

Pure, over bytes. Sources: the Arrow columnar format ("Encapsulated message format"), Message.fbs, and the layout of
FlatBuffers: a table begins with the distance back to its list of slots, which says where each field is. Knows nothing
of what the columns hold.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

Buffer = bytes | bytearray | memoryview

CONTINUATION: Final = b"\xff\xff\xff\xff"
END: Final = CONTINUATION + bytes(4)
# What a message begins with: the mark, and the length of its metadata, padding included.
PREFIX: Final = struct.Struct("<4si")
ALIGNMENT: Final = 8

_UNSIGNED: Final = struct.Struct("<I")
_SIGNED: Final = struct.Struct("<i")
_SLOT: Final = struct.Struct("<H")
NUMBER: Final = struct.Struct("<q")
PAIR_BYTES: Final = 2 * NUMBER.size

# Message.fbs: fields by their order in their tables, and a version and a type by their numbers.
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_LENGTH, _NODES, _BUFFERS, _COMPRESSION, _VARIADIC = range(5)
_VERSION_5, _RECORD_BATCH = 4, 3
# As we write it: where the root is, slots and table of Message, slots and table of RecordBatch, then the vectors.
_TABLES: Final = struct.Struct("<I 6H iIqHBx 7Hxx iIIqI")
_MESSAGE_AT, _BATCH_AT = 16, 52


class Vector(NamedTuple):
    """Where the items of a vector begin, and how many there are."""

    at: int
    length: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where the metadata of a record batch has its numbers; `body_bytes` and `rows` are single ones.

    `nodes`: pairs of length and count of nulls, one per array. `buffers`: pairs of offset in the body and length.
    `variadic`: counts of data buffers, one per array of views.
    """

    body_bytes: int
    rows: int
    nodes: Vector
    buffers: Vector
    variadic: Vector


def schema_bytes(data: Buffer, start: int, end: int) -> bytes | None:
    """The first message of the stream `data[start:end]`, its schema; None if the stream is not of the form we write.

    A schema has no body. Ours end with a mark, which readers do not ask for.
    """
    if end - start <= PREFIX.size + len(END):
        return None
    mark, length = PREFIX.unpack_from(data, start)
    first = start + PREFIX.size + length
    if mark != CONTINUATION or first > end - len(END) or data[end - len(END) : end] != END:
        return None
    return bytes(data[start:first])


def find_numbers(metadata: bytes) -> Numbers | None:
    """Where the numbers are, if they are in the order in which Polars writes them.

    None too if it is no record batch, is compressed, or leaves a number out because it is 0.
    """
    message = _fields(metadata, _target(metadata, 0), 4)
    if metadata[message[_HEADER_TYPE]] != _RECORD_BATCH:
        return None
    batch = _fields(metadata, _target(metadata, message[_HEADER]), 5)
    if batch[_COMPRESSION] or not (message[_BODY_LENGTH] and batch[_LENGTH]):
        return None
    nodes, buffers, variadic = (_vector(metadata, batch[field]) for field in (_NODES, _BUFFERS, _VARIADIC))
    found = Numbers(message[_BODY_LENGTH], batch[_LENGTH], nodes, buffers, variadic)
    return found if found.body_bytes < found.rows < buffers.at < nodes.at else None


def _fields(metadata: bytes, table: int, count: int) -> list[int]:
    """Where the first `count` fields of the table are; 0 for one that is not there."""
    slots = table - _SIGNED.unpack_from(metadata, table)[0]
    known = _SLOT.unpack_from(metadata, slots)[0] // _SLOT.size - 2
    found = [_SLOT.unpack_from(metadata, slots + _SLOT.size * (2 + field))[0] for field in range(min(known, count))]
    return [table + offset if offset else 0 for offset in found] + [0] * (count - len(found))


def _target(metadata: bytes, at: int) -> int:
    return at + int(_UNSIGNED.unpack_from(metadata, at)[0])


def _vector(metadata: bytes, field: int) -> Vector:
    if not field:
        return Vector(0, 0)
    at = _target(metadata, field)
    return Vector(at + _UNSIGNED.size, _UNSIGNED.unpack_from(metadata, at)[0])


def record_batch(
    rows: int, nodes: Sequence[int], buffers: Sequence[Sequence[Buffer]], variadic: Sequence[int]
) -> list[Buffer]:
    """A record batch as a message with its body, in pieces, as each of the `buffers` is. `nodes`: pairs of numbers."""
    places: list[int] = []
    body: list[Buffer] = []
    at = 0
    for pieces in buffers:
        size = sum(map(len, pieces))
        places += (at, size)
        body += pieces
        body.append(bytes(-size % ALIGNMENT))
        at += size + -size % ALIGNMENT
    metadata = _metadata(rows, at, nodes, places, variadic)
    return [PREFIX.pack(CONTINUATION, len(metadata)), metadata, *body]


def _metadata(
    rows: int, body_bytes: int, nodes: Sequence[int], places: Sequence[int], variadic: Sequence[int]
) -> bytes:
    vectors = bytearray()
    starts = []
    for count, numbers in ((len(nodes) // 2, nodes), (len(places) // 2, places), (len(variadic), variadic)):
        # The items are aligned, so their number, which is before them, is half a step behind.
        vectors += bytes(-(_TABLES.size + len(vectors) + _UNSIGNED.size) % ALIGNMENT)
        starts.append(_TABLES.size + len(vectors))
        vectors += _UNSIGNED.pack(count) + struct.pack(f"<{len(numbers)}q", *numbers)
    batch = _BATCH_AT
    message = (12, 20, 16, 18, 4, 8, 12, batch - _MESSAGE_AT - 4, body_bytes, _VERSION_5, _RECORD_BATCH)
    slots = (14, 24, 12, 4, 8, 0, 20, 16)
    tables = _TABLES.pack(
        _MESSAGE_AT, *message, *slots, starts[0] - batch - 4, starts[1] - batch - 8, rows, starts[2] - batch - 20
    )
    return tables + bytes(vectors) + bytes(-(len(tables) + len(vectors)) % ALIGNMENT)
