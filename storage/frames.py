"""The frame: how events stand in a write-ahead segment. Pure, over bytes; knows no file and no dataset.

A frame is a header, notes and a payload. The payload is one Arrow IPC stream with the rows of one dataset; the notes
are small records about the requests that the rows came from. The checksum is seeded with the segment's name, so
that a frame is valid in its own segment only, and covers everything after itself. Lengths are never 0, so that a
tail of zeros, which a crash may leave, is no frame.
"""

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import polars as pl
from isal import isal_zlib

Buffer = bytes | bytearray | memoryview

MAGIC: Final = b"WEI1"
# magic, checksum | length of notes and of payload, rows, dataset id, first and last time (ns), bytes of the bodies
_MARK: Final = struct.Struct("<4sI")
_FIELDS: Final = struct.Struct("<IIIqqqQ")
_HEADER: Final = struct.Struct("<4sIIIIqqqQ")
HEADER_BYTES: Final = _HEADER.size
# Of an Arrow IPC stream: what a message begins with, and how the stream ends.
_MESSAGE: Final = struct.Struct("<4si")
CONTINUATION: Final = b"\xff\xff\xff\xff"
END: Final = CONTINUATION + bytes(4)
# Streams that are read as one. More at once is slower, since it leaves the processor's cache.
PORTION_BYTES: Final = 400 * 1024


class Header(NamedTuple):
    """What a frame says of itself. Times: first and last, ns since 1970."""

    dataset_id: int
    rows: int
    tmin: int
    tmax: int
    body_bytes: int
    size: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of one dataset. Times: first and last, ns since 1970. `body_bytes`: size of the bodies they came in."""

    dataset_id: int
    rows: int
    tmin: int
    tmax: int
    body_bytes: int
    payload: Buffer
    notes: Buffer = b""

    @property
    def size(self) -> int:
        """Bytes in the segment."""
        return HEADER_BYTES + len(self.notes) + len(self.payload)


def encode(frame: Frame, segment: str) -> Sequence[Buffer]:
    """The buffers to write, one after the other, into the segment of that name."""
    fields = _FIELDS.pack(
        len(frame.notes), len(frame.payload), frame.rows, frame.dataset_id, frame.tmin, frame.tmax, frame.body_bytes
    )
    return (
        _MARK.pack(MAGIC, _checksum(segment, fields, frame.notes, frame.payload)) + fields,
        frame.notes,
        frame.payload,
    )


def decode(data: Buffer, segment: str) -> Iterator[Frame]:
    """The frames at the beginning of `data`, up to the first that is incomplete or damaged.

    Their payloads are views into `data`.
    """
    view = memoryview(data)
    at = 0
    while (frame := checked(view[at:], segment)) is not None:
        yield frame
        at += frame.size


def beyond(data: bytes, start: int, segment: str) -> Iterator[Frame]:
    """Whole frames after `start`, where there is none. They were written after whatever is damaged there."""
    view = memoryview(data)
    at = data.find(MAGIC, start + 1)
    while at >= 0:
        frame = checked(view[at:], segment)
        if frame is not None:
            yield frame
        at = data.find(MAGIC, at + (1 if frame is None else frame.size))


def header(data: Buffer, at: int) -> Header | None:
    """What stands at `at`; None if it is no header. Whether the frame is whole and undamaged only `checked` tells."""
    if len(data) - at < HEADER_BYTES:
        return None
    magic, _, notes_bytes, payload_bytes, rows, dataset_id, tmin, tmax, body_bytes = _HEADER.unpack_from(data, at)
    if magic != MAGIC or payload_bytes == 0:
        return None
    return Header(dataset_id, rows, tmin, tmax, body_bytes, HEADER_BYTES + notes_bytes + payload_bytes)


def checked(view: memoryview, segment: str) -> Frame | None:
    """The frame at the beginning of `view`, a view into it; None if it is incomplete or damaged."""
    if len(view) < HEADER_BYTES:
        return None
    magic, checksum = _MARK.unpack_from(view)
    fields = view[_MARK.size : HEADER_BYTES]
    notes_bytes, payload_bytes, rows, dataset_id, tmin, tmax, body_bytes = _FIELDS.unpack(fields)
    end = HEADER_BYTES + notes_bytes + payload_bytes
    if magic != MAGIC or payload_bytes == 0 or end > len(view):
        return None
    notes = view[HEADER_BYTES : HEADER_BYTES + notes_bytes]
    payload = view[HEADER_BYTES + notes_bytes : end]
    if _checksum(segment, fields, notes, payload) != checksum:
        return None
    return Frame(dataset_id, rows, tmin, tmax, body_bytes, payload, notes)


def _checksum(segment: str, *parts: Buffer) -> int:
    checksum = isal_zlib.crc32(segment.encode())
    for part in parts:
        checksum = isal_zlib.crc32(part, checksum)
    return checksum


def to_payload(rows: pl.DataFrame) -> memoryview:
    """The rows as one Arrow IPC stream."""
    stream = io.BytesIO()
    rows.write_ipc_stream(stream, compression="uncompressed")
    return stream.getbuffer()


def to_rows(frame: Frame) -> pl.DataFrame:
    """The rows of a frame."""
    return _read(frame.payload)


def to_few(payloads: Iterable[Buffer]) -> list[pl.DataFrame]:
    """The rows of all payloads in one frame per set of columns, in order of first appearance.

    Streams that begin with the same schema are read as one stream of all their batches, a portion at a time: what a
    reader does per stream costs more than a small frame's rows (docs/decisions/storage.md).
    """
    portions: dict[bytes, _Portion] = {}
    parts: list[pl.DataFrame] = []
    for payload in payloads:
        schema = _schema_bytes(payload)
        if schema is None:
            parts.append(_read(payload))
            continue
        portion = portions.setdefault(schema, _Portion(schema))
        if portion.size and portion.size + len(payload) > PORTION_BYTES:
            parts.append(portion.read())
        portion.add(payload)
    parts += [portion.read() for portion in portions.values() if portion.size]
    return join_alike(parts)


@dataclass(slots=True)
class _Portion:
    """Streams of one schema that are about to be read together."""

    schema: bytes
    streams: list[Buffer] = field(default_factory=list)
    size: int = 0

    def add(self, stream: Buffer) -> None:
        self.streams.append(stream)
        self.size += len(stream)

    def read(self) -> pl.DataFrame:
        streams, self.streams, self.size = self.streams, [], 0
        if len(streams) == 1:
            return _read(streams[0])
        batches = (memoryview(stream)[len(self.schema) : -len(END)] for stream in streams)
        return _read(b"".join((self.schema, *batches, END)))


def _schema_bytes(stream: Buffer) -> bytes | None:
    """The stream's first message, its schema; None if the stream is not of the form that we write.

    Arrow columnar format, "Encapsulated message format": a continuation mark, the length of the metadata, which is
    padded, and the metadata; a schema has no body.
    """
    mark, length = _MESSAGE.unpack_from(stream) if len(stream) > _MESSAGE.size else (b"", 0)
    size = _MESSAGE.size + length
    if mark != CONTINUATION or size + len(END) > len(stream) or bytes(stream[-len(END) :]) != END:
        return None
    return bytes(stream[:size])


def _read(stream: Buffer) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(stream))


def join_alike(parts: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The same rows in one frame per set of columns, in order of first appearance.

    Everything done per frame afterwards costs as much for a frame of one row as for one of thousands.
    """
    groups: dict[tuple[object, ...], list[pl.DataFrame]] = {}
    for part in parts:
        groups.setdefault((tuple(part.columns), tuple(part.dtypes)), []).append(part)
    return [group[0] if len(group) == 1 else pl.concat(group, rechunk=True) for group in groups.values()]
