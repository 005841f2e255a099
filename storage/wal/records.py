"""The frame: how events stand in a write-ahead segment. Pure, over bytes; knows no file and no dataset.

A frame is a header, notes and a payload. The payload is one Arrow IPC stream with the rows of one dataset; the notes
are small records about the requests that the rows came from. The checksum is seeded with the segment's name, so
that a frame is valid in its own segment only, and covers everything after itself. Lengths are never 0, so that a
tail of zeros, which a crash may leave, is no frame.
"""

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import polars as pl
from isal import isal_zlib

from storage.wal.batches import Buffer as Buffer
from storage.wal.batches import Streams, read_stream, schema_bytes

MAGIC: Final = b"WEI1"
# magic, checksum | length of notes and of payload, rows, dataset id, first and last time (ns), bytes of the bodies
_MARK: Final = struct.Struct("<4sI")
_FIELDS: Final = struct.Struct("<IIIqqqQ")
HEADER: Final = struct.Struct("<4sIIIIqqqQ")
_SIZES: Final = struct.Struct("<4sIII")
HEADER_BYTES: Final = HEADER.size


@dataclass(frozen=True, slots=True)
class Record:
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


def encode(frame: Record, segment: str) -> Sequence[Buffer]:
    """The buffers to write, one after the other, into the segment of that name."""
    fields = _FIELDS.pack(
        len(frame.notes), len(frame.payload), frame.rows, frame.dataset_id, frame.tmin, frame.tmax, frame.body_bytes
    )
    return (
        _MARK.pack(MAGIC, _checksum(segment, fields, frame.notes, frame.payload)) + fields,
        frame.notes,
        frame.payload,
    )


def decode(data: Buffer, segment: str) -> Iterator[Record]:
    """The frames at the beginning of `data`, up to the first that is incomplete or damaged.

    Their payloads are views into `data`.
    """
    view = memoryview(data)
    at = 0
    while (frame := checked(view[at:], segment)) is not None:
        yield frame
        at += frame.size


def beyond(data: bytes, start: int, segment: str) -> Iterator[Record]:
    """Whole frames after `start`, where there is none. They were written after whatever is damaged there."""
    view = memoryview(data)
    at = data.find(MAGIC, start + 1)
    while at >= 0:
        frame = checked(view[at:], segment)
        if frame is not None:
            yield frame
        at = data.find(MAGIC, at + (1 if frame is None else frame.size))


def checked(view: memoryview, segment: str) -> Record | None:
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
    return Record(dataset_id, rows, tmin, tmax, body_bytes, payload, notes)


def seed(segment: str) -> int:
    """What the checksums of a segment's frames begin with."""
    return isal_zlib.crc32(segment.encode())


def payload_start(data: Buffer, start: int, end: int, begun: int) -> int | None:
    """Where the payload of the frame `data[start:end]` begins, which ends with it; None if the frame is damaged.

    `begun`: the `seed` of its segment.
    """
    if end - start < HEADER_BYTES or end > len(data):
        return None
    magic, checksum, notes_bytes, payload_bytes = _SIZES.unpack_from(data, start)
    if magic != MAGIC or payload_bytes == 0 or start + HEADER_BYTES + notes_bytes + payload_bytes != end:
        return None
    is_whole = isal_zlib.crc32(memoryview(data)[start + _MARK.size : end], begun) == checksum
    return end - payload_bytes if is_whole else None


def payload_at(data: Buffer, start: int) -> int:
    """Where the payload of a frame that is known to be undamaged begins."""
    return start + HEADER_BYTES + int(_SIZES.unpack_from(data, start)[2])


def _checksum(segment: str, *parts: Buffer) -> int:
    checksum = seed(segment)
    for part in parts:
        checksum = isal_zlib.crc32(part, checksum)
    return checksum


def to_payload(rows: pl.DataFrame) -> memoryview:
    """The rows as one Arrow IPC stream."""
    stream = io.BytesIO()
    rows.write_ipc_stream(stream, compression="uncompressed")
    return stream.getbuffer()


def to_rows(frame: Record) -> pl.DataFrame:
    """The rows of a frame."""
    return read_stream(frame.payload)


def to_few(payloads: Iterable[Buffer]) -> list[pl.DataFrame]:
    """The rows of all payloads in one frame per set of columns, in order of first appearance."""
    alike: dict[bytes, Streams] = {}
    parts: list[Callable[[], pl.DataFrame]] = []
    for payload in payloads:
        schema = schema_bytes(payload, 0, len(payload))
        if schema is None:
            parts.append(partial(read_stream, payload))
            continue
        if schema not in alike:
            alike[schema] = Streams(schema)
            parts.append(alike[schema].rows)
        alike[schema].add(payload, 0, len(payload))
    return join_streams([rows() for rows in parts])


def join_streams(parts: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The same rows in one frame per set of columns, in order of first appearance.

    Everything done per frame afterwards costs as much for a frame of one row as for one of thousands.
    """
    groups: dict[tuple[object, ...], list[pl.DataFrame]] = {}
    for part in parts:
        groups.setdefault((tuple(part.columns), tuple(part.dtypes)), []).append(part)
    return [group[0] if len(group) == 1 else pl.concat(group, rechunk=True) for group in groups.values()]
