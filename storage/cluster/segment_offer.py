"""What this host offers to a peer: the bytes of its unconverted segments that the peer does not have yet."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models import segment
from storage.context import Layout
from storage.wal.segments import SegmentRef, list_segments

PIECE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A segment, and the offset of its first byte that the peer lacks."""

    staged: SegmentRef
    offset: int


def offer(layout: Layout, known: Mapping[str, int]) -> list[Part]:
    """Every segment that is not converted. `known`: how many bytes of which the peer has. Raises StorageUnavailable.

    Listed first and looked up in the database afterwards: what is left out was converted before, so whoever reads
    the manifest after this answer finds its events there.
    """
    staged = list_segments(layout.staging)
    converted = segment.converted([each.name for each in staged])
    return [
        Part(each, min(known.get(each.name, 0), each.size))
        for each in staged
        if each.size and each.name not in converted
    ]


def headline(parts: Sequence[Part]) -> bytes:
    """The line before the bytes: `[[name, size, offset], ...]`."""
    return json.dumps([(each.staged.name, each.staged.size, each.offset) for each in parts]).encode() + b"\n"


def content(parts: Sequence[Part]) -> Iterator[bytes]:
    """The bytes of the parts. Raises OSError when a segment was cut back meanwhile: then the answer must break off."""
    for part in parts:
        fd = os.open(part.staged.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            at = part.offset
            while at < part.staged.size:
                piece = os.pread(fd, min(PIECE_BYTES, part.staged.size - at), at)
                if not piece:
                    raise OSError(f"segment {part.staged.name} has {at} bytes, and {part.staged.size} were announced")
                yield piece
                at += len(piece)
        finally:
            os.close(fd)
