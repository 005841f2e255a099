"""The segment offer: the bytes of this host's unconverted segments that a peer does not have yet."""

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

    segment: SegmentRef
    offset: int


def offer(layout: Layout, peer_sizes: Mapping[str, int], after: str | None = None) -> list[Part]:
    """Every segment that is not converted. `known`: how many bytes of each the peer has. Raises StorageUnavailable.

    The segments are listed first and looked up in the database afterwards. So a segment that is left out was converted
    before, and whoever reads the manifest after this response finds its events there.

    Whoever follows the log does not read the manifest. With `after` come, of the converted segments that are still
    here, those that are newer than that name, and the rest of those of which the peer has a part.
    """
    segments = list_segments(layout.staging)
    converted = segment.converted([each.name for each in segments])
    return [
        Part(each, min(peer_sizes.get(each.name, 0), each.size))
        for each in segments
        if each.size and (each.name not in converted or _is_followed(each, peer_sizes, after))
    ]


def _is_followed(segment: SegmentRef, peer_sizes: Mapping[str, int], after: str | None) -> bool:
    """Whether a peer that follows the log up to `after` may lack some of a converted segment."""
    return after is not None and (segment.name > after or 0 < peer_sizes.get(segment.name, 0) < segment.size)


def manifest_line(parts: Sequence[Part]) -> bytes:
    """The line before the bytes: `[[name, size, offset], ...]`."""
    return json.dumps([(each.segment.name, each.segment.size, each.offset) for each in parts]).encode() + b"\n"


def content(parts: Sequence[Part]) -> Iterator[bytes]:
    """The bytes of the parts. Raises OSError when a segment was cut back meanwhile: then the answer must break off."""
    for part in parts:
        fd = os.open(part.segment.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            at = part.offset
            while at < part.segment.size:
                piece = os.pread(fd, min(PIECE_BYTES, part.segment.size - at), at)
                if not piece:
                    raise OSError(f"segment {part.segment.name} has {at} bytes, and {part.segment.size} were announced")
                yield piece
                at += len(piece)
        finally:
            os.close(fd)
