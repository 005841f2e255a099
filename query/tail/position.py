"""Where a tail is in the write-ahead log: plain values, and their sealed text, the `id` of a row. Pure.

The text is sealed rather than only signed: offsets tell how much others store, which is none of a narrowed reader's
business. Its length is rounded up, so that it does not tell the number of segments.
"""

import base64
import binascii
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from errors import InvalidPosition
from storage.names import made_ms

VERSION: Final = 1
MARK_BYTES: Final = 6
DIGEST_BYTES: Final = 8
# Of AES-GCM (NIST SP 800-38D). The nonces of a batch's rows differ in the last part, those of batches in the first.
NONCE: Final = struct.Struct(">QI")
TAG_BYTES: Final = 16
# Sealed texts are a multiple of this long: whole groups of base64, which then has one form only.
STEP_BYTES: Final = 48
LONGEST_TEXT: Final = 64 * 1024
_HEAD: Final = struct.Struct(">BQQ8sI")
_ENTRY: Final = struct.Struct(">6sII")
_ROW: Final = struct.Struct(">I")
_BOUND_TO: Final = b"weir tail position"
_NONE: Final[Mapping[bytes, int]] = MappingProxyType({})


def mark_of(segment: str) -> bytes:
    """What stands for a segment's name in a position."""
    return blake2b(segment.encode(), digest_size=MARK_BYTES).digest()


def digest_of(*parts: object) -> bytes:
    """What stands for a statement and its reader's rights: rows are counted under one of them only."""
    return blake2b(repr(parts).encode(), digest_size=DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a segment: from a byte to a byte, both at the border of a record."""

    segment: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the log, as of `taken_ms`.

    Of each segment in `offsets` (by mark) so many bytes were read. Of the others those were read to their end whose
    names were made until `floor_ms`; later ones have not been touched. `ends` says of a batch that was begun where it
    ends in its segments, and `rows` how many of the rows that it gives under `digest` were delivered.
    """

    taken_ms: int
    floor_ms: int
    offsets: Mapping[bytes, int]
    ends: Mapping[bytes, int] = field(default_factory=lambda: _NONE)
    digest: bytes = bytes(DIGEST_BYTES)
    rows: int = 0

    def offset(self, segment: str) -> int | None:
        """The first unread byte of a segment; None: it was read to its end."""
        known = self.offsets.get(mark_of(segment))
        if known is not None:
            return known
        return None if made_ms(segment) <= self.floor_ms else 0

    def with_batch(self, ranges: Iterable[Range], digest: bytes) -> "Position":
        """The position at the beginning of a batch that reads these ranges."""
        ends = {mark_of(each.segment): each.end for each in ranges}
        return Position(self.taken_ms, self.floor_ms, self.offsets, ends, digest)


class Sealer:
    """Makes positions texts, and texts positions."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, position: Position) -> str:
        """The text of a position."""
        return Batch(self, position).text(position.rows)

    def encrypt(self, nonce: bytes, content: bytes) -> bytes:
        return nonce + self._cipher.encrypt(nonce, content, _BOUND_TO)

    def unseal(self, text: str) -> Position:
        """The position behind a text. Raises InvalidPosition.

        >>> sealer = Sealer(bytes(32))
        >>> position = Position(2, 1, {bytes(6): 5}, rows=3)
        >>> sealer.unseal(sealer.seal(position)) == position
        True
        """
        try:
            sealed = base64.b64decode(text[:LONGEST_TEXT].encode("ascii"), b"-_", validate=True)
            nonce, content = sealed[: NONCE.size], sealed[NONCE.size :]
            return _read(self._cipher.decrypt(nonce, content, _BOUND_TO))
        except (InvalidTag, ValueError, binascii.Error, struct.error) as error:
            raise InvalidPosition("Last-Event-ID is no position of this service", field="Last-Event-ID") from error


class Batch:
    """The texts of the positions between a batch's rows."""

    def __init__(self, sealer: Sealer, position: Position) -> None:
        self._sealer = sealer
        self._content = _write(position)
        self._nonce = int.from_bytes(os.urandom(8))

    def text(self, rows: int) -> str:
        """The position behind the first `rows` rows of the batch. Once for each number."""
        sealed = self._sealer.encrypt(NONCE.pack(self._nonce, rows), _ROW.pack(rows) + self._content)
        return base64.b64encode(sealed, b"-_").decode("ascii")


def _write(position: Position) -> bytes:
    """All but the number of rows, filled up with zeros."""
    offsets, ends = position.offsets, position.ends
    head = _HEAD.pack(VERSION, position.taken_ms, position.floor_ms, position.digest, len(offsets))
    content = head + b"".join(_ENTRY.pack(mark, at, ends.get(mark, at)) for mark, at in offsets.items())
    around = NONCE.size + TAG_BYTES + _ROW.size
    return content + bytes(-(around + len(content)) % STEP_BYTES)


def _read(content: bytes) -> Position:
    (rows,) = _ROW.unpack_from(content)
    version, taken_ms, floor_ms, digest, count = _HEAD.unpack_from(content, _ROW.size)
    if version != VERSION:
        raise ValueError(f"a position of version {version}")
    first = _ROW.size + _HEAD.size
    entries = list(_ENTRY.iter_unpack(content[first : first + count * _ENTRY.size]))
    offsets = {mark: at for mark, at, _ in entries}
    ends = {mark: end for mark, at, end in entries if end > at}
    return Position(taken_ms, floor_ms, offsets, ends, digest, rows)
