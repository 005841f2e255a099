"""The format of records, the units of a write-ahead segment. Pure, over bytes; knows no file and no dataset.

A record is a header, notes and a payload. The payload is one Arrow IPC stream with the rows of one dataset; the notes
are the idempotency records of the requests that the rows came from. The checksum covers everything behind itself and
is seeded with the segment's name, so that a record is valid in its own segment only. Lengths are never 0, so that
zeros at the end, which a crash may leave, are no record.
"""

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
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


def encode(record: Record, segment: str) -> Sequence[Buffer]:
    """The buffers to write, one after the other, into the segment of that name."""
    fields = _FIELDS.pack(
        len(record.notes),
        len(record.payload),
        record.rows,
        record.dataset_id,
        record.tmin,
        record.tmax,
        record.body_bytes,
    )
    return (
        _MARK.pack(MAGIC, _checksum(segment, fields, record.notes, record.payload)) + fields,
        record.notes,
        record.payload,
    )


def decode(data: Buffer, segment: str) -> Iterator[Record]:
    """The records at the beginning of `data`, up to the first that is incomplete or damaged.

    Their payloads are views into `data`.
    """
    view = memoryview(data)
    at = 0
    while (record := decode_first(view[at:], segment)) is not None:
        yield record
        at += record.size


def decode_after_damage(data: bytes, start: int, segment: str) -> Iterator[Record]:
    """The whole records behind the damage at `start`."""
    view = memoryview(data)
    at = data.find(MAGIC, start + 1)
    while at >= 0:
        record = decode_first(view[at:], segment)
        if record is not None:
            yield record
        at = data.find(MAGIC, at + (1 if record is None else record.size))


def decode_first(view: memoryview, segment: str) -> Record | None:
    """The record at the beginning of `view`, as views into it; None if the record is incomplete or damaged."""
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


@lru_cache(maxsize=64)
def checksum_seed(segment: str) -> int:
    """The initial value of the checksums of a segment's records."""
    return isal_zlib.crc32(segment.encode())


def payload_start(data: Buffer, start: int, end: int, seed: int) -> int | None:
    """The offset of the payload in the record `data[start:end]`; None if the record is damaged.

    `seed`: the `checksum_seed` of its segment.
    """
    if end - start < HEADER_BYTES or end > len(data):
        return None
    magic, checksum, notes_bytes, payload_bytes = _SIZES.unpack_from(data, start)
    if magic != MAGIC or payload_bytes == 0 or start + HEADER_BYTES + notes_bytes + payload_bytes != end:
        return None
    is_whole = isal_zlib.crc32(memoryview(data)[start + _MARK.size : end], seed) == checksum
    return end - payload_bytes if is_whole else None


def payload_at(data: Buffer, start: int) -> int:
    """The offset of the payload in an undamaged record that begins at `start`."""
    return start + HEADER_BYTES + int(_SIZES.unpack_from(data, start)[2])


def _checksum(segment: str, *parts: Buffer) -> int:
    checksum = checksum_seed(segment)
    for part in parts:
        checksum = isal_zlib.crc32(part, checksum)
    return checksum


def to_payload(rows: pl.DataFrame) -> memoryview:
    """The rows as one Arrow IPC stream."""
    stream = io.BytesIO()
    rows.write_ipc_stream(stream, compression="uncompressed")
    return stream.getbuffer()


def to_rows(record: Record) -> pl.DataFrame:
    """The rows of a record."""
    return read_stream(record.payload)


def read_streams(payloads: Iterable[Buffer]) -> list[pl.DataFrame]:
    """The rows of all payloads in one DataFrame per set of columns, in order of first appearance."""
    by_schema: dict[bytes, Streams] = {}
    parts: list[Callable[[], pl.DataFrame]] = []
    for payload in payloads:
        schema = schema_bytes(payload, 0, len(payload))
        if schema is None:
            parts.append(partial(read_stream, payload))
            continue
        if schema not in by_schema:
            by_schema[schema] = Streams(schema)
            parts.append(by_schema[schema].rows)
        by_schema[schema].add(payload, 0, len(payload))
    return join_streams([rows() for rows in parts])


def join_streams(parts: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The same rows in one DataFrame per set of columns, in order of first appearance.

    Everything done per DataFrame afterwards costs as much for one of one row as for one of thousands.
    """
    groups: dict[tuple[object, ...], list[pl.DataFrame]] = {}
    for part in parts:
        groups.setdefault((tuple(part.columns), tuple(part.dtypes)), []).append(part)
    return [group[0] if len(group) == 1 else pl.concat(group, rechunk=True) for group in groups.values()]
